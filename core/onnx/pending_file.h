#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/base/files.h"

namespace reverie::proto {

/// A file that is written in pieces, and removed unless it gets its name.
class PendingFile {
 public:
  explicit PendingFile(const std::filesystem::path& path)
      : path_(path), file_(path.string()), stream_(file_.temporary(), std::ios::binary) {
    require_written();
  }

  std::ofstream& stream() { return stream_; }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path temporary() const { return file_.temporary(); }

  void finish() {
    stream_.close();
    require_written();
  }
  void commit() { file_.commit(); }

 private:
  void require_written() const {
    if (!stream_)
      throw InputError("{}: cannot be written: {}", path_.string(), std::strerror(errno));
  }

  std::filesystem::path path_;
  AsideFile file_;
  std::ofstream stream_;
};

}  // namespace reverie::proto
