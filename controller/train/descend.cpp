#include "controller/train/descend.h"

namespace reverie {

double clipped_step(torch::optim::Optimizer& optimizer, double max_norm) {
  const auto& parameters = optimizer.param_groups().front().params();
  const double norm = torch::nn::utils::clip_grad_norm_(parameters, max_norm);
  optimizer.step();
  return norm;
}

double descend_gradient(torch::optim::Optimizer& optimizer, const torch::Tensor& loss,
                        double max_norm) {
  optimizer.zero_grad();
  loss.backward();
  return clipped_step(optimizer, max_norm);
}

}  // namespace reverie
