#include "core/cost/machine.h"

#include <charconv>

#include "core/base/error.h"
#include "core/exec/cuda/cuda_device.h"

namespace reverie {
namespace {

constexpr char kCpu[] = "cpu", kCuda[] = "cuda";

struct Name {
  std::string kind, argument;  ///< "cpu:4": "cpu" and "4"
  bool has_argument = false;

  explicit Name(const std::string& name)
      : kind(name.substr(0, name.find(':'))), has_argument(kind.size() < name.size()) {
    if (has_argument) argument = name.substr(kind.size() + 1);
  }
};

int number_of_threads(const std::string& text) {
  int threads = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, threads);
  if (error != std::errc() || stopped != end || threads < 1)
    throw InputError("'{}' is no number of threads; an example is cpu:4", text);
  return threads;
}

}  // namespace

std::string profile_of_machine(const std::string& name) {
  return Name(name).kind == kCuda ? "h200" : "cpu";
}

bool is_machine(const std::string& cost_source) {
  const std::string kind = Name(cost_source).kind;
  return kind == kCpu || kind == kCuda;
}

std::shared_ptr<Machine> make_machine(const std::string& text) {
  const Name name(text);
  if (name.kind == kCpu) return cpu_machine(name.has_argument ? number_of_threads(name.argument) : 1);
  if (name.kind != kCuda)
    throw InputError("no machine '{}'; known are cpu, cpu:<threads>, cuda and cuda:<precision>", text);
  device::CudaOptions options;
  if (name.has_argument) options.precision = device::precision_named(name.argument);
  return device_machine(name.kind, profile_of_machine(text), device::open_cuda(options));
}

std::shared_ptr<Machine> machine_beside(const std::string& name, const std::string& cost_source) {
  if (!name.empty()) return make_machine(name);
  return make_machine(is_machine(cost_source) ? cost_source : kCpu);
}

}  // namespace reverie
