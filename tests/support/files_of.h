#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace reverie::testing {

/// Name and content of every file whose name ends so.
inline std::map<std::string, std::string> files_of(const std::string& directory,
                                                   const std::string& ending) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(ending)) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[name].assign(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

}  // namespace reverie::testing
