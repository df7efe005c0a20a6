#include "controller/agents/sequence_placer.h"

#include <algorithm>

#include "controller/agents/categorical.h"
#include "controller/agents/initial_weights.h"
#include "core/base/error.h"

namespace reverie {
namespace {

constexpr int64_t kAttentionBlock = 1 << 20;  // numbers that attention has at a time, about

/// [samples, steps] -> [steps, samples] devices as a tensor.
torch::Tensor by_step(const std::vector<std::vector<int>>& devices) {
  const auto samples = static_cast<int64_t>(devices.size());
  const auto steps = static_cast<int64_t>(devices.front().size());
  const auto tensor = torch::empty({steps, samples}, torch::kInt64);
  auto* at = tensor.data_ptr<int64_t>();
  for (size_t step = 0; step < devices.front().size(); ++step)
    for (const std::vector<int>& sample : devices) *at++ = sample[step];
  return tensor;
}

}  // namespace

SequencePlacer::SequencePlacer(const Sizes& sizes, Rng rng)
    : sizes_(sizes),
      encoder_{LstmParameters(*this, "forward", sizes.inputs,
                              sizes.bidirectional ? sizes.hidden / 2 : sizes.hidden, rng)},
      decoder_(*this, "decoder", sizes.hidden, sizes.hidden, rng),
      embedding_(register_parameter("embedding", glorot(sizes.devices + 1, sizes.hidden, rng))),
      of_key_(register_parameter("of_key", glorot(sizes.hidden, sizes.hidden, rng))),
      of_query_(register_parameter("of_query", glorot(sizes.hidden, sizes.hidden, rng))),
      attention_(register_parameter("attention", glorot(sizes.hidden, 1, rng))),
      head_(register_parameter("head", glorot(sizes.devices, 2 * sizes.hidden, rng))),
      head_bias_(register_parameter("head_bias", torch::zeros({sizes.devices}))) {
  if (sizes.bidirectional)
    encoder_.emplace_back(*this, "backward", sizes.inputs, sizes.hidden / 2, rng);
}

SequencePlacer::Encoded SequencePlacer::encode(const torch::Tensor& groups) const {
  REVERIE_CHECK_EQ(groups.size(1), sizes_.inputs);
  std::vector<torch::Tensor> outputs, hidden, cell;
  for (size_t way = 0; way < encoder_.size(); ++way) {
    RecurrentStates states;
    outputs.push_back(encoder_[way].read(groups, /*backward=*/way == 1, states));
    hidden.push_back(states.hidden);
    cell.push_back(states.cell);
  }
  const auto all = torch::cat(outputs, 1);
  return {all, all.mm(of_key_), {torch::cat(hidden, 1), torch::cat(cell, 1)}};
}

RecurrentStates SequencePlacer::Encoded::states_of(int64_t samples) const {
  return {states.hidden.expand({samples, -1}), states.cell.expand({samples, -1})};
}

torch::Tensor SequencePlacer::log_softmax_of(const Encoded& encoded,
                                             const torch::Tensor& states) const {
  const auto queries = states.mm(of_query_);
  const auto scores = (queries.unsqueeze(1) + encoded.keys).tanh().matmul(attention_).squeeze(2);
  const auto context = scores.softmax(1).mm(encoded.outputs);
  auto logits = torch::addmm(head_bias_, torch::cat({states, context}, 1), head_.t());
  if (sizes_.temperature != 1) logits = logits / sizes_.temperature;
  if (sizes_.limit > 0) logits = logits.tanh() * sizes_.limit;
  return logits.log_softmax(1);
}

torch::Tensor SequencePlacer::log_probabilities(
    const torch::Tensor& groups, const std::vector<std::vector<int>>& devices) const {
  const Encoded encoded = encode(groups);
  const auto taken = by_step(devices);
  const int64_t steps = taken.size(0), samples = taken.size(1);
  const auto first = torch::full({1, samples}, sizes_.devices, torch::kInt64);
  const auto fed = torch::cat({first, taken.slice(0, 0, steps - 1)});
  const auto gates = decoder_.gates(embedding_.index_select(0, fed.view(-1)));
  RecurrentStates states = encoded.states_of(samples);
  const auto outputs = decoder_.run(gates.view({steps, samples, -1}), states);
  const int64_t rows = std::max(int64_t{1}, kAttentionBlock / (steps * sizes_.hidden));
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& some : outputs.view({steps * samples, -1}).split(rows))
    parts.push_back(log_softmax_of(encoded, some));
  return torch::cat(parts).view({steps, samples, -1}).transpose(0, 1);
}

torch::Tensor SequencePlacer::log_probability(const torch::Tensor& groups,
                                              const std::vector<std::vector<int>>& devices) const {
  const auto of_all = log_probabilities(groups, devices);
  return of_all.gather(2, by_step(devices).t().unsqueeze(2)).squeeze(2).sum(1);
}

std::vector<std::vector<int>> SequencePlacer::decode(const torch::Tensor& groups, int samples,
                                                     const Choose& choose) const {
  const torch::NoGradGuard guard;
  const Encoded encoded = encode(groups);
  const auto of_device = decoder_.gates(embedding_);
  RecurrentStates states = encoded.states_of(samples);
  std::vector<std::vector<int>> devices(static_cast<size_t>(samples));
  auto fed = torch::full({samples}, sizes_.devices, torch::kInt64);
  for (int64_t step = 0; step < groups.size(0); ++step) {
    const auto outputs = decoder_.run(of_device.index_select(0, fed).unsqueeze(0), states);
    fed = choose(log_softmax_of(encoded, outputs.squeeze(0)));
    for (size_t sample = 0; sample < devices.size(); ++sample)
      devices[sample].push_back(static_cast<int>(fed.data_ptr<int64_t>()[sample]));
  }
  return devices;
}

std::vector<std::vector<int>> SequencePlacer::draw(const torch::Tensor& groups, int samples,
                                                   Rng& rng) const {
  return decode(groups, samples,
                [&](const torch::Tensor& of_devices) { return draw_actions(of_devices, rng); });
}

std::vector<int> SequencePlacer::likeliest(const torch::Tensor& groups) const {
  return decode(groups, 1, [](const torch::Tensor& of_devices) { return of_devices.argmax(1); })
      .front();
}

}  // namespace reverie
