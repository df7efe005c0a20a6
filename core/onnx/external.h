#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reverie::proto {

/// A file mapped into memory, read-only. It stays readable when the name comes to mean another file.
class MappedFile {
 public:
  /// InputError when it cannot be opened.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// The files beside a model in which it keeps weights.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// InputError when `location` is missing or leaves the model's folder.
  std::shared_ptr<const MappedFile> open(const std::string& location);
  const std::filesystem::path& folder() const { return folder_; }
  /// Of all that were opened.
  std::vector<std::string> locations() const;

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace reverie::proto
