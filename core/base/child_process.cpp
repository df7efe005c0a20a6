#include "core/base/child_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "core/base/error.h"
#include "core/base/sanitized.h"

namespace reverie {
namespace {

constexpr int kOutOfMemory = 77;  ///< the child's exit status
constexpr uint64_t kLargestMessage = uint64_t{1} << 31;

bool send_all(int socket, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, char* data, size_t size) {
  while (size > 0) {
    const ssize_t received = ::recv(socket, data, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    data += received;
    size -= static_cast<size_t>(received);
  }
  return true;
}

/// A message is its length in eight bytes and its bytes.
bool send_message(int socket, std::string_view message) {
  const uint64_t size = message.size();
  return send_all(socket, reinterpret_cast<const char*>(&size), sizeof(size)) &&
         send_all(socket, message.data(), message.size());
}

std::optional<std::string> receive_message(int socket) {
  uint64_t size = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&size), sizeof(size))) return std::nullopt;
  if (size > kLargestMessage) return std::nullopt;
  std::string message(size, '\0');
  if (!receive_all(socket, message.data(), message.size())) return std::nullopt;
  return message;
}

void leave_files_and_terminal(int socket) {
  const int null = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, stream);
  constexpr unsigned kFirst = STDERR_FILENO + 1;
  const auto own = static_cast<unsigned>(socket);
  if (own > kFirst) ::close_range(kFirst, own - 1, 0);
  ::close_range(own + 1, ~0U, 0);
  // Whoever interrupts the parent lets it decide; its end is the child's.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF})
    std::signal(signal, SIG_DFL);
}

[[maybe_unused]] uint64_t address_space() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  const bool known = file != nullptr && std::fscanf(file, "%lu", &pages) == 1;
  if (file != nullptr) std::fclose(file);
  return known ? uint64_t{pages} * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

void limit_memory([[maybe_unused]] int64_t bytes) {
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
#if !REVERIE_SANITIZED  // which reserve all addresses
  const uint64_t now = address_space();
  rlimit limit = {};
  if (now == 0 || ::getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, now + static_cast<uint64_t>(bytes));
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

void limit_time(int seconds) {
  itimerval timer = {};
  timer.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

[[noreturn]] void serve_until_closed(int socket, ChildProcess::Serve serve,
                                     const ChildLimits& limits) {
  leave_files_and_terminal(socket);
  limit_memory(limits.bytes);
  std::set_new_handler([] { ::_exit(kOutOfMemory); });
  while (const auto request = receive_message(socket)) {
    limit_time(limits.seconds);
    const std::string answer = serve(*request);
    limit_time(0);
    if (!send_message(socket, answer)) break;
  }
  ::_exit(0);
}

}  // namespace

ChildProcess::~ChildProcess() {
  if (socket_ >= 0) end();
}

void ChildProcess::start() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw InputError("no process can be started: {}", std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) serve_until_closed(sockets[1], serve_, limits_);
  const int reason = errno;
  ::close(sockets[1]);
  if (child < 0) {
    ::close(sockets[0]);
    throw InputError("no process can be started: {}", std::strerror(reason));
  }
  socket_ = sockets[0];
  child_ = child;
  owner_ = ::getpid();
}

ChildAnswer ChildProcess::end() {
  ::close(socket_);
  socket_ = -1;
  ChildAnswer answer = {ChildAnswer::End::kCrashed, "unknown status"};
  if (owner_ != ::getpid()) return answer;
  int status = 0;
  pid_t ended = -1;
  do ended = ::waitpid(child_, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended != child_) return answer;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
    return {ChildAnswer::End::kTookTooMuch, fmt::format("more than {} s", limits_.seconds)};
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory)
    return {ChildAnswer::End::kTookTooMuch, fmt::format("more than {} MB", limits_.bytes >> 20)};
  if (WIFSIGNALED(status))
    answer.text = fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  else
    answer.text = fmt::format("status {}", WEXITSTATUS(status));
  return answer;
}

ChildAnswer ChildProcess::ask(std::string_view request) {
  const std::lock_guard lock(mutex_);
  if (socket_ >= 0 && owner_ != ::getpid()) end();
  if (socket_ < 0) start();
  if (send_message(socket_, request))
    if (auto answer = receive_message(socket_))
      return {ChildAnswer::End::kAnswered, std::move(*answer)};
  return end();
}

}  // namespace reverie
