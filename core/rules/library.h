#pragma once

#include <span>
#include <string_view>

namespace reverie {

/// A file of core/rules/library, embedded when the program was built.
struct LibraryFile {
  std::string_view name;
  std::string_view text;
};

/// In the order of their names.
std::span<const LibraryFile> library_files();

}  // namespace reverie
