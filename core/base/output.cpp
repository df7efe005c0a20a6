#include "core/base/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "core/base/error.h"

namespace reverie {
namespace {

/// What stands behind a stream of the C library.
struct Stream {
  int descriptor = -1;
  int failure = 0;  ///< the first
};

Stream standard_output = {STDOUT_FILENO}, standard_error = {STDERR_FILENO};

ssize_t write_some(int descriptor, const char* data, size_t size) {
  for (;;) {
    const ssize_t written = ::write(descriptor, data, size);
    if (written >= 0) return written;
    if (errno == EAGAIN) {
      pollfd ready = {descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return -1;
    }
  }
}

/// Takes everything: what cannot be written is lost, and the stream remembers why.
ssize_t take(void* cookie, const char* data, size_t size) {
  auto* stream = static_cast<Stream*>(cookie);
  for (size_t done = 0; done < size;) {
    const ssize_t written = write_some(stream->descriptor, data + done, size - done);
    if (written <= 0) {
      if (stream->failure == 0) stream->failure = written < 0 ? errno : EIO;
      break;
    }
    done += static_cast<size_t>(written);
  }
  return static_cast<ssize_t>(size);
}

void guard(std::FILE*& file, Stream* stream) {
  std::FILE* guarded = ::fopencookie(stream, "w", {nullptr, take, nullptr, nullptr});
  if (guarded == nullptr) return;
  const bool unbuffered = stream->descriptor == STDERR_FILENO;
  const int by_line = ::isatty(stream->descriptor) == 1 ? _IOLBF : _IOFBF;
  std::setvbuf(guarded, nullptr, unbuffered ? _IONBF : by_line, BUFSIZ);
  file = guarded;
}

/// Writing to it fails, as it would have.
void open_if_closed(int descriptor) {
  if (::fcntl(descriptor, F_GETFD) >= 0) return;
  const int opened = ::open("/dev/null", O_RDONLY);
  if (opened < 0 || opened == descriptor) return;
  ::dup2(opened, descriptor);
  ::close(opened);
}

/// The beginning of the character of UTF-8 that `at` lies in.
size_t character(std::string_view text, size_t at) {
  constexpr unsigned kFollows = 0x80, kMask = 0xc0;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & kMask) == kFollows) --at;
  return at;
}

/// `text` without its middle where it is longer.
std::string shortened(std::string_view text, size_t length) {
  if (text.size() <= length) return std::string(text);
  const size_t end = length / 3;
  return fmt::format("{}...{}", text.substr(0, character(text, length - end)),
                     text.substr(character(text, text.size() - end)));
}

}  // namespace

void guard_output() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    open_if_closed(descriptor);
  std::signal(SIGPIPE, SIG_IGN);
  guard(stdout, &standard_output);
  guard(stderr, &standard_error);
}

int finish_output() {
  std::fflush(stdout);
  return standard_output.failure;
}

std::string readable(std::string_view message) {
  constexpr size_t kLongestWord = 400, kLongest = 4096;
  std::string clean(message);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::ranges::replace_if(clean, is_control, ' ');
  std::string line;
  for (size_t at = 0; at < clean.size();) {
    const size_t end = std::min(clean.find(' ', at), clean.size());
    line += shortened(std::string_view(clean).substr(at, end - at), kLongestWord);
    at = end;
    while (at < clean.size() && clean[at] == ' ') line += clean[at++];
  }
  while (line.ends_with(' ')) line.pop_back();
  return shortened(line, kLongest);
}

}  // namespace reverie
