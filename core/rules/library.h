#pragma once

#include <span>
#include <string>
#include <string_view>

namespace reverie {

/// A file of core/rules/library, embedded when the program was built.
struct LibraryFile {
  std::string_view name;
  std::string_view text;
};

/// The built-in rules, in the order of the files' names.
std::span<const LibraryFile> library_files();
/// The text of generated.rules.gz there, which is no part of the built-in rules.
std::string generated_library();

}  // namespace reverie
