#include "env/placement/report/display.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace reverie {
namespace {

constexpr DisplayUnit kTimes[] = {{"ns", 1e3}, {"µs", 1e6}, {"ms", 1e9}, {"s", 1e12}};
constexpr DisplayUnit kBytes[] = {
    {"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};

DisplayUnit unit_of(std::span<const DisplayUnit> units, int64_t largest) {
  DisplayUnit best = units.front();
  for (const DisplayUnit& unit : units)
    if (static_cast<double>(largest) >= unit.size) best = unit;
  return best;
}

std::string text_in(const DisplayUnit& unit, int64_t count, int digits) {
  return fmt::format("{:.{}g} {}", static_cast<double>(count) / unit.size, digits, unit.name);
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

}  // namespace

DisplayUnit time_unit(Picoseconds largest) { return unit_of(kTimes, largest.count); }
DisplayUnit byte_unit(int64_t largest) { return unit_of(kBytes, largest); }

std::string time_text(Picoseconds time, int digits) {
  return text_in(time_unit(time), time.count, digits);
}
std::string bytes_text(int64_t bytes) { return text_in(byte_unit(bytes), bytes, 4); }

std::string short_name(const std::string& name, size_t bytes) {
  std::string clean = name;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::ranges::replace_if(clean, is_control, ' ');
  if (clean.size() <= bytes) return clean;
  size_t end = bytes - 3;
  while (end > 0 && continues_character(clean[end])) --end;
  return clean.substr(0, end) + "...";
}

}  // namespace reverie
