#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reverie::proto {

/// A file that is read in pieces, from several threads. It stays readable when its name comes to
/// mean another file. It is not mapped: pages of a mapped file count as the program's memory, and
/// where somebody shortens one, the program ends by a signal instead of saying so.
class InputFile {
 public:
  /// InputError when it is no regular file or cannot be opened.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int64_t size() const { return status_.st_size; }
  /// Fills `out` with the bytes from `offset` on. InputError when the file has changed since it was
  /// opened, or cannot be read.
  void read(int64_t offset, std::span<std::byte> out) const;

 private:
  [[noreturn]] void fail(const char* what) const;
  void require_unchanged() const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  struct stat status_ = {};
};

/// The files in which a model keeps weights: others beside it, and its own.
class ExternalFiles {
 public:
  /// For a model in `folder` that is not read from a file.
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Of the model that lies in `model`; its file name is the location of what lies in itself.
  explicit ExternalFiles(std::shared_ptr<const InputFile> model);

  /// InputError when `location` is missing or leaves the model's folder.
  std::shared_ptr<const InputFile> open(const std::string& location);
  const std::filesystem::path& folder() const { return folder_; }
  /// Of all that were opened beside the model.
  std::vector<std::string> locations() const;

 private:
  std::filesystem::path folder_;
  std::string own_location_;
  std::map<std::string, std::shared_ptr<const InputFile>> files_;
};

}  // namespace reverie::proto
