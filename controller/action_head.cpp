#include "controller/action_head.h"

#include <cmath>
#include <limits>

namespace reverie {
namespace {

constexpr int64_t kTableLimit = 256;
constexpr double kLogitBound = 10;
const auto kIndex = torch::kInt64;

torch::Tensor range_like(int64_t n, const torch::Tensor& like) {
  return torch::arange(n, like.options().dtype(kIndex));
}

}  // namespace

torch::Tensor uniform_numbers(int64_t n, Rng& rng) {
  auto numbers = torch::empty({n}, torch::kFloat64);
  auto* data = numbers.data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) data[i] = rng.uniform();
  return numbers;
}

torch::Tensor draw_index(const torch::Tensor& weights, const torch::Tensor& u) {
  const auto sums = weights.cumsum(-1);
  const auto target = (u * sums.select(-1, -1)).unsqueeze(-1);
  const auto last = (sums < sums.narrow(-1, sums.size(-1) - 1, 1)).sum(-1);
  return torch::minimum((sums <= target).sum(-1), last);
}

/// Every valid secondary choice of P pairs (batch row, primary action), one below the other.
struct ActionHeadImpl::Rows {
  torch::Tensor pair;             ///< [N], which pair a row belongs to
  torch::Tensor begin;            ///< [P], first row of a pair
  torch::Tensor count;            ///< [P]
  torch::Tensor index;            ///< [N], the secondary choice
  torch::Tensor log_probability;  ///< [N], given the pair
};

ActionHeadImpl::ActionHeadImpl(int64_t features, const EnvSpec& spec,
                               const ActionHeadConfig& config)
    : max_secondary_(spec.max_secondary) {
  const int64_t primary_actions = spec.primary_actions();
  const int64_t width = config.location_width;
  primary_ = register_module("primary", torch::nn::Linear(features, primary_actions));
  rules_ = register_module("rules",
                           torch::nn::Embedding(primary_actions, config.rule_embedding));
  query_features_ = register_module("query_features", torch::nn::Linear(features, width));
  query_rule_ = register_module("query_rule", torch::nn::Linear(config.rule_embedding, width));
  query_out_ = register_module("query_out", torch::nn::Linear(width, width));
  keys_ = register_module(
      "keys", torch::nn::Sequential(torch::nn::Linear(kLocationFeatures, width),
                                    torch::nn::Tanh(), torch::nn::Linear(width, width)));
  torch::NoGradGuard no_grad;
  primary_->weight.mul_(0.1);
  primary_->bias.zero_();
  primary_->bias[primary_actions - 1] = config.no_op_logit;
}

torch::Tensor ActionHeadImpl::primary_log_probability(const torch::Tensor& features,
                                                      const torch::Tensor& counts) {
  const auto logits = primary_->forward(features);
  return torch::log_softmax(
      logits.masked_fill(counts <= 0, -std::numeric_limits<float>::infinity()), -1);
}

torch::Tensor ActionHeadImpl::location_keys(const torch::Tensor& index,
                                            const torch::Tensor& count) {
  const int64_t largest = count.numel() > 0 ? count.max().item<int64_t>() : 0;
  if (largest > kTableLimit) return keys_->forward(describe_location(index, count, max_secondary_));
  // Many rows share few (index, count): score a triangular table once and look up.
  const int64_t entries = largest * (largest + 1) / 2;
  if (index.numel() <= entries) return keys_->forward(describe_location(index, count, max_secondary_));
  const auto first_row = [](const torch::Tensor& n) { return (n * (n - 1)).floor_divide(2); };
  const auto sizes = range_like(largest, index) + 1;
  const auto n = torch::repeat_interleave(sizes, sizes);
  const auto i = range_like(entries, index) - first_row(n);
  return keys_->forward(describe_location(i, n, max_secondary_)).index_select(0, first_row(count) + index);
}

ActionHeadImpl::Rows ActionHeadImpl::score_rows(const torch::Tensor& features,
                                                const torch::Tensor& counts,
                                                const torch::Tensor& batch,
                                                const torch::Tensor& primary) {
  Rows rows;
  const int64_t pairs = batch.size(0);
  rows.count = counts.index({batch, primary});
  rows.begin = rows.count.cumsum(0) - rows.count;
  rows.pair = torch::repeat_interleave(range_like(pairs, batch), rows.count);
  rows.index = range_like(rows.pair.size(0), batch) - rows.begin.index_select(0, rows.pair);
  const auto query = query_out_->forward(
      torch::tanh(query_features_->forward(features).index_select(0, batch) +
                  query_rule_->forward(rules_->forward(primary))));
  const auto keys = location_keys(rows.index, rows.count.index_select(0, rows.pair));
  const auto scores = (query.index_select(0, rows.pair) * keys).sum(-1) /
                      std::sqrt(static_cast<double>(query.size(-1)));
  const auto logits = kLogitBound * torch::tanh(scores);
  const auto total = torch::zeros({pairs}, logits.options()).index_add(0, rows.pair, logits.exp());
  rows.log_probability = logits - total.log().index_select(0, rows.pair);
  return rows;
}

Evaluation ActionHeadImpl::evaluate(const torch::Tensor& features, const torch::Tensor& counts,
                                    const LatentActions& actions) {
  const auto primary = primary_log_probability(features, counts);
  const auto valid = counts > 0;
  const auto pairs = valid.nonzero();
  const auto batch = pairs.select(1, 0), action = pairs.select(1, 1);
  const Rows rows = score_rows(features, counts, batch, action);

  const auto pair_of = torch::full_like(counts, -1).index_put(
      {batch, action}, range_like(batch.size(0), counts));
  const auto chosen = pair_of.gather(1, actions.primary.unsqueeze(1)).squeeze(1);
  const auto row = rows.begin.index_select(0, chosen) + actions.secondary;
  Evaluation result;
  result.log_probability = primary.gather(1, actions.primary.unsqueeze(1)).squeeze(1) +
                           rows.log_probability.index_select(0, row);

  const auto probability = primary.exp();
  const auto surprise = -(rows.log_probability.exp() * rows.log_probability);
  const auto pair_entropy =
      torch::zeros({batch.size(0)}, surprise.options()).index_add(0, rows.pair, surprise);
  const auto secondary_entropy =
      torch::zeros_like(primary).index_put({batch, action}, pair_entropy);
  const auto finite = primary.masked_fill(~valid, 0);
  result.entropy = (probability * (secondary_entropy - finite)).sum(-1);
  return result;
}

Choice ActionHeadImpl::choose(const torch::Tensor& features, const torch::Tensor& counts,
                              bool greedy, Rng& rng) {
  const int64_t size = features.size(0);
  const auto log_primary = primary_log_probability(features, counts);
  const auto draw = [&] { return uniform_numbers(size, rng).to(features.device()); };
  Choice choice;
  choice.actions.primary = greedy ? log_primary.argmax(-1)
                                  : draw_index(log_primary.to(torch::kFloat64).exp(), draw());
  const auto everyone = range_like(size, counts);
  const Rows rows = score_rows(features, counts, everyone, choice.actions.primary);
  const int64_t width = rows.count.max().item<int64_t>();
  const auto table =
      torch::full({size, width}, -std::numeric_limits<float>::infinity(), features.options())
          .index_put({rows.pair, rows.index}, rows.log_probability);
  choice.actions.secondary =
      greedy ? table.argmax(-1) : draw_index(table.to(torch::kFloat64).exp(), draw());
  choice.log_probability =
      log_primary.gather(1, choice.actions.primary.unsqueeze(1)).squeeze(1) +
      table.gather(1, choice.actions.secondary.unsqueeze(1)).squeeze(1);
  return choice;
}

}  // namespace reverie
