#pragma once

#include <stdlib.h>

#include <filesystem>

#include "core/base/error.h"

namespace reverie {

/// A new folder for files that another program or library reads; it is gone, with them, when this
/// is.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "reverie-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw InputError("{}: no folder can be made there",
                       std::filesystem::temp_directory_path().string());
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace reverie
