#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace reverie {

// A configuration is a struct that lists its fields once:
//
//   struct PpoConfig {
//     double clip = 0.2;
//     std::vector<int64_t> widths = {64, 64};
//     template <class V> void fields(V& v) {
//       v.field("clip", clip, "Clip of the probability ratio", above(0));
//       v.field("widths", widths, "Widths of the hidden layers", at_least(1));
//     }
//   };
//   struct DreamConfig {
//     PpoConfig ppo;
//     template <class V> void fields(V& v) {
//       v.section("ppo", ppo, "Proximal policy optimization");
//     }
//   };
//
// ConfigFields(config) then reads YAML, applies "ppo.clip=0.1", dumps, and explains. Types: bool,
// integers, double, float, std::string, enums, and vectors of these. An enum E names its values by
// `EnumNames<E> enum_names(E)` beside its declaration.

template <class E>
using EnumNames = std::vector<std::pair<E, std::string_view>>;

/// Limits of a number, or of each number in a list.
struct ConfigRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
};
inline ConfigRange at_least(double low) { return {.low = low}; }
inline ConfigRange above(double low) { return {.low = low, .low_excluded = true}; }
inline ConfigRange between(double low, double high) { return {.low = low, .high = high}; }

/// A value as text: one item, or any number where `list` is set.
struct ConfigText {
  bool list = false;
  std::vector<std::string> items;
};

/// One field of a configuration, type-erased. `set` throws InputError without naming the field.
struct ConfigField {
  std::string key;  ///< dotted path
  std::string type;
  std::string help;
  std::function<void(const ConfigText&)> set;
  std::function<ConfigText()> get;
  bool quoted = false;  ///< strings, which YAML may have to quote
};

namespace internal {

bool parse_bool(const std::string& text);
int64_t parse_integer(const std::string& text, double low, double high);
uint64_t parse_unsigned(const std::string& text, double low, double high);
double parse_number(const std::string& text);
void check_range(double value, const ConfigRange& range);
std::string range_text(const ConfigRange& range);
std::string number_text(double value);
std::string float_text(float value);
/// Index of `text` in `names`; InputError lists the names.
size_t find_name(const std::string& text, const std::vector<std::string_view>& names);
std::string join_names(const std::vector<std::string_view>& names);

template <class T>
struct ConfigScalar {
  static std::vector<std::string_view> names() {
    std::vector<std::string_view> result;
    for (const auto& [value, name] : enum_names(T{})) result.push_back(name);
    return result;
  }

  static T parse(const std::string& text, const ConfigRange& range) {
    if constexpr (std::is_same_v<T, bool>) {
      return parse_bool(text);
    } else if constexpr (std::is_enum_v<T>) {
      return enum_names(T{})[find_name(text, names())].first;
    } else if constexpr (std::is_integral_v<T>) {
      const double low = static_cast<double>(std::numeric_limits<T>::min());
      const double high = static_cast<double>(std::numeric_limits<T>::max());
      T value;
      if constexpr (std::is_signed_v<T>)
        value = static_cast<T>(parse_integer(text, low, high));
      else
        value = static_cast<T>(parse_unsigned(text, low, high));
      check_range(static_cast<double>(value), range);
      return value;
    } else if constexpr (std::is_floating_point_v<T>) {
      const double value = parse_number(text);
      check_range(value, range);
      return static_cast<T>(value);
    } else {
      static_assert(std::is_same_v<T, std::string>, "no configuration field can have this type");
      return text;
    }
  }

  static std::string print(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_enum_v<T>) {
      for (const auto& [known, name] : enum_names(T{}))
        if (known == value) return std::string(name);
      return "?";
    } else if constexpr (std::is_integral_v<T>) {
      return std::to_string(value);
    } else if constexpr (std::is_same_v<T, float>) {
      return float_text(value);
    } else if constexpr (std::is_same_v<T, double>) {
      return number_text(value);
    } else {
      return value;
    }
  }

  static std::string type(const ConfigRange& range) {
    if constexpr (std::is_same_v<T, bool>)
      return "bool";
    else if constexpr (std::is_enum_v<T>)
      return "one of " + join_names(names());
    else if constexpr (std::is_integral_v<T>)
      return "integer" + range_text(range);
    else if constexpr (std::is_floating_point_v<T>)
      return "number" + range_text(range);
    else
      return "string";
  }
};

std::string single_item(const ConfigText& text);
std::vector<std::string> list_items(const ConfigText& text);

}  // namespace internal

/// The fields of one configuration object, which must outlive this. Errors are InputErrors that
/// name the source and line or the override, the key, and what would be right; a failed call may
/// leave the fields before the error changed.
class ConfigFields {
 public:
  template <class C>
  explicit ConfigFields(C& config) {
    config.fields(*this);
  }

  /// YAML; keys that are not listed keep their values. An unknown or repeated key is an error that
  /// shows the nearest known key, or where none is near those of its section.
  void load_file(const std::string& path);
  void load_text(const std::string& yaml, const std::string& source);
  /// "a.b=c"; a list is "[1, 2]" or "1,2".
  void set(const std::string& assignment);
  void set_value(const std::string& key, const std::string& value);

  /// Everything as YAML, resolved; load_text of it gives the same values.
  std::string dump() const;
  /// One line per field: key, type, present value, meaning.
  std::string help() const;
  bool has(const std::string& key) const { return find(key) != nullptr; }
  std::span<const ConfigField> all() const { return fields_; }

  // What a configuration's `fields` calls.
  template <class T>
  void field(const std::string& name, T& value, const std::string& help, ConfigRange range = {}) {
    using Scalar = internal::ConfigScalar<T>;
    fields_.push_back({prefix_ + name, Scalar::type(range), help,
                       [&value, range](const ConfigText& text) {
                         value = Scalar::parse(internal::single_item(text), range);
                       },
                       [&value] {
                         return ConfigText{false, {Scalar::print(value)}};
                       },
                       std::is_same_v<T, std::string>});
  }

  template <class T>
  void field(const std::string& name, std::vector<T>& values, const std::string& help,
             ConfigRange range = {}) {
    using Scalar = internal::ConfigScalar<T>;
    fields_.push_back({prefix_ + name, "list of " + Scalar::type(range), help,
                       [&values, range](const ConfigText& text) {
                         std::vector<T> parsed;
                         for (const std::string& item : internal::list_items(text))
                           parsed.push_back(Scalar::parse(item, range));
                         values = std::move(parsed);
                       },
                       [&values] {
                         ConfigText text{true, {}};
                         for (const T& value : values) text.items.push_back(Scalar::print(value));
                         return text;
                       },
                       std::is_same_v<T, std::string>});
  }

  template <class C>
  void section(const std::string& name, C& config, const std::string& help) {
    const std::string outer = prefix_;
    prefix_ += name + ".";
    sections_.emplace_back(outer + name, help);
    config.fields(*this);
    prefix_ = outer;
  }

 private:
  ConfigField* find(const std::string& key);
  const ConfigField* find(const std::string& key) const;
  bool is_section(const std::string& key) const;
  [[noreturn]] void unknown(const std::string& key) const;
  friend class ConfigLoader;

  std::string prefix_;
  std::vector<ConfigField> fields_;
  std::vector<std::pair<std::string, std::string>> sections_;
};

template <class C>
std::string dump_config(const C& config) {
  C copy = config;
  return ConfigFields(copy).dump();
}

/// The known word nearest to `word` by edit distance, if any is near enough to be meant.
std::optional<std::string> nearest_word(const std::string& word,
                                        const std::vector<std::string>& known);

}  // namespace reverie
