#include "core/base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/error.h"

namespace reverie {
namespace {

namespace fs = std::filesystem;

std::string temporary_name(const std::string& path) {
  static std::atomic<uint64_t> serial{0};
  return fmt::format("{}.{}-{}.part", path, getpid(), serial++);
}

/// What a symbolic link leads to, whether it is there or not.
fs::path end_of_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as the system follows
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i)
    path = path.parent_path() / fs::read_symlink(path, error);
  if (fs::is_symlink(path, error))
    throw InputError("{}: symbolic links go in circles", path.string());
  return path;
}

}  // namespace

std::string read_file(const std::string& path) {
  if (is_directory(path)) throw InputError("{}: is a directory, a file is needed", path);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError("{}: cannot be read: {}", path, std::strerror(errno));
  std::ostringstream content;
  content << file.rdbuf();
  if (file.bad()) throw InputError("{}: reading failed: {}", path, std::strerror(errno));
  return std::move(content).str();
}

void write_file(const std::string& path, std::string_view content) {
  AsideFile aside(path);
  std::FILE* file = std::fopen(aside.temporary().c_str(), "wb");
  if (file == nullptr) throw InputError("{}: cannot be written: {}", path, std::strerror(errno));
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const int reason = errno;
  if (std::fclose(file) != 0 || !written)
    throw InputError("{}: writing failed: {}", path, std::strerror(written ? errno : reason));
  aside.commit();
}

AsideFile::AsideFile(const std::string& path)
    : path_(end_of_links(path)), temporary_(temporary_name(path_)) {
  require_no_pipe(path_);  // to rename over a device is to delete it
  const int file = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) throw InputError("{}: cannot be written: {}", path, std::strerror(errno));
  close(file);
}

AsideFile::~AsideFile() {
  if (!committed_) unlink(temporary_.c_str());
}

void AsideFile::commit() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw InputError("{}: cannot be written: {}", path_, std::strerror(errno));
  committed_ = true;
}

void create_directory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw InputError("{}: cannot be created: {}", directory, error.message());
  if (!is_directory(directory)) throw InputError("{}: is a file, a directory is needed", directory);
  AsideFile probe(directory + "/writable");
}

bool file_exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_directory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

void require_no_pipe(const std::string& path) {
  std::error_code error;
  if (fs::is_other(path, error)) throw InputError("{}: is no regular file", path);
}

void check_writable(const std::string& path) {
  if (is_directory(path)) throw InputError("{}: is a directory, a file is needed", path);
  const AsideFile probe(path);
}

}  // namespace reverie
