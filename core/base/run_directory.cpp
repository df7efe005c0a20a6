#include "core/base/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <vector>

#include "core/base/error.h"
#include "core/base/files.h"

namespace reverie {
namespace {

namespace fs = std::filesystem;

void first_difference(const std::string& directory, const std::string& old_config,
                      const std::string& new_config) {
  std::istringstream old_lines(old_config), new_lines(new_config);
  std::string was, is;
  for (int line = 1;; ++line) {
    const bool more_old = static_cast<bool>(std::getline(old_lines, was));
    const bool more_new = static_cast<bool>(std::getline(new_lines, is));
    if (!more_old && !more_new) return;
    if (!more_old) was = "nothing";
    if (!more_new) is = "nothing";
    if (was != is)
      throw InputError(
          "{}/config.yaml:{}: --resume needs the configuration it began with: there it "
          "says '{}', now it is '{}'; set what it says there, or begin anew with another --out",
          directory, line, was, is);
  }
}

void require_empty(const std::string& directory) {
  std::error_code error;
  if (fs::exists(directory, error) && fs::is_directory(directory, error) &&
      !fs::is_empty(directory, error))
    throw InputError("{}: is not empty; give another --out, or --resume to go on with it",
                     directory);
}

/// "process 1234" that holds a lock on the file, as the system lists it.
std::string holder(int file) {
  struct stat status = {};
  if (::fstat(file, &status) != 0) return "another process";
  const std::string place =
      fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, process, where;
    words >> number >> kind >> advisory >> access >> process >> where;
    if (kind == "FLOCK" && where == place) return "process " + process;
  }
  return "another process";
}

/// The descriptor that holds the lock; -1 where the file system has no locks.
int lock(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0 || ::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  const bool held = errno == EWOULDBLOCK;
  const std::string by = held ? holder(file) : "";
  ::close(file);
  if (held)
    throw InputError("{}: {} writes it; wait for its end, or give another --out", directory, by);
  return -1;
}

/// What a killed process was writing aside (AsideFile).
void remove_unfinished(const std::string& directory) {
  static const std::regex kAside(R"(.+\.\d+-\d+\.part)");
  std::vector<fs::path> unfinished;
  for (const auto& entry : fs::directory_iterator(directory))
    if (std::regex_match(entry.path().filename().string(), kAside))
      unfinished.push_back(entry.path());
  for (const fs::path& path : unfinished) fs::remove(path);
}

}  // namespace

RunDirectory::RunDirectory(const std::string& directory, const std::string& config, bool resume) {
  if (!resume) require_empty(directory);
  create_directory(directory);
  lock_.file = lock(directory);
  if (!resume) require_empty(directory);  // as it was before another process began
  const std::string path = directory + "/config.yaml";
  if (resume && file_exists(path)) {
    first_difference(directory, read_file(path), config);
    remove_unfinished(directory);
  }
  write_file(path, config);
}

RunDirectory::Lock::~Lock() {
  if (file >= 0) ::close(file);
}

}  // namespace reverie
