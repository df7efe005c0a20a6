#include "worldmodel/region_pool.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "core/base/error.h"
#include "worldmodel/activations.h"

namespace reverie {
namespace {

constexpr int64_t kBlock = 512;  // rows: what the product makes of them stays in a core's cache

}  // namespace

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

torch::Tensor RegionPoolImpl::tell(const torch::Tensor& regions) {
  if (at::GradMode::is_enabled() || !regions.is_cpu()) return forward(regions);
  const int64_t size = regions.size(1), block = std::max<int64_t>(1, kBlock / size);
  const auto weight = inner->weight.t(), offset = torch::silu(inner->bias), rows = regions.flatten(0, 1);
  const auto sum = torch::empty({regions.size(0), weight.size(1)}, regions.options());
  at::parallel_for(0, (regions.size(0) + block - 1) / block, 1, [&](int64_t first, int64_t last) {
    torch::NoGradGuard guard;
    for (int64_t i = first; i < last; ++i) {
      const int64_t begin = i * block, states = std::min(block, regions.size(0) - begin);
      auto out = sum.narrow(0, begin, states);
      const auto x = torch::addmm(inner->bias, rows.narrow(0, begin * size, states * size), weight);
      sum_silu_rows(x, offset, out);
    }
  });
  return from_sum(sum);
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
