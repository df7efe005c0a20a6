#include "worldmodel/region_pool.h"

#include "core/base/error.h"

namespace reverie {

RegionPoolImpl::RegionPoolImpl(int latent, int width)
    : usual(register_buffer("usual", torch::ones({1}))),
      inner(register_module("inner", torch::nn::Linear(latent, width))),
      outer(register_module("outer", torch::nn::Linear(width, latent))) {}

torch::Tensor RegionPoolImpl::part(const torch::Tensor& regions) {
  return torch::silu(inner(regions)) - torch::silu(inner->bias);
}

torch::Tensor RegionPoolImpl::from_sum(const torch::Tensor& sum) {
  return torch::tanh(outer(sum / usual));
}

RegionPool load_region_pool(const Checkpoint& checkpoint) {
  const auto inner = checkpoint.tensors.find("encoder.pool.inner.weight");
  if (inner == checkpoint.tensors.end())
    throw InputError("the {} checkpoint's encoder knows no regions", checkpoint.kind);
  const auto& weight = inner->second;  // [width, latent]
  RegionPool pool(static_cast<int>(weight.size(1)), static_cast<int>(weight.size(0)));
  restore_module(checkpoint, "encoder.pool", *pool);
  pool->eval();
  return pool;
}

}  // namespace reverie
