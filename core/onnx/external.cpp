#include "core/onnx/external.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace reverie::proto {
namespace fs = std::filesystem;

MappedFile::MappedFile(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw InputError("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  struct stat status = {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  size_ = regular ? static_cast<size_t>(status.st_size) : 0;
  void* mapping = nullptr;
  if (size_ > 0) mapping = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  if (!regular) throw InputError("{}: is no regular file", path.string());
  if (mapping == MAP_FAILED)
    throw InputError("{}: cannot be read: {}", path.string(), std::strerror(errno));
  data_ = static_cast<const std::byte*>(mapping);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

std::shared_ptr<const MappedFile> ExternalFiles::open(const std::string& location) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  const fs::path relative(location);
  if (location.empty() || relative.is_absolute() || location.find('\0') != std::string::npos)
    throw InputError("external data '{}' is no path relative to the model", location);
  std::error_code error;
  const fs::path folder = fs::canonical(folder_.empty() ? fs::path(".") : folder_, error);
  const fs::path file = fs::weakly_canonical(folder / relative, error);
  const auto inside = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  if (error || inside.first != folder.end())
    throw InputError("external data '{}' lies outside the model's folder", location);
  return files_[location] = std::make_shared<const MappedFile>(file);
}

std::vector<std::string> ExternalFiles::locations() const {
  std::vector<std::string> names;
  for (const auto& [location, file] : files_) names.push_back(location);
  return names;
}

}  // namespace reverie::proto
