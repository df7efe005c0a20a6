#include "tools/streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/scratch_folder.h"

namespace reverie {
namespace {

constexpr char kStandardInput[] = "/dev/stdin";

/// What standard output will get.
struct Output {
  ScratchFolder folder;
  int descriptor = -1;  ///< of standard output, which prints to standard error meanwhile

  std::string file() const { return (folder.path() / "out").string(); }
};

std::unique_ptr<Output>& output() {
  static std::unique_ptr<Output> output;
  return output;
}

bool is_file(int descriptor) {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

/// Puts a file that has no name in the place of what standard input is.
void make_input_a_file() {
  if (is_file(STDIN_FILENO)) return;
  std::FILE* copy = std::tmpfile();
  if (copy == nullptr)
    throw InputError("standard input cannot be kept: no file can be made for it");
  std::array<char, 1 << 16> part;
  ssize_t size;
  while ((size = read(STDIN_FILENO, part.data(), part.size())) > 0)
    if (std::fwrite(part.data(), 1, static_cast<size_t>(size), copy) != static_cast<size_t>(size))
      throw InputError("standard input cannot be kept: the folder for temporary files is full");
  if (size < 0 || std::fflush(copy) != 0) throw InputError("standard input cannot be read");
  dup2(fileno(copy), STDIN_FILENO);
  std::fclose(copy);
}

void require_single_file(const Output& made) {
  if (!file_exists(made.file())) throw InputError("-: nothing was written");
  using Files = std::filesystem::directory_iterator;
  if (std::distance(Files(made.folder.path()), Files()) > 1)
    throw InputError(
        "-: the model has a file for its weights; standard output takes one file: name one by "
        "--out");
}

}  // namespace

CLI::Option* takes_standard_input(CLI::Option* option) {
  return option->transform(
      [](const std::string& file) {
        if (file != "-") return file;
        make_input_a_file();
        return std::string(kStandardInput);
      },
      "");
}

CLI::Option* takes_standard_output(CLI::Option* option) {
  return option->transform(
      [](const std::string& file) {
        if (file != "-") return file;
        output() = std::make_unique<Output>();
        return output()->file();
      },
      "");
}

void begin_streams() {
  if (output() == nullptr) return;
  std::fflush(stdout);
  output()->descriptor = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

void end_streams() {
  if (output() == nullptr) return;
  require_single_file(*output());
  const std::string content = read_file(output()->file());
  undo_streams();
  std::fwrite(content.data(), 1, content.size(), stdout);
}

void undo_streams() {
  if (output() == nullptr) return;
  std::fflush(stdout);
  if (output()->descriptor >= 0) {
    dup2(output()->descriptor, STDOUT_FILENO);
    close(output()->descriptor);
  }
  output().reset();
}

void warn(const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences) fmt::print(stderr, "{}\n", sentence);
}

}  // namespace reverie
