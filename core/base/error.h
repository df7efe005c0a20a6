#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace reverie {

/// A person's file, option or model is wrong. The message is one line that says what, where and
/// what to do. The command line prints it and exits with status 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& message) : std::runtime_error(message) {}

  template <typename... Args>
  InputError(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// A device failed for good: whatever it is asked next fails too.
class DeviceError : public InputError {
 public:
  using InputError::InputError;
};

/// A broken invariant: a bug in this program, never a person's mistake.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& message) : std::logic_error(message) {}
};

/// Runs `body`; an InputError that leaves it gains "`context`: " in front, unless it begins so
/// already.
template <typename Body>
decltype(auto) with_context(std::string_view context, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const InputError& error) {
    const std::string front = fmt::format("{}: ", context);
    if (std::string_view(error.what()).starts_with(front)) throw;
    throw InputError(front + error.what());
  }
}

namespace internal {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& detail);

template <typename T>
std::string show(const T& value) {
  if constexpr (fmt::is_formattable<T>::value) {
    return fmt::format("{}", value);
  } else {
    return "?";
  }
}

}  // namespace internal
}  // namespace reverie

/// Throws InternalError when `condition` is false. Further arguments are an fmt message.
#define REVERIE_CHECK(condition, ...)                                   \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::reverie::internal::check_failed(__FILE__, __LINE__, #condition, \
                                        ::fmt::format("" __VA_ARGS__)); \
  } while (false)

#define REVERIE_CHECK_OP(a, op, b)                                                           \
  do {                                                                                       \
    const auto& reverie_a = (a);                                                             \
    const auto& reverie_b = (b);                                                             \
    if (!(reverie_a op reverie_b)) [[unlikely]]                                              \
      ::reverie::internal::check_failed(__FILE__, __LINE__, #a " " #op " " #b,               \
                                        ::reverie::internal::show(reverie_a) + " against " + \
                                            ::reverie::internal::show(reverie_b));           \
  } while (false)

#define REVERIE_CHECK_EQ(a, b) REVERIE_CHECK_OP(a, ==, b)
#define REVERIE_CHECK_LT(a, b) REVERIE_CHECK_OP(a, <, b)
#define REVERIE_CHECK_LE(a, b) REVERIE_CHECK_OP(a, <=, b)
