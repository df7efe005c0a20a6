#include "controller/action_head.h"

#include <torch/nn/modules/container/functional.h>

#include <cmath>
#include <utility>

#include "controller/segments.h"
#include "worldmodel/activations.h"

namespace reverie {
namespace {

constexpr int64_t kTableLimit = 256;
constexpr double kLogitBound = 10;
const auto kIndex = torch::kInt64;

/// Bounded product of queries and keys, [N, width] each.
torch::Tensor score(const torch::Tensor& query, const torch::Tensor& key) {
  const auto product = (query * key).sum(-1) / std::sqrt(static_cast<double>(query.size(-1)));
  return kLogitBound * tanh_all(product);
}

torch::nn::Sequential key_network(int64_t inputs, int64_t width) {
  return torch::nn::Sequential(torch::nn::Linear(inputs, width), torch::nn::Functional(tanh_all),
                               torch::nn::Linear(width, width));
}

/// The layer's output for inputs that lie in parts, without joining them.
torch::Tensor forward_parts(const torch::nn::LinearImpl& layer, const std::vector<torch::Tensor>& parts) {
  auto sum = layer.bias;
  int64_t at = 0;
  for (const torch::Tensor& part : parts) {
    sum = torch::addmm(sum, part, layer.weight.narrow(1, at, part.size(1)).t());
    at += part.size(1);
  }
  return sum;
}

/// Of row n of a table [N, *], the entry `column` [N].
torch::Tensor entry_of(const torch::Tensor& table, const torch::Tensor& column) {
  return table.gather(1, column.unsqueeze(1)).squeeze(1);
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

torch::Tensor pick(const torch::Tensor& log_probability, bool greedy, Rng& rng) {
  if (greedy) return log_probability.argmax(-1);
  return draw_index(log_probability.to(torch::kFloat64).exp(),
                    uniform_numbers(log_probability.size(0), rng).to(log_probability.device()));
}

std::vector<torch::Tensor> ActionInputs::region_parts(const torch::Tensor& batch,
                                                      const torch::Tensor& region) const {
  const auto row = batch * regions.size(1) + region;
  std::vector<torch::Tensor> parts = {regions.flatten(0, 1).index_select(0, row)};
  if (memories.defined()) parts.push_back(memories.flatten(0, 1).index_select(0, row));
  return parts;
}

/// Choices of a primary action in one region of a state, G such groups; one a pair (state, primary
/// action) where S = 1.
struct ActionHeadImpl::Groups {
  torch::Tensor batch, primary, region;  ///< [G]
  torch::Tensor pair;                    ///< [G], number of (state, primary action)
  torch::Tensor count;                   ///< [G], choices
  torch::Tensor log_probability;         ///< [G], given the pair
};

/// Every choice of G groups, one below the other.
struct ActionHeadImpl::Rows {
  torch::Tensor group;            ///< [N]
  torch::Tensor begin;            ///< [G], first row of a group
  torch::Tensor index;            ///< [N], the choice within its group
  torch::Tensor log_probability;  ///< [N], given the group
};

ActionHeadImpl::ActionHeadImpl(int64_t features, const EnvSpec& spec,
                               const ActionHeadConfig& config, int64_t region_width)
    : max_secondary_(spec.max_secondary) {
  const int64_t primary_actions = spec.primary_actions();
  const int64_t width = config.location_width;
  primary_ = register_module("primary", torch::nn::Linear(features, primary_actions));
  rules_ = register_module("rules",
                           torch::nn::Embedding(primary_actions, config.rule_embedding));
  query_features_ = register_module("query_features", torch::nn::Linear(features, width));
  query_rule_ = register_module("query_rule", torch::nn::Linear(config.rule_embedding, width));
  query_out_ = register_module("query_out", torch::nn::Linear(width, width));
  keys_ = register_module("keys", key_network(kLocationFeatures, width));
  if (region_width > 0) {
    query_region_ = register_module("query_region", torch::nn::Linear(region_width, width));
    region_out_ = register_module("region_out", torch::nn::Linear(width, width));
    region_keys_ = register_module("region_keys", key_network(region_width + 1, width));
  }
  torch::NoGradGuard no_grad;
  primary_->weight.mul_(0.1);
  primary_->bias.zero_();
  primary_->bias[primary_actions - 1] = config.no_op_logit;
}

torch::Tensor ActionHeadImpl::primary_log_probability(const ActionInputs& inputs) {
  const auto logits = primary_->forward(inputs.features);
  return torch::log_softmax(logits.masked_fill(inputs.mask.counts <= 0, kNever), -1);
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

torch::Tensor ActionHeadImpl::rule_queries(const ActionInputs& inputs, const torch::Tensor& batch,
                                           const torch::Tensor& primary) {
  return query_features_->forward(inputs.features).index_select(0, batch) +
         query_rule_->forward(rules_->forward(primary));
}

torch::Tensor ActionHeadImpl::region_queries(const ActionInputs& inputs, const torch::Tensor& batch,
                                             const torch::Tensor& primary) {
  return region_out_->forward(tanh_all(rule_queries(inputs, batch, primary)));
}

torch::Tensor ActionHeadImpl::region_keys(const ActionInputs& inputs, const Groups& groups) {
  auto parts = inputs.region_parts(groups.batch, groups.region);
  parts.push_back(torch::log1p(groups.count.to(torch::kFloat)).unsqueeze(-1));
  const auto hidden = forward_parts(*region_keys_[0]->as<torch::nn::Linear>(), parts);
  return region_keys_[2]->as<torch::nn::Linear>()->forward(tanh_all(hidden));
}

void ActionHeadImpl::score_groups(const ActionInputs& inputs, const torch::Tensor& query,
                                  int64_t pairs, Groups& groups) {
  if (!inputs.regions.defined()) {
    groups.log_probability = torch::zeros(groups.batch.sizes(), inputs.features.options());
    return;
  }
  groups.log_probability =
      log_softmax_within(score(query, region_keys(inputs, groups)), groups.pair, pairs);
}

/// Of every primary action in every region that has choices of it; pairs are numbered state by state.
ActionHeadImpl::Groups ActionHeadImpl::all_groups(const ActionInputs& inputs) {
  const auto& counts = inputs.mask.counts;
  Groups groups;
  torch::Tensor query;
  if (inputs.regions.defined()) {
    const auto places = (inputs.mask.regions > 0).nonzero();
    groups.batch = places.select(1, 0);
    groups.primary = places.select(1, 1);
    groups.region = places.select(1, 2);
    groups.count =
        inputs.mask.regions.index({groups.batch, groups.primary, groups.region}).to(kIndex);
    query = region_queries(inputs, groups.batch, groups.primary);
  } else {
    const auto places = (counts > 0).nonzero();
    groups.batch = places.select(1, 0);
    groups.primary = places.select(1, 1);
    groups.region = torch::zeros_like(groups.batch);
    groups.count = counts.index({groups.batch, groups.primary});
  }
  groups.pair = groups.batch * counts.size(1) + groups.primary;
  score_groups(inputs, query, counts.numel(), groups);
  return groups;
}

/// One group a state, of its primary action.
ActionHeadImpl::Groups ActionHeadImpl::draw_groups(const ActionInputs& inputs,
                                                   const torch::Tensor& primary, bool greedy,
                                                   Rng& rng) {
  const auto everyone = range_like(primary.size(0), primary);
  Groups groups{everyone, primary, torch::zeros_like(primary), everyone, {}, {}};
  if (!inputs.regions.defined()) {
    groups.count = inputs.mask.counts.index({everyone, primary});
    score_groups(inputs, {}, everyone.size(0), groups);
    return groups;
  }
  const auto counts = counts_by_region(inputs.mask, primary);
  const auto places = (counts > 0).nonzero();
  const auto batch = places.select(1, 0), region = places.select(1, 1);
  Groups all{batch, primary.index_select(0, batch), region, batch, counts.index({batch, region}), {}};
  const auto query = region_queries(inputs, everyone, primary).index_select(0, batch);
  score_groups(inputs, query, everyone.size(0), all);
  const auto table = torch::full(counts.sizes(), kNever, inputs.features.options())
                         .index_put({batch, region}, all.log_probability);
  groups.region = pick(table, greedy, rng);
  groups.count = counts.index({everyone, groups.region});
  groups.log_probability = table.index({everyone, groups.region});
  return groups;
}

ActionHeadImpl::Rows ActionHeadImpl::score_rows(const ActionInputs& inputs, const Groups& groups) {
  Rows rows;
  const int64_t size = groups.batch.size(0);
  rows.begin = groups.count.cumsum(0) - groups.count;
  rows.group = torch::repeat_interleave(range_like(size, groups.batch), groups.count);
  rows.index =
      range_like(rows.group.size(0), groups.batch) - rows.begin.index_select(0, rows.group);
  auto query = rule_queries(inputs, groups.batch, groups.primary);
  if (inputs.regions.defined())
    query = query + forward_parts(*query_region_, inputs.region_parts(groups.batch, groups.region));
  query = query_out_->forward(tanh_all(query));
  const auto keys = location_keys(rows.index, groups.count.index_select(0, rows.group));
  rows.log_probability =
      log_softmax_within(score(query.index_select(0, rows.group), keys), rows.group, size);
  return rows;
}

Evaluation ActionHeadImpl::evaluate(const ActionInputs& inputs, const LatentActions& actions) {
  const auto primary = primary_log_probability(inputs);
  const auto& counts = inputs.mask.counts;
  const Groups groups = all_groups(inputs);
  const Rows rows = score_rows(inputs, groups);

  const auto everyone = range_like(counts.size(0), counts);
  const RegionActions at = locate(actions, inputs.mask);
  const int64_t regions = inputs.regions.defined() ? inputs.regions.size(1) : 1;
  const auto number_of = torch::full({counts.numel() * regions}, -1, counts.options())
                             .index_put({groups.pair * regions + groups.region},
                                        range_like(groups.batch.size(0), counts));
  const auto pair = everyone * counts.size(1) + actions.primary;
  const auto group = number_of.index_select(0, pair * regions + at.region);
  const auto row = rows.begin.index_select(0, group) + at.index;
  Evaluation result;
  result.log_probability = entry_of(primary, actions.primary) +
                           groups.log_probability.index_select(0, group) +
                           rows.log_probability.index_select(0, row);

  const auto of_rows = entropy_within(rows.log_probability, {}, rows.group, groups.batch.size(0));
  const auto of_pairs = entropy_within(groups.log_probability, of_rows, groups.pair, counts.numel());
  const auto finite = primary.masked_fill(counts <= 0, 0);
  result.entropy = (primary.exp() * (of_pairs.view_as(primary) - finite)).sum(-1);
  return result;
}

Choice ActionHeadImpl::choose(const ActionInputs& inputs, bool greedy, Rng& rng) {
  const auto log_primary = primary_log_probability(inputs);
  Choice choice;
  choice.actions.primary = pick(log_primary, greedy, rng);
  const Groups groups = draw_groups(inputs, choice.actions.primary, greedy, rng);
  const Rows rows = score_rows(inputs, groups);
  const int64_t width = groups.count.max().item<int64_t>();
  const auto table = torch::full({groups.batch.size(0), width}, kNever, inputs.features.options())
                         .index_put({rows.group, rows.index}, rows.log_probability);
  const auto index = pick(table, greedy, rng);
  choice.actions.secondary =
      first_in_region(inputs.mask, choice.actions.primary, groups.region) + index;
  choice.log_probability = entry_of(log_primary, choice.actions.primary) +
                           groups.log_probability + entry_of(table, index);
  return choice;
}

ActionPriors ActionHeadImpl::priors(const ActionInputs& inputs) {
  const auto primary = primary_log_probability(inputs);
  const Groups groups = all_groups(inputs);
  const Rows rows = score_rows(inputs, groups);
  const auto pair = groups.pair.index_select(0, rows.group);
  const auto choices = inputs.mask.counts.flatten().clamp_min(0);
  const auto first_row = choices.cumsum(0) - choices;  // rows stand in the order of the choices
  ActionPriors all;
  all.state = groups.batch.index_select(0, rows.group);
  all.actions.primary = groups.primary.index_select(0, rows.group);
  all.actions.secondary = range_like(pair.size(0), pair) - first_row.index_select(0, pair);
  all.log_probability = primary.flatten().index_select(0, pair) +
                        groups.log_probability.index_select(0, rows.group) + rows.log_probability;
  return all;
}

}  // namespace reverie
