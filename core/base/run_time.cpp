#include "core/base/run_time.h"

#include <charconv>

#include "core/base/error.h"
#include "core/base/files.h"

namespace reverie {

RunTime::RunTime(const std::string& directory, double before)
    : path_(directory + "/seconds"), before_(before) {}

void RunTime::resume() {
  if (!file_exists(path_)) return;
  const std::string text = read_file(path_);
  const char* end = text.data() + text.size();
  if (const auto [stop, error] = std::from_chars(text.data(), end, before_);
      error != std::errc() || *stop != '\n')
    throw InputError("{}: is no number of seconds; remove it, and time is counted from here on",
                     path_);
}

void RunTime::keep() const { write_file(path_, fmt::format("{}\n", seconds())); }

}  // namespace reverie
