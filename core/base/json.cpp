#include "core/base/json.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace reverie {
namespace {

constexpr int kMaxDepth = 100;

std::string utf8(uint32_t code) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json whole() {
    Json result = value(0);
    skip_space();
    if (at_ < text_.size()) fail("nothing can follow here");
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw InputError("is no JSON from byte {} on: {}", at_, what);
  }

  void skip_space() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
  }

  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  /// One of the characters, which is then behind.
  bool take_any(std::string_view characters) {
    if (at_ == text_.size() || characters.find(text_[at_]) == characters.npos) return false;
    ++at_;
    return true;
  }

  /// `depth`: of the lists that hold it.
  Json value(int depth) {
    skip_space();
    if (take("{")) return object(depth + 1);
    if (take("[")) return array(depth + 1);
    if (take("\"")) return string();
    if (take("true")) return true;
    if (take("false")) return false;
    if (take("null")) return nullptr;
    if (text_.find_first_of("-0123456789", at_) == at_) return number();
    fail("a value must stand here");
  }

  /// Calls `element` for what stands between commas, up to `end`.
  template <typename Element>
  void list(int depth, std::string_view end, Element&& element) {
    if (depth > kMaxDepth) fail("too many levels");
    skip_space();
    if (take(end)) return;
    do {
      element();
      skip_space();
    } while (take(","));
    if (!take(end)) fail("a comma or the end of a list must stand here");
  }

  Json object(int depth) {
    Json result = Json::Object();
    list(depth, "}", [&] {
      skip_space();
      if (!take("\"")) fail("a name in quotation marks must stand here");
      const std::string name = string();
      skip_space();
      if (!take(":")) fail("a colon must stand here");
      result[name] = value(depth);
    });
    return result;
  }

  Json array(int depth) {
    Json::Array elements;
    list(depth, "]", [&] { elements.push_back(value(depth)); });
    return elements;
  }

  std::string string() {
    std::string result;
    while (!take("\"")) {
      if (at_ == text_.size()) fail("text without an end");
      if (static_cast<unsigned char>(text_[at_]) < 0x20) fail("a control character in text");
      if (take("\\")) {
        result += escaped();
      } else {
        result += text_[at_++];
      }
    }
    return result;
  }

  std::string escaped() {
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (take("u")) return utf8(code_point());
    const size_t found = at_ < text_.size() ? kNames.find(text_[at_]) : kNames.npos;
    if (found == kNames.npos) fail("an unknown escape");
    ++at_;
    return {kMeant[found]};
  }

  uint32_t code_point() {
    const uint32_t high = code_unit();
    if (high < 0xd800 || high > 0xdfff) return high;
    if (high < 0xdc00 && take("\\u"))
      if (const uint32_t low = code_unit(); low >= 0xdc00 && low <= 0xdfff)
        return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    fail("half a surrogate pair");
  }

  uint32_t code_unit() {
    const std::string_view digits = text_.substr(at_, 4);
    uint32_t unit = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), unit, 16);
    if (digits.size() < 4 || end != digits.end()) fail("four hexadecimal digits must stand here");
    at_ += 4;
    return unit;
  }

  void digits() {
    if (!take_any("0123456789")) fail("a digit must stand here");
    while (take_any("0123456789")) {}
  }

  Json number() {
    const size_t start = at_;
    take("-");
    if (!take("0")) digits();
    const bool fraction = take(".");
    if (fraction) digits();
    const bool exponent = take_any("eE");
    if (exponent) {
      take_any("+-");
      digits();
    }
    const std::string_view token = text_.substr(start, at_ - start);
    if (!fraction && !exponent) {
      if (const auto small = read<int64_t>(token)) return *small;
      if (const auto large = read<uint64_t>(token)) return *large;
    }
    if (const auto real = read<double>(token)) return *real;
    fail("a number beyond double precision");
  }

  template <typename T>
  static std::optional<T> read(std::string_view token) {
    T value;
    const auto [end, error] = std::from_chars(token.begin(), token.end(), value);
    if (error != std::errc() || end != token.end()) return std::nullopt;
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

void append_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    constexpr std::string_view kMeant = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt";
    if (const size_t found = kMeant.find(c); found != kMeant.npos) {
      out += {'\\', kNames[found]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

struct Writer {
  std::string& out;
  int indent;
  int depth = 0;

  void operator()(std::monostate) { out += "null"; }
  void operator()(bool value) { out += value ? "true" : "false"; }
  void operator()(std::integral auto value) { out += fmt::format("{}", value); }
  void operator()(double value) {
    const std::string digits = fmt::format("{}", value);
    out += digits;
    if (digits.find_first_of(".e") == digits.npos) out += ".0";
  }
  void operator()(const std::string& text) { append_text(out, text); }

  void operator()(const Json::Array& elements) {
    list("[]", elements, [&](const Json& element) { element.visit(*this); });
  }

  void operator()(const Json::Object& members) {
    list("{}", members, [&](const Json::Member& member) {
      append_text(out, member.name);
      out += indent < 0 ? ":" : ": ";
      member.value.visit(*this);
    });
  }

  void new_line() {
    if (indent >= 0) out.append("\n").append(static_cast<size_t>(indent * depth), ' ');
  }

  template <typename List, typename Each>
  void list(std::string_view brackets, const List& elements, Each&& each) {
    out += brackets[0];
    ++depth;
    for (bool first = true; const auto& element : elements) {
      if (!first) out += ',';
      first = false;
      new_line();
      each(element);
    }
    --depth;
    if (!elements.empty()) new_line();
    out += brackets[1];
  }
};

}  // namespace

Json Json::parse(std::string_view text) { return Parser(text).whole(); }

std::string Json::dump(int indent) const {
  std::string out;
  visit(Writer{out, indent});
  return out;
}

const Json::Array& Json::array() const {
  if (!is_array()) refuse("an array");
  return std::get<Array>(value_);
}

const Json::Object& Json::object() const {
  if (!is_object()) refuse("an object");
  return std::get<Object>(value_);
}

const Json* Json::find(std::string_view name) const {
  const auto found = std::ranges::find(object(), name, &Member::name);
  return found == object().end() ? nullptr : &found->value;
}

const Json& Json::at(std::string_view name) const {
  if (const Json* found = find(name)) return *found;
  throw InputError("there is no '{}'", name);
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_ = Object();
  if (!is_object()) refuse("an object");
  auto& members = std::get<Object>(value_);
  const auto found = std::ranges::find(members, name, &Member::name);
  if (found != members.end()) return found->value;
  return members.emplace_back(std::string(name), Json()).value;
}

void Json::refuse(std::string_view wanted) const {
  constexpr size_t kShown = 40;
  throw InputError("{} must be {}", dump().substr(0, kShown), wanted);
}

}  // namespace reverie
