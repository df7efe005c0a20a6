#include "worldmodel/network/processes.h"

#include <charconv>
#include <cstdlib>
#include <string>

#ifdef REVERIE_GLOO
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif

#include "core/base/error.h"

namespace reverie {
namespace {

/// The first of the variables that is set; null where none is.
const char* variable(const char* name, const char* other = nullptr) {
  const char* value = std::getenv(name);
  return value == nullptr && other != nullptr ? std::getenv(other) : value;
}

int number_in(const char* name, const char* other = nullptr) {
  const char* text = variable(name, other);
  if (text == nullptr)
    throw InputError("several processes need {} in the environment, as torchrun sets it", name);
  const std::string value = text;
  int number = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < 0)
    throw InputError("{}={} in the environment is no number", name, value);
  return number;
}

/// A Slurm job has tasks also where its script calls a program once; those of a step are its own.
int count_in_environment() {
  if (variable("WORLD_SIZE") != nullptr) return number_in("WORLD_SIZE");
  const bool is_step = variable("MASTER_ADDR") != nullptr && variable("SLURM_STEP_NUM_TASKS");
  return is_step ? number_in("SLURM_STEP_NUM_TASKS") : 1;
}

}  // namespace

#ifdef REVERIE_GLOO

struct Processes::Group {
  int rank = 0, count = 1;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
};

namespace {

c10::intrusive_ptr<c10d::Store> store_of(int rank, int count) {
  const char* address = variable("MASTER_ADDR");
  if (address == nullptr)
    throw InputError(
        "several processes need MASTER_ADDR in the environment: the host of the first");
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(number_in("MASTER_PORT"));
  const char* agent = variable("TORCHELASTIC_USE_AGENT_STORE");
  options.isServer = rank == 0 && (agent == nullptr || std::string(agent) != "True");
  options.numWorkers = count;
  options.waitWorkers = false;
  const char* restarts = variable("TORCHELASTIC_RESTART_COUNT");  // an earlier try left its keys
  return c10::make_intrusive<c10d::PrefixStore>(
      std::string("reverie/") + (restarts == nullptr ? "0" : restarts),
      c10::make_intrusive<c10d::TCPStore>(address, options));
}

std::shared_ptr<::gloo::transport::Device> device() {
  const char* interface = variable("GLOO_SOCKET_IFNAME");
  return interface == nullptr ? c10d::ProcessGroupGloo::createDefaultDevice()
                              : c10d::ProcessGroupGloo::createDeviceForInterface(interface);
}

/// What LibTorch throws is of the world outside: a host that does not answer, a process that died.
template <class Body>
auto together(const char* what, Body&& body) {
  try {
    return body();
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw InputError("{}: {}", what, text.substr(0, text.find('\n')));
  }
}

constexpr char kGone[] =
    "another process of the training is gone; start all of them anew, with --resume";

}  // namespace

Processes Processes::from_environment() {
  Processes processes;
  const int count = count_in_environment();
  if (count <= 1) return processes;
  const int rank = number_in("RANK", "SLURM_PROCID");
  if (rank >= count) throw InputError("RANK={} is not below WORLD_SIZE={}", rank, count);
  together("the processes of the training do not find each other", [&] {
    const auto options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(device());
    processes.group_ = std::make_shared<Group>(Group{
        rank, count,
        c10::make_intrusive<c10d::ProcessGroupGloo>(store_of(rank, count), rank, count, options)});
  });
  return processes;
}

torch::Tensor Processes::gather(const torch::Tensor& rows) const {
  if (group_ == nullptr) return rows;
  return together(kGone, [&] {
    std::vector<torch::Tensor> mine = {rows.cpu().contiguous()};
    std::vector<std::vector<torch::Tensor>> all(1);
    for (int rank = 0; rank < count(); ++rank) all[0].push_back(torch::empty_like(mine[0]));
    group_->gloo->allgather(all, mine)->wait();
    return torch::cat(all[0]).to(rows.device());
  });
}

void Processes::meet() const {
  if (group_ != nullptr) together(kGone, [&] { group_->gloo->barrier()->wait(); });
}

#else

struct Processes::Group {
  int rank = 0, count = 1;
};

Processes Processes::from_environment() {
  if (count_in_environment() > 1)
    throw InputError("training in several processes needs a build with Gloo (libgloo-dev)");
  return {};
}

torch::Tensor Processes::gather(const torch::Tensor& rows) const { return rows; }

void Processes::meet() const {}

#endif

Processes::Processes() = default;

int Processes::rank() const { return group_ == nullptr ? 0 : group_->rank; }

int Processes::count() const { return group_ == nullptr ? 1 : group_->count; }

}  // namespace reverie
