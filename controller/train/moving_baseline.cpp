#include "controller/train/moving_baseline.h"

namespace reverie {

MovingBaseline::MovingBaseline(int64_t places, double decay)
    : decay_(decay), mean_(torch::zeros({places})), seen_(torch::zeros({places})) {}

torch::Tensor MovingBaseline::advance(const torch::Tensor& mean, const torch::Tensor& seen) {
  auto baseline = mean_.narrow(0, 0, mean.size(0)), seen_before = seen_.narrow(0, 0, mean.size(0));
  const auto before = torch::where(seen_before > 0, baseline, mean);
  baseline.copy_(torch::where(seen, decay_ * before + (1 - decay_) * mean, baseline));
  seen_before.copy_(torch::maximum(seen_before, seen.to(torch::kFloat32)));
  return before;
}

void MovingBaseline::to(torch::Device device) {
  mean_ = mean_.to(device);
  seen_ = seen_.to(device);
}

void MovingBaseline::store(Checkpoint& checkpoint, const std::string& name) const {
  checkpoint.tensors[name] = mean_;
  checkpoint.tensors[name + "_seen"] = seen_;
}

void MovingBaseline::restore(const Checkpoint& checkpoint, const std::string& name) {
  mean_.copy_(stored_tensor(checkpoint, name));
  seen_.copy_(stored_tensor(checkpoint, name + "_seen"));
}

}  // namespace reverie
