#pragma once

#include <string>

namespace reverie {

/// The one directory that a step writes, which no other process writes meanwhile: as long as this
/// lives it holds a lock (flock on the directory) that is gone when the process is, however it
/// ends.
class RunDirectory {
 public:
  /// Creates it and writes `config` as config.yaml. InputError when another process writes it, and
  /// when it exists and is not empty, unless `resume`; then its config.yaml, if there is one, must
  /// equal `config`, and the error shows the first line that differs.
  RunDirectory(const std::string& directory, const std::string& config, bool resume);

 private:
  struct Lock {
    Lock() = default;
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    int file = -1;
  };

  Lock lock_;
};

}  // namespace reverie
