#include "core/onnx/default_extents.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace reverie::proto {
namespace {

constexpr int64_t kSequence = 128;
constexpr int64_t kImage = 224;
constexpr int64_t kChannels = 3;
constexpr int64_t kPast = 16;
constexpr int64_t kItems = 64;
constexpr int64_t kFew = 4;  // of many axes

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

bool holds_any(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts,
                             [&](std::string_view part) { return text.find(part) != text.npos; });
}

bool is_any(const std::string& text, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, text) != names.end();
}

std::optional<int64_t> by_name(const std::string& symbol) {
  const std::string name = lower(symbol);
  if (holds_any(name, {"batch"}) || is_any(name, {"b", "bs"})) return 1;
  if (holds_any(name, {"past", "cache"})) return kPast;
  if (holds_any(name, {"total"})) return kPast + kSequence;
  if (holds_any(name, {"seq", "len", "token", "time", "frame", "step"}) ||
      is_any(name, {"s", "t", "l"}))
    return kSequence;
  if (holds_any(name, {"height", "width", "size"}) || is_any(name, {"h", "w"})) return kImage;
  if (holds_any(name, {"channel"}) || name == "c") return kChannels;
  if (holds_any(name, {"node", "edge", "num", "point", "box", "count"})) return kItems;
  return std::nullopt;
}

int64_t by_place(const DimensionPlace& place) {
  if (place.axis == 0) return 1;
  if (place.rank < 4) return kSequence;
  if (place.rank > 5) return kFew;
  return place.axis == 1 ? kChannels : kImage;
}

std::optional<int64_t> term(std::string_view text, const std::map<std::string, int64_t>& known) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const auto at = known.find(std::string(text));
  if (at != known.end()) return at->second;
  constexpr size_t kMostDigits = 9;
  const bool is_number = !text.empty() && text.size() <= kMostDigits &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return std::nullopt;
  return std::stoll(std::string(text));
}

/// A sum or a product of numbers and known symbols.
std::optional<int64_t> evaluated(const std::string& text, char sign,
                                 const std::map<std::string, int64_t>& known) {
  if (text.find(sign) == std::string::npos) return std::nullopt;
  int64_t result = sign == '+' ? 0 : 1;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(sign, at), text.size());
    const auto value = term(std::string_view(text).substr(at, end - at), known);
    if (!value) return std::nullopt;
    const bool overflows = sign == '+' ? __builtin_add_overflow(result, *value, &result)
                                       : __builtin_mul_overflow(result, *value, &result);
    if (overflows) return std::nullopt;
    at = end + 1;
  }
  return result;
}

}  // namespace

bool is_arithmetic(const std::string& symbol) {
  return symbol.find_first_of("+*") != std::string::npos;
}

int64_t default_extent(const DimensionPlace& place, const std::map<std::string, int64_t>& known) {
  for (const char sign : {'+', '*'})
    if (const auto value = evaluated(place.symbol, sign, known)) return *value;
  if (const auto value = by_name(place.symbol)) return *value;
  return by_place(place);
}

}  // namespace reverie::proto
