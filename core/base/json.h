#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/error.h"

namespace reverie {

namespace internal {
template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <typename T>
inline constexpr bool is_map = false;
template <typename T>
inline constexpr bool is_map<std::map<std::string, T>> = true;
}  // namespace internal

/// A value of JSON (RFC 8259). Braces make objects, which keep the order of their members:
/// Json{{"model", name}, {"cost", {{"runtime_ms", 0.5}}}}; vectors make arrays, maps objects.
/// nlohmann's library reads and writes the text; what is given out is checked here: a number that
/// does not fit is an InputError.
class Json {
 public:
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  Json(std::nullptr_t = nullptr);
  Json(std::same_as<bool> auto value);
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value);
  /// What is not finite becomes null: JSON has no number for it.
  Json(std::floating_point auto value);
  Json(const char* text);
  Json(std::string_view text);
  Json(std::string text);
  Json(Array elements);
  Json(Object members);
  Json(std::initializer_list<Member> members);
  template <typename T>
  Json(const std::vector<T>& elements);
  template <typename T>
  Json(const std::map<std::string, T>& members);
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  /// One value with nothing but white space around it, of at most 100 levels, in UTF-8; of members
  /// of one name the last counts. Else an InputError that says from which byte (0 is the first) on
  /// and why.
  static Json parse(std::string_view text);
  /// On one line; with `indent` each element and member on its own, so many spaces further in than
  /// what holds it. Numbers read back as the same; bytes that are no UTF-8 become U+FFFD.
  std::string dump(int indent = -1) const;

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_integer() const {
    return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_);
  }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }

  /// As bool, number, std::string, std::vector or std::map with keys of text; InputError where it
  /// is something else or does not fit.
  template <typename T>
  T get() const;
  /// InputError where this is none.
  const Array& array() const;
  const Object& object() const;
  /// The member of an object, or null where it has none of this name.
  const Json* find(std::string_view name) const;
  /// InputError where there is none.
  const Json& at(std::string_view name) const;
  /// The member of an object, added at its end where it is not there. Of null it makes an object.
  Json& operator[](std::string_view name);

  /// Calls `visitor` with what it holds: std::monostate (null), bool, int64_t, uint64_t (what is
  /// beyond int64_t), double, std::string, Array or Object.
  template <typename Visitor>
  void visit(Visitor&& visitor) const {
    std::visit(std::forward<Visitor>(visitor), value_);
  }

  bool operator==(const Json& other) const;

 private:
  [[noreturn]] void refuse(std::string_view wanted) const;

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object> value_;
};

struct Json::Member {
  std::string name;
  Json value;
  friend bool operator==(const Member&, const Member&) = default;
};

inline Json::Json(std::nullptr_t) {}
inline Json::Json(const char* text) : value_(std::string(text)) {}
inline Json::Json(std::string_view text) : value_(std::string(text)) {}
inline Json::Json(std::string text) : value_(std::move(text)) {}
inline Json::Json(Array elements) : value_(std::move(elements)) {}
inline Json::Json(Object members) : value_(std::move(members)) {}
inline Json::Json(std::initializer_list<Member> members) : value_(Object(members)) {}

inline Json::Json(const Json&) = default;
inline Json::Json(Json&&) noexcept = default;
inline Json& Json::operator=(const Json&) = default;
inline Json& Json::operator=(Json&&) noexcept = default;
inline Json::~Json() = default;
inline bool Json::operator==(const Json& other) const { return value_ == other.value_; }

Json::Json(std::same_as<bool> auto value) : value_(value) {}

template <std::integral T>
requires(!std::same_as<T, bool>) Json::Json(T value) {
  if (std::in_range<int64_t>(value)) {
    value_ = static_cast<int64_t>(value);
  } else {
    value_ = static_cast<uint64_t>(value);
  }
}

template <typename T>
Json::Json(const std::vector<T>& elements) : value_(Array(elements.begin(), elements.end())) {}

Json::Json(std::floating_point auto value) {
  const auto wide = static_cast<double>(value);
  if (wide - wide == 0) value_ = wide;
}

template <typename T>
Json::Json(const std::map<std::string, T>& members) {
  Object object;
  for (const auto& [name, value] : members) object.push_back({name, value});
  value_ = std::move(object);
}

template <typename T>
T Json::get() const {
  if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
    if (const auto* value = std::get_if<T>(&value_)) return *value;
    refuse(std::same_as<T, bool> ? "true or false" : "text");
  } else if constexpr (std::integral<T>) {
    if (const auto* value = std::get_if<int64_t>(&value_); value && std::in_range<T>(*value))
      return static_cast<T>(*value);
    if (const auto* value = std::get_if<uint64_t>(&value_); value && std::in_range<T>(*value))
      return static_cast<T>(*value);
    refuse(fmt::format("an integer from {} to {}", std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max()));
  } else if constexpr (std::floating_point<T>) {
    if (const auto* value = std::get_if<double>(&value_)) return static_cast<T>(*value);
    if (const auto* value = std::get_if<int64_t>(&value_)) return static_cast<T>(*value);
    if (const auto* value = std::get_if<uint64_t>(&value_)) return static_cast<T>(*value);
    refuse("a number");
  } else if constexpr (internal::is_vector<T>) {
    T elements;
    for (const Json& element : array()) elements.push_back(element.get<typename T::value_type>());
    return elements;
  } else {
    static_assert(internal::is_map<T>);
    T members;
    for (const auto& [name, value] : object())
      members[name] = value.template get<typename T::mapped_type>();
    return members;
  }
}

}  // namespace reverie
