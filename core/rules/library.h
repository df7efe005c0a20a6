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
/// Those of its folder `generated`, which are no part of the built-in rules: what
/// RuleSet::load("generated") gives, as load("builtin") gives these.
std::span<const LibraryFile> generated_files();

}  // namespace reverie
