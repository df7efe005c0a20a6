#include "controller/policy/action_head.h"

#include <torch/nn/modules/container/functional.h>

#include <cmath>
#include <utility>

#include "controller/policy/segments.h"
#include "worldmodel/network/activations.h"

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
torch::Tensor forward_parts(const torch::nn::LinearImpl& layer,
                            const std::vector<torch::Tensor>& parts) {
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

std::vector<torch::Tensor> ActionInputs::entity_parts(const torch::Tensor& batch,
                                                      const torch::Tensor& entity) const {
  const auto row = batch * entities.size(1) + entity;
  std::vector<torch::Tensor> parts = {entities.flatten(0, 1).index_select(0, row)};
  if (memories.defined()) parts.push_back(memories.flatten(0, 1).index_select(0, row));
  return parts;
}

torch::Tensor rows_of(const ActionScores& list, const LatentActions& actions) {
  const auto& of = list.actions;
  const auto extent = [](const torch::Tensor& x) { return x.max().item<int64_t>() + 1; };
  const int64_t primaries = extent(of.primary), entities = extent(of.entity);
  const int64_t indices = extent(of.index);
  const auto key = [&](const torch::Tensor& state, const LatentActions& a) {
    return ((state * primaries + a.primary) * entities + a.entity) * indices + a.index;
  };
  const auto listed = key(list.state, of);  // ascending
  const auto wanted = key(range_like(actions.primary.size(0), list.state), actions);
  const auto row = torch::searchsorted(listed, wanted).clamp_max(listed.size(0) - 1);
  REVERIE_CHECK(listed.index_select(0, row).equal(wanted), "the mask does not allow an action");
  return row;
}

/// Choices of a primary action at one entity of a state, G such groups.
struct ActionHeadImpl::Groups {
  torch::Tensor batch, primary, entity;  ///< [G]
  torch::Tensor pair;                    ///< [G], number of (state, primary action)
  torch::Tensor count;                   ///< [G], choices
  torch::Tensor score;                   ///< [G]
  torch::Tensor log_probability;         ///< [G], given the pair
};

/// Every choice of G groups, one below the other.
struct ActionHeadImpl::Rows {
  torch::Tensor group;            ///< [N]
  torch::Tensor begin;            ///< [G], first row of a group
  torch::Tensor index;            ///< [N], the choice within its group
  torch::Tensor score;            ///< [N]
  torch::Tensor log_probability;  ///< [N], given the group
};

ActionHeadImpl::ActionHeadImpl(int64_t features, const EnvSpec& spec,
                               const ActionHeadConfig& config, int64_t entity_width)
    : max_choices_(spec.max_choices) {
  const int64_t primary_actions = spec.primary_actions();
  const int64_t width = config.choice_width;
  primary_ = register_module("primary", torch::nn::Linear(features, primary_actions));
  actions_ =
      register_module("actions", torch::nn::Embedding(primary_actions, config.action_embedding));
  query_features_ = register_module("query_features", torch::nn::Linear(features, width));
  query_action_ =
      register_module("query_action", torch::nn::Linear(config.action_embedding, width));
  query_out_ = register_module("query_out", torch::nn::Linear(width, width));
  keys_ = register_module("keys", key_network(kChoiceFeatures, width));
  query_entity_ = register_module("query_entity", torch::nn::Linear(entity_width, width));
  entity_out_ = register_module("entity_out", torch::nn::Linear(width, width));
  entity_keys_ = register_module("entity_keys", key_network(entity_width + 1, width));
  torch::NoGradGuard no_grad;
  primary_->weight.mul_(0.1);
  primary_->bias.zero_();
  primary_->bias[primary_actions - 1] = config.no_op_logit;
}

torch::Tensor ActionHeadImpl::primary_log_probability(const ActionInputs& inputs) {
  const auto logits = primary_->forward(inputs.features);
  return torch::log_softmax(logits.masked_fill(inputs.mask.totals <= 0, kNever), -1);
}

torch::Tensor ActionHeadImpl::choice_keys(const torch::Tensor& index, const torch::Tensor& count) {
  const int64_t largest = count.numel() > 0 ? count.max().item<int64_t>() : 0;
  if (largest > kTableLimit) return keys_->forward(choice_features(index, count, max_choices_));
  // Many rows share few (index, count): score a triangular table once and look up.
  const int64_t entries = largest * (largest + 1) / 2;
  if (index.numel() <= entries) return keys_->forward(choice_features(index, count, max_choices_));
  const auto first_row = [](const torch::Tensor& n) { return (n * (n - 1)).floor_divide(2); };
  const auto sizes = range_like(largest, index) + 1;
  const auto n = torch::repeat_interleave(sizes, sizes);
  const auto i = range_like(entries, index) - first_row(n);
  return keys_->forward(choice_features(i, n, max_choices_))
      .index_select(0, first_row(count) + index);
}

torch::Tensor ActionHeadImpl::action_queries(const ActionInputs& inputs, const torch::Tensor& batch,
                                             const torch::Tensor& primary) {
  return query_features_->forward(inputs.features).index_select(0, batch) +
         query_action_->forward(actions_->forward(primary));
}

torch::Tensor ActionHeadImpl::entity_queries(const ActionInputs& inputs, const torch::Tensor& batch,
                                             const torch::Tensor& primary) {
  return entity_out_->forward(tanh_all(action_queries(inputs, batch, primary)));
}

torch::Tensor ActionHeadImpl::entity_keys(const ActionInputs& inputs, const Groups& groups) {
  auto parts = inputs.entity_parts(groups.batch, groups.entity);
  parts.push_back(torch::log1p(groups.count.to(torch::kFloat)).unsqueeze(-1));
  const auto hidden = forward_parts(*entity_keys_[0]->as<torch::nn::Linear>(), parts);
  return entity_keys_[2]->as<torch::nn::Linear>()->forward(tanh_all(hidden));
}

void ActionHeadImpl::score_groups(const ActionInputs& inputs, const torch::Tensor& query,
                                  int64_t pairs, Groups& groups) {
  groups.score = score(query, entity_keys(inputs, groups));
  groups.log_probability = log_softmax_within(groups.score, groups.pair, pairs);
}

/// Of every primary action in every entity that has choices of it; pairs are numbered state by
/// state.
ActionHeadImpl::Groups ActionHeadImpl::all_groups(const ActionInputs& inputs) {
  const auto places = (inputs.mask.by_entity > 0).nonzero();
  Groups groups;
  groups.batch = places.select(1, 0);
  groups.primary = places.select(1, 1);
  groups.entity = places.select(1, 2);
  groups.count =
      inputs.mask.by_entity.index({groups.batch, groups.primary, groups.entity}).to(kIndex);
  groups.pair = groups.batch * inputs.mask.totals.size(1) + groups.primary;
  score_groups(inputs, entity_queries(inputs, groups.batch, groups.primary),
               inputs.mask.totals.numel(), groups);
  return groups;
}

/// One group a state, of its primary action.
ActionHeadImpl::Groups ActionHeadImpl::draw_groups(const ActionInputs& inputs,
                                                   const torch::Tensor& primary, bool greedy,
                                                   Rng& rng) {
  const auto everyone = range_like(primary.size(0), primary);
  Groups groups{everyone, primary, torch::zeros_like(primary), everyone, {}, {}, {}};
  const auto counts = counts_by_entity(inputs.mask, primary);
  const auto places = (counts > 0).nonzero();
  const auto batch = places.select(1, 0), entity = places.select(1, 1);
  Groups all{
      batch, primary.index_select(0, batch), entity, batch, counts.index({batch, entity}), {}, {}};
  const auto query = entity_queries(inputs, everyone, primary).index_select(0, batch);
  score_groups(inputs, query, everyone.size(0), all);
  const auto table = torch::full(counts.sizes(), kNever, inputs.features.options())
                         .index_put({batch, entity}, all.log_probability);
  groups.entity = pick(table, greedy, rng);
  groups.count = counts.index({everyone, groups.entity});
  groups.log_probability = table.index({everyone, groups.entity});
  return groups;
}

ActionHeadImpl::Rows ActionHeadImpl::score_rows(const ActionInputs& inputs, const Groups& groups) {
  Rows rows;
  const int64_t size = groups.batch.size(0);
  rows.begin = groups.count.cumsum(0) - groups.count;
  rows.group = torch::repeat_interleave(range_like(size, groups.batch), groups.count);
  rows.index =
      range_like(rows.group.size(0), groups.batch) - rows.begin.index_select(0, rows.group);
  auto query = action_queries(inputs, groups.batch, groups.primary);
  query = query + forward_parts(*query_entity_, inputs.entity_parts(groups.batch, groups.entity));
  query = query_out_->forward(tanh_all(query));
  const auto keys = choice_keys(rows.index, groups.count.index_select(0, rows.group));
  rows.score = score(query.index_select(0, rows.group), keys);
  rows.log_probability = log_softmax_within(rows.score, rows.group, size);
  return rows;
}

Evaluation ActionHeadImpl::evaluate(const ActionInputs& inputs, const LatentActions& actions) {
  const auto primary = primary_log_probability(inputs);
  const auto& counts = inputs.mask.totals;
  const Groups groups = all_groups(inputs);
  const Rows rows = score_rows(inputs, groups);

  const auto everyone = range_like(counts.size(0), counts);
  const int64_t entities = inputs.mask.entities();
  const auto number_of = torch::full({counts.numel() * entities}, -1, counts.options())
                             .index_put({groups.pair * entities + groups.entity},
                                        range_like(groups.batch.size(0), counts));
  const auto pair = everyone * counts.size(1) + actions.primary;
  const auto group = number_of.index_select(0, pair * entities + actions.entity);
  const auto row = rows.begin.index_select(0, group) + actions.index;
  Evaluation result;
  result.log_probability = entry_of(primary, actions.primary) +
                           groups.log_probability.index_select(0, group) +
                           rows.log_probability.index_select(0, row);

  const auto of_rows = entropy_within(rows.log_probability, {}, rows.group, groups.batch.size(0));
  const auto of_pairs =
      entropy_within(groups.log_probability, of_rows, groups.pair, counts.numel());
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
  choice.actions.entity = groups.entity;
  choice.actions.index = index;
  choice.log_probability = entry_of(log_primary, choice.actions.primary) + groups.log_probability +
                           entry_of(table, index);
  return choice;
}

ActionPriors ActionHeadImpl::priors(const ActionInputs& inputs) {
  const auto primary = primary_log_probability(inputs);
  const Groups groups = all_groups(inputs);
  const Rows rows = score_rows(inputs, groups);
  const auto pair = groups.pair.index_select(0, rows.group);
  ActionPriors all;
  all.state = groups.batch.index_select(0, rows.group);
  all.actions = {groups.primary.index_select(0, rows.group),
                 groups.entity.index_select(0, rows.group), rows.index};
  all.log_probability = primary.flatten().index_select(0, pair) +
                        groups.log_probability.index_select(0, rows.group) + rows.log_probability;
  return all;
}

ActionScores ActionHeadImpl::scores(const ActionInputs& inputs) {
  const Groups groups = all_groups(inputs);
  const Rows rows = score_rows(inputs, groups);
  const auto of = [&](const torch::Tensor& x) { return x.index_select(0, rows.group); };
  const auto logits = primary_->forward(inputs.features).flatten();
  return {of(groups.batch),
          {of(groups.primary), of(groups.entity), rows.index},
          logits.index_select(0, of(groups.pair)) + of(groups.score) + rows.score};
}

}  // namespace reverie
