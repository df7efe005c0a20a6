#include "worldmodel/encoder/entity_pool.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "core/base/error.h"
#include "worldmodel/network/activations.h"

namespace reverie {
namespace {

constexpr int64_t kBlock = 512;  // rows: what the product makes of them stays in a core's cache

}  // namespace

EntityPoolImpl::EntityPoolImpl(int latent, int width)
    : usual(register_buffer("usual", torch::ones({1}))),
      inner(register_module("inner", torch::nn::Linear(latent, width))),
      outer(register_module("outer", torch::nn::Linear(width, latent))) {}

torch::Tensor EntityPoolImpl::part(const torch::Tensor& entities) {
  return torch::silu(inner(entities)) - torch::silu(inner->bias);
}

torch::Tensor EntityPoolImpl::from_sum(const torch::Tensor& sum) {
  return torch::tanh(outer(sum / usual));
}

torch::Tensor EntityPoolImpl::tell(const torch::Tensor& entities) {
  if (at::GradMode::is_enabled() || !entities.is_cpu()) return forward(entities);
  const int64_t size = entities.size(1), block = std::max<int64_t>(1, kBlock / size);
  const auto weight = inner->weight.t(), offset = torch::silu(inner->bias),
             rows = entities.flatten(0, 1);
  const auto sum = torch::empty({entities.size(0), weight.size(1)}, entities.options());
  at::parallel_for(0, (entities.size(0) + block - 1) / block, 1, [&](int64_t first, int64_t last) {
    torch::NoGradGuard guard;
    for (int64_t i = first; i < last; ++i) {
      const int64_t begin = i * block, states = std::min(block, entities.size(0) - begin);
      auto out = sum.narrow(0, begin, states);
      const auto x = torch::addmm(inner->bias, rows.narrow(0, begin * size, states * size), weight);
      sum_silu_rows(x, offset, out);
    }
  });
  return from_sum(sum);
}

EntityPool load_entity_pool(const Checkpoint& checkpoint) {
  const auto inner = checkpoint.tensors.find("encoder.pool.inner.weight");
  if (inner == checkpoint.tensors.end())
    throw InputError("the {} checkpoint holds no encoder", checkpoint.kind);
  const auto& weight = inner->second;  // [width, latent]
  EntityPool pool(static_cast<int>(weight.size(1)), static_cast<int>(weight.size(0)));
  restore_module(checkpoint, "encoder.pool", *pool);
  pool->eval();
  return pool;
}

}  // namespace reverie
