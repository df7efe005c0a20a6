#include "core/ort/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/scratch_folder.h"
#include "core/ort/tensor_file.h"
#include "core/ort/worker_script.h"

namespace reverie::ort {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr char kInstall[] =
    "install it with tools/setup.sh --ort, or name its folder in REVERIE_ORT";

bool holds_runtime(const fs::path& folder) {
  return file_exists(folder / "node_modules" / "onnxruntime-node" / "package.json");
}

/// Otherwise glibc raises this bound with each large block that is freed, and memory of sessions
/// that are gone stays in gaps: 60 rounds of a model of 100 MB took 750 MB, and so they take 280.
constexpr char kReturnsLargeBlocks[] = "MALLOC_MMAP_THRESHOLD_=1048576";

[[noreturn]] void become_worker(const fs::path& folder, int channel, int log) {
  setpgid(0, 0);  // an interrupt at the terminal is for the program, which then ends this
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(channel, STDIN_FILENO);
  dup2(channel, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execlp("env", "env", kReturnsLargeBlocks, "node", "--input-type=module", "-e", kWorkerScript,
         folder.c_str(), nullptr);
  _exit(127);
}

int unnamed_file() {
  char name[] = "/tmp/reverie-ort-XXXXXX";
  const int file = mkostemp(name, O_CLOEXEC);
  if (file >= 0) unlink(name);
  return file;
}

std::string description_of_status(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) == 127) return "could not be started: Node.js (node) is not installed";
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

fs::path runtime_folder() {
  if (const char* named = std::getenv("REVERIE_ORT"); named != nullptr && *named != '\0')
    return named;
  const fs::path beside = REVERIE_ORT_BESIDE;
  return holds_runtime(beside) ? beside : fs::path();
}

Worker::Worker(const fs::path& folder, double answer_seconds) : answer_seconds_(answer_seconds) {
  if (folder.empty()) throw InputError("ONNX Runtime is not installed: {}", kInstall);
  if (!holds_runtime(folder))
    throw InputError("{} holds no node_modules/onnxruntime-node: {}", folder.string(), kInstall);
  start(fs::absolute(folder));
}

Worker::~Worker() { end(); }

void Worker::start(const fs::path& folder) {
  int ends[2];
  log_ = unnamed_file();
  if (log_ < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw InputError("ONNX Runtime's process could not be started: {}", std::strerror(errno));
  channel_ = ends[0];
  process_ = fork();
  if (process_ == 0) become_worker(folder, ends[1], log_);
  close(ends[1]);
  if (process_ < 0)
    throw InputError("ONNX Runtime's process could not be started: {}", std::strerror(errno));
}

Json Worker::ask(const Json& request) {
  if (!alive()) throw InputError("ONNX Runtime's process has ended");
  send(request.dump() + "\n");
  Json answer = Json::parse(receive());
  if (const Json* error = answer.find("error"))
    throw InputError("ONNX Runtime: {}", error->get<std::string>());
  return answer;
}

std::string Worker::version() { return ask({{"do", "version"}}).at("version").get<std::string>(); }

void Worker::send(const std::string& line) {
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t count = ::send(channel_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw InputError("ONNX Runtime's process {}", end());
    sent += static_cast<size_t>(count);
  }
}

std::string Worker::receive() {
  const auto deadline = Clock::now() + std::chrono::duration<double>(answer_seconds_);
  while (true) {
    if (const size_t newline = pending_.find('\n'); newline != std::string::npos) {
      std::string line = pending_.substr(0, newline);
      pending_.erase(0, newline + 1);
      return line;
    }
    const std::chrono::duration<double, std::milli> left = deadline - Clock::now();
    pollfd waiting = {channel_, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&waiting, 1, static_cast<int>(left.count()) + 1) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      kill(process_, SIGKILL);
      end();
      throw InputError("ONNX Runtime's process did not answer within {:g} s and was ended",
                       answer_seconds_);
    }
    char buffer[4096];
    const ssize_t count = read(channel_, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw InputError("ONNX Runtime's process {}", end());
    pending_.append(buffer, static_cast<size_t>(count));
  }
}

std::string Worker::end() {
  if (channel_ >= 0) close(channel_);  // the end of its input, at which it ends
  int status = 0;
  if (process_ > 0) {
    constexpr int kPatience = 200;
    int waited = 0;
    while (waitpid(process_, &status, WNOHANG) == 0) {
      if (++waited == kPatience) kill(process_, SIGKILL);
      usleep(10000);
    }
  }
  std::string reason = description_of_status(status);
  if (log_ >= 0) {
    if (const std::string words = last_words(); !words.empty()) reason += ": " + words;
    close(log_);
  }
  process_ = channel_ = log_ = -1;
  return reason;
}

/// The last line of its standard error that says something.
std::string Worker::last_words() const {
  constexpr off_t kTail = 2000;
  const off_t size = lseek(log_, 0, SEEK_END);
  std::string text(static_cast<size_t>(std::min(size, kTail)), '\0');
  const ssize_t count = pread(log_, text.data(), text.size(), std::max<off_t>(size - kTail, 0));
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

Session::Session(std::shared_ptr<Worker> worker, const fs::path& model,
                 const std::vector<NamedTensor>& inputs, const SessionOptions& options)
    : worker_(std::move(worker)) {
  static std::atomic<int64_t> serial{0};
  id_ = serial++;
  const ScratchFolder scratch;
  const fs::path feeds = scratch.path() / "inputs";
  write_tensors(feeds, inputs);
  worker_->ask({{"do", "load"},
                {"id", id_},
                {"model", fs::absolute(model).string()},
                {"inputs", feeds.string()},
                {"threads", options.threads},
                {"optimize", options.optimize}});
}

Session::~Session() {
  try {
    if (worker_->alive()) worker_->ask({{"do", "drop"}, {"id", id_}});
  } catch (const InputError&) {
    // A process that ended has dropped it.
  }
}

double Session::run() {
  return worker_->ask({{"do", "run"}, {"id", id_}}).at("seconds").get<double>();
}

std::vector<NamedTensor> Session::outputs() {
  const ScratchFolder scratch;
  const fs::path file = scratch.path() / "outputs";
  worker_->ask({{"do", "run"}, {"id", id_}, {"outputs", file.string()}});
  return read_tensors(file);
}

}  // namespace reverie::ort
