#include "core/base/part.h"

#include <charconv>
#include <cstdint>

#include "core/base/error.h"

namespace reverie {
namespace {

/// Whether all of it is a number.
bool read_number(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Part Part::parse(const std::string& text) {
  Part part;
  const size_t slash = text.find('/');
  if (slash == std::string::npos || !read_number(text.substr(0, slash), part.number) ||
      !read_number(text.substr(slash + 1), part.of) || part.number < 1 || part.number > part.of)
    throw InputError("'{}' is no part: write 3/16 for the third of 16", text);
  return part;
}

std::string Part::text() const { return fmt::format("{}/{}", number, of); }

std::string Part::folder_name() const { return fmt::format("part-{}-of-{}", number, of); }

std::pair<int, int> Part::range(int count) const {
  const auto before = [&](int parts) {
    return static_cast<int>(static_cast<int64_t>(count) * parts / of);
  };
  return {before(number - 1), before(number)};
}

}  // namespace reverie
