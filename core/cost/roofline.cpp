#include "core/cost/roofline.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/cost/cached_costs.h"
#include "core/cost/work.h"

namespace reverie {
namespace {

constexpr double kGpuLaunch = 3.8e-6;
constexpr double kResultsPerLane = 16;
constexpr double kGenericTile = 32;
constexpr Grouping kCpuGrouping = {.channel_tile = 8, .least_channels = 4, .depthwise_share = 0.5};

constexpr DeviceProfile kProfiles[] = {
    {"cpu", 448e9, 40e9, 0.75, 2e-6, 64, 0.8, 0.25, kCpuGrouping, false},
    {"t4", 8.1e12, 320e9, 0.69, kGpuLaunch, 2560},
    {"v100", 15.7e12, 900e9, 0.83, kGpuLaunch, 5120},
    {"a100", 19.5e12, 2039e9, 0.85, kGpuLaunch, 6912},
    {"h100", 67e12, 3350e9, 0.85, kGpuLaunch, 16896},
    {"h200", 67e12, 4800e9, 0.85, kGpuLaunch, 16896},
};

double occupancy(const DeviceProfile& device, const OpSignature& signature) {
  double results = 0;
  for (const TensorType& type : signature.outputs) results += static_cast<double>(type.elements());
  return results / (results + kResultsPerLane * device.lanes);
}

double grouping_share(const Grouping& device, const OpSignature& signature) {
  const int64_t groups = signature.attributes->integer("group", 1);
  if (groups <= 1 || signature.inputs.size() < 2) return 1;
  const Shape& weight = signature.inputs[1].shape;
  const auto channels = static_cast<double>(std::min(weight[1], weight[0] / groups));
  if (channels <= 1) return device.depthwise_share;
  const double tile = channels < device.least_channels ? kGenericTile : device.channel_tile;
  return std::min(channels / tile, 1.0);
}

Picoseconds time_of(const DeviceProfile& device, const OpSignature& signature, const Cost& work) {
  double rate = device.peak_flops;
  if (is_matrix_work(*signature.op)) {
    rate *= device.matrix_share * occupancy(device, signature) *
            grouping_share(device.grouping, signature);
  } else {
    rate *= device.vector_share;
  }
  const double arithmetic = work.flops == 0 ? 0 : static_cast<double>(work.flops) / rate;
  const double memory =
      static_cast<double>(work.bytes) / (device.bandwidth * device.bandwidth_share);
  return Picoseconds::from_seconds(static_cast<double>(work.launches) * device.launch_seconds +
                                   std::max(arithmetic, memory));
}

class Roofline : public CachedCosts {
 public:
  explicit Roofline(const DeviceProfile& device) : device_(device) {}

  std::string name() const override { return fmt::format("roofline:{}", device_.name); }
  CostSource source() const override { return CostSource::kEstimated; }
  bool deterministic() const override { return true; }

 private:
  Time time(const OpSignature& signature, const Cost&) override {
    return {roofline_time(device_, signature)};
  }

  DeviceProfile device_;
};

}  // namespace

std::span<const DeviceProfile> device_profiles() { return kProfiles; }

const DeviceProfile& device_profile(std::string_view name) {
  for (const DeviceProfile& profile : kProfiles)
    if (profile.name == name) return profile;
  std::vector<std::string_view> names;
  for (const DeviceProfile& profile : kProfiles) names.push_back(profile.name);
  throw InputError("no device '{}' for the roofline; known are {}", name, fmt::join(names, ", "));
}

Picoseconds roofline_time(const DeviceProfile& device, const OpSignature& signature) {
  if (device.half_kernels) return time_of(device, signature, work_of(signature));
  const OpSignature single = in_single_precision(signature);
  return time_of(device, single, work_of(single));
}

std::shared_ptr<CostModel> make_roofline(const DeviceProfile& device) {
  return std::make_shared<Roofline>(device);
}

}  // namespace reverie
