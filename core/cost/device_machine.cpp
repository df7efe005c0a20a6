#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/cost/machine.h"
#include "core/cost/single_operator.h"
#include "core/exec/device/device_executor.h"
#include "core/exec/device/device_memory.h"

namespace reverie {
namespace {

/// Run once, so that what a device loads at a kernel's first launch is loaded.
DevicePlan ready_plan(device::Device& device, const Graph& graph, const WeightSource& weights,
                      uint64_t seed) {
  DevicePlan plan(device, graph, weights);
  Rng rng(seed);
  plan.draw_inputs(rng);
  plan.launch();
  device.synchronize();
  return plan;
}

class DeviceGraph : public ReadyGraph {
 public:
  DeviceGraph(std::shared_ptr<device::Device> device, const Graph& graph,
              const WeightSource& weights)
      : device_(std::move(device)), plan_(ready_plan(*device_, graph, weights, 1)) {
    if (plan_.fallbacks().empty()) recording_ = device_->record([&] { plan_.launch(); });
  }

  double seconds_of_run() override { return std::max(seconds(), 1e-9); }
  std::vector<Tensor> run(std::span<const Tensor> inputs) override { return plan_.run(inputs); }
  int fallbacks() const override {
    int total = 0;
    for (const auto& [op, count] : plan_.fallbacks()) total += count;
    return total;
  }

 private:
  double seconds() {
    if (recording_ == nullptr) return device_->seconds([&] { plan_.launch(); });
    recording_->launch();  // while it runs the host queues the one that is timed
    return device_->seconds([&] { recording_->launch(); });
  }

  std::shared_ptr<device::Device> device_;
  DevicePlan plan_;
  std::unique_ptr<device::Recording> recording_;
};

/// Empties the device's cache, and takes longer than the host needs to queue a recording: about 0.1
/// ms at the bandwidth of an H200.
class CacheFlush {
 public:
  explicit CacheFlush(device::Device& device)
      : device_(device), bytes_(2 * device.info().cache_bytes), memory_(device, bytes_) {}
  void launch() {
    constexpr int kTimes = 4;
    for (int i = 0; i < kTimes; ++i) device_.set(memory_.get(), std::byte{0}, bytes_);
  }

 private:
  device::Device& device_;
  int64_t bytes_;
  device::DeviceMemory memory_;
};

class DeviceMachine : public Machine {
 public:
  DeviceMachine(const std::string& kind, std::string profile,
                std::shared_ptr<device::Device> device)
      : kind_(kind), profile_(std::move(profile)), device_(std::move(device)) {}

  std::string name() const override {
    const device::Precision precision = device_->precision();
    return precision == device::Precision::kFloat32
               ? kind_
               : fmt::format("{}:{}", kind_, name_of(precision));
  }
  MachineInfo info() override {
    const device::DeviceInfo info = device_->info();
    return {.device = fmt::format("{}, {}", info.name, name_of(device_->precision())),
            .library = info.library,
            .driver = info.driver};
  }
  int clock_mhz() override { return device_->info().clock_mhz; }
  std::string profile() const override { return profile_; }
  bool tells_rounding() const override { return true; }
  bool fuses() const override { return true; }
  std::unique_ptr<ReadyGraph> ready(const Graph& graph, const WeightSource& weights) override {
    return std::make_unique<DeviceGraph>(device_, graph, weights);
  }

  MedianInterval time_operator(const OpSignature& signature,
                               const TimingOptions& options) override {
    const Graph graph = single_operator(signature);
    std::vector<DevicePlan> copies;
    copies.push_back(ready_plan(*device_, graph, materialized, signature.hash()));
    const DevicePlan& first = copies.front();
    if (!first.fallbacks().empty())
      throw InputError("{} has no kernel for {}", name(), signature.op->name);
    const int count = copies_beyond_cache(first.weight_bytes() + first.arena_bytes());
    while (static_cast<int>(copies.size()) < count)
      copies.push_back(ready_plan(*device_, graph, materialized, signature.hash()));
    const auto recording = device_->record([&] {
      for (DevicePlan& copy : copies) copy.launch();
    });
    if (!flush_) flush_.emplace(*device_);
    const auto sample = [&] {
      flush_->launch();
      return device_->seconds([&] { recording->launch(); }) / count;
    };
    return time_samples(sample, count, options);
  }

 private:
  int copies_beyond_cache(int64_t bytes) const {
    const int64_t wanted = 2 * device_->info().cache_bytes / std::max<int64_t>(bytes, 1) + 1;
    return static_cast<int>(std::clamp<int64_t>(wanted, 2, kMostCopies));
  }

  std::string kind_, profile_;
  std::shared_ptr<device::Device> device_;
  std::optional<CacheFlush> flush_;
};

}  // namespace

std::shared_ptr<Machine> device_machine(const std::string& kind, const std::string& profile,
                                        std::shared_ptr<device::Device> device) {
  return std::make_shared<DeviceMachine>(kind, profile, std::move(device));
}

}  // namespace reverie
