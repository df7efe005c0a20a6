#include "core/onnx/external.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace reverie::proto {
namespace fs = std::filesystem;

namespace {

/// Some models have a file for every weight: more than a process may have open at first.
void allow_all_files() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Does not wait for the other end of a pipe.
int open_to_read(const fs::path& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  const int descriptor = ::open(path.c_str(), kFlags);
  if (descriptor >= 0 || errno != EMFILE) return descriptor;
  allow_all_files();
  return ::open(path.c_str(), kFlags);
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

InputFile::InputFile(const fs::path& path) : path_(path), descriptor_(open_to_read(path)) {
  if (descriptor_ < 0)
    throw InputError("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  if (::fstat(descriptor_, &status_) == 0 && S_ISREG(status_.st_mode)) return;
  ::close(descriptor_);
  throw InputError("{}: is no regular file", path.string());
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::fail(const char* what) const { throw InputError("{}: {}", path_.string(), what); }

void InputFile::require_unchanged() const {
  struct stat now = {};
  if (::fstat(descriptor_, &now) != 0 || now.st_size != status_.st_size ||
      !same_time(now.st_mtim, status_.st_mtim))
    fail("was changed while it was read");
}

void InputFile::read(int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), out.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw InputError("{}: cannot be read: {}", path_.string(), std::strerror(errno));
    if (count == 0) fail("was changed while it was read");
    offset += count;
    out = out.subspan(static_cast<size_t>(count));
  }
  require_unchanged();
}

ExternalFiles::ExternalFiles(std::shared_ptr<const InputFile> model)
    : folder_(model->path().parent_path()), own_location_(model->path().filename().string()) {
  files_[own_location_] = std::move(model);
}

std::shared_ptr<const InputFile> ExternalFiles::open(const std::string& location) {
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
  return files_[location] = std::make_shared<const InputFile>(file);
}

std::vector<std::string> ExternalFiles::locations() const {
  std::vector<std::string> names;
  for (const auto& [location, file] : files_)
    if (location != own_location_) names.push_back(location);
  return names;
}

}  // namespace reverie::proto
