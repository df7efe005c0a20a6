#include "worldmodel/batch/batch_steps.h"

namespace reverie {
namespace {

/// Times first .. first + count - 1 of [B, T, ...], as [B * count, ...].
template <class T>
T between(const T& x, int64_t first, int64_t count) {
  return flatten(
      map_tensors(x, [&](const torch::Tensor& tensor) { return tensor.narrow(1, first, count); }));
}

}  // namespace

BatchSteps steps_of(const SequenceBatch& batch) {
  const int64_t count = batch.steps();
  BatchSteps steps;
  steps.before = between(batch.latents, 0, count);
  steps.after = between(batch.latents, 1, count);
  steps.mask = between(batch.mask, 0, count);
  steps.next_mask = between(batch.mask, 1, count);
  steps.actions = flatten(batch.actions);
  steps.reward = batch.reward.flatten();
  steps.end = batch.end.flatten();
  steps.valid = batch.valid.flatten();
  steps.continues = batch.continues().flatten();
  return steps;
}

RowTargets targets_of(const Rows& rows, const BatchSteps& steps) {
  const auto share = rows.acted().clamp_min(0.25);
  return {rows.take(steps.after.entities), rows.counts(steps.next_mask),
          rows.spread(steps.continues) * share};
}

}  // namespace reverie
