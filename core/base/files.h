#pragma once

#include <string>
#include <string_view>

namespace reverie {

/// The whole file. InputError names the file and the system's reason.
std::string read_file(const std::string& path);

/// Writes aside and renames, so that nothing partial ever stands under the final name. InputError
/// when the place cannot be written, or is a device or pipe.
void write_file(const std::string& path, std::string_view content);

/// For writers that need a path of their own (archives): write to `temporary()`, then `commit()`
/// renames it to the final name, or what that links to. Without commit the temporary is removed.
class AsideFile {
 public:
  explicit AsideFile(const std::string& path);
  ~AsideFile();
  AsideFile(const AsideFile&) = delete;
  AsideFile& operator=(const AsideFile&) = delete;

  const std::string& temporary() const { return temporary_; }
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  bool committed_ = false;
};

/// Creates `directory` with its parents and makes sure that files can be made in it.
void create_directory(const std::string& directory);

bool file_exists(const std::string& path);
/// Whether there is a directory of that name; false, too, where the system does not say.
bool is_directory(const std::string& path);

/// InputError where that name means neither a file nor a directory, such as a pipe or a device.
void require_no_pipe(const std::string& path);

/// For what is written after long work: InputError unless a file of that name can be written.
void check_writable(const std::string& path);

}  // namespace reverie
