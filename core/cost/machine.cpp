#include "core/cost/machine.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/exec/cuda/cuda_device.h"

namespace reverie {
namespace {

using Argument = MachineKind::Argument;

std::string before_colon(const std::string& name) { return name.substr(0, name.find(':')); }

Argument after_colon(const std::string& name) {
  const size_t colon = name.find(':');
  return colon == std::string::npos ? Argument() : name.substr(colon + 1);
}

std::shared_ptr<Machine> make_cpu(const Argument& threads) {
  return cpu_machine(threads ? threads_named(*threads) : 1);
}

std::shared_ptr<Machine> make_cuda(const Argument& precision) {
  device::CudaOptions options;
  if (precision) options.precision = device::precision_named(*precision);
  return device_machine("cuda", "h200", device::open_cuda(options));
}

std::vector<MachineKind>& kinds() {
  static std::vector<MachineKind> all = {
      {.names = {"cpu", "cpu:<threads>"},
       .make = make_cpu,
       .profile = [](const Argument&) { return std::string("cpu"); }},
      {.names = {"cuda", "cuda:<precision>"},
       .make = make_cuda,
       .profile = [](const Argument&) { return std::string("h200"); },
       .fuses = true},
  };
  return all;
}

const MachineKind* find_kind(const std::string& name) {
  for (const MachineKind& kind : kinds())
    if (before_colon(kind.names.front()) == before_colon(name)) return &kind;
  return nullptr;
}

const MachineKind& kind_of(const std::string& name) {
  if (const MachineKind* kind = find_kind(name)) return *kind;
  throw InputError("no machine '{}'; known are {}", name, known_machines());
}

}  // namespace

std::vector<Tensor> ReadyGraph::run(std::span<const Tensor>) {
  throw InternalError("a graph that is ready for made-up inputs alone");
}

std::unique_ptr<ReadyGraph> Machine::ready_file(const std::filesystem::path&, const Graph&) {
  throw InternalError(fmt::format("machine {} runs no files", name()));
}

std::vector<NamedTensor> Machine::outputs_of_file(const std::filesystem::path&, const Graph&) {
  throw InternalError(fmt::format("machine {} runs no files", name()));
}

void register_machine(MachineKind kind) {
  REVERIE_CHECK(!kind.names.empty() && find_kind(kind.names.front()) == nullptr,
                "a machine that is known already");
  kinds().push_back(std::move(kind));
}

std::string known_machines() {
  std::vector<std::string> names;
  for (const MachineKind& kind : kinds())
    names.insert(names.end(), kind.names.begin(), kind.names.end());
  return fmt::format("{} or {}", fmt::join(std::span(names).first(names.size() - 1), ", "),
                     names.back());
}

int threads_named(const std::string& argument) {
  int threads = 0;
  const char* const end = argument.data() + argument.size();
  const auto [stopped, error] = std::from_chars(argument.data(), end, threads);
  if (error != std::errc() || stopped != end || threads < 1 || threads > kMostThreads)
    throw InputError("'{}' is no number of threads from 1 to {}; an example is cpu:4", argument,
                     kMostThreads);
  return threads;
}

std::shared_ptr<Machine> make_machine(const std::string& name) {
  return kind_of(name).make(after_colon(name));
}

std::string profile_of_machine(const std::string& name) {
  return kind_of(name).profile(after_colon(name));
}

bool machine_runs_files(const std::string& name) { return kind_of(name).runs_files; }
bool machine_fuses(const std::string& name) { return kind_of(name).fuses; }

bool is_machine(const std::string& cost_source) { return find_kind(cost_source) != nullptr; }

std::string machine_name_beside(const std::string& name, const std::string& cost_source) {
  if (!name.empty()) return name;
  return is_machine(cost_source) ? cost_source : "cpu";
}

std::shared_ptr<Machine> machine_beside(const std::string& name, const std::string& cost_source) {
  return make_machine(machine_name_beside(name, cost_source));
}

}  // namespace reverie
