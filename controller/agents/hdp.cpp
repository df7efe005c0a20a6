#include "controller/agents/hdp.h"

#include <limits>
#include <tuple>
#include <vector>

#include "controller/agents/categorical.h"
#include "controller/agents/hdp_features.h"
#include "controller/agents/initial_weights.h"
#include "controller/agents/placed_groups.h"
#include "controller/agents/rewards.h"
#include "controller/train/descend.h"

namespace reverie {
namespace {

constexpr int kAllOperators = std::numeric_limits<int>::max();

/// What the placer reads of a grouping: the groups that have operators.
struct Grouping {
  torch::Tensor rows;         ///< [groups in use, columns]
  torch::Tensor of_operator;  ///< int64: number of each operator's row

  Grouping(const PlacedGroups& operators, const torch::Tensor& group, int64_t groups) {
    torch::Tensor used;
    std::tie(used, of_operator) = at::_unique(group, true, true);
    rows = hdp_groups(operators, group, groups).index_select(0, used);
  }
  /// Each operator's device, from those of the rows.
  std::vector<int> spread(const std::vector<int>& devices_of_rows) const {
    std::vector<int> devices;
    for (int64_t i = 0; i < of_operator.size(0); ++i)
      devices.push_back(devices_of_rows[static_cast<size_t>(of_operator.data_ptr<int64_t>()[i])]);
    return devices;
  }
};

}  // namespace

Hdp::Policy::Policy(int devices, const Rng& rng) {
  constexpr int64_t columns = PlacedGroups::kTypes + PlacedGroups::kOutputs + kHdpNeighbours;
  const int64_t groups = groups_for(devices);
  Rng of_grouper = rng.fork(0);
  first = register_parameter("grouper_first", glorot(kGrouperWidth, columns, of_grouper));
  second = register_parameter("grouper_second", glorot(groups, kGrouperWidth, of_grouper));
  const SequencePlacer::Sizes sizes{
      .inputs = PlacedGroups::kTypes + PlacedGroups::kOutputs + 2 * groups,
      .devices = devices,
      .hidden = kHidden,
      .bidirectional = true,
      .temperature = kTemperature,
      .limit = kLimit};
  placer = register_module("placer", std::make_shared<SequencePlacer>(sizes, rng.fork(1)));
}

torch::Tensor Hdp::Policy::group_log_probabilities(const torch::Tensor& operators) const {
  const auto logits = operators.mm(first.t()).mm(second.t());
  return ((logits / kTemperature).tanh() * kLimit).log_softmax(1);
}

Hdp::Hdp(int devices, uint64_t seed)
    : devices_(devices),
      rng_(Rng(seed).fork(1)),
      policy_(std::make_shared<Policy>(devices, Rng(seed).fork(0))),
      adam_(policy_->parameters(), torch::optim::AdamOptions(kRate)) {}

void Hdp::learn(std::span<Evaluator* const> evaluators) {
  std::vector<JudgedGraph> graphs;
  for (Evaluator* evaluator : evaluators) graphs.emplace_back(*evaluator, kAllOperators);
  std::vector<MeanReward> baselines(graphs.size());
  in_rounds(evaluators, devices_, [&](size_t i) {
    const PlacedGroups& operators = graphs[i].groups();
    const auto of_grouping = policy_->group_log_probabilities(hdp_operators(operators));
    const auto group = draw_actions(of_grouping, rng_);
    const Grouping grouping(operators, group, groups_for(devices_));
    auto drawn = policy_->placer->draw(grouping.rows, kSamples, rng_);
    std::vector<std::vector<int>> placements;
    for (const std::vector<int>& devices : drawn) placements.push_back(grouping.spread(devices));
    const std::vector<float> rewards = root_rewards(graphs[i], placements);
    drawn.resize(rewards.size());
    const auto log_probability = policy_->placer->log_probability(grouping.rows, drawn) +
                                 of_grouping.gather(1, group.unsqueeze(1)).sum();
    descend_gradient(adam_, -(baselines[i].advantages(rewards) * log_probability).mean(), kClip);
  });
}

void Hdp::place(Evaluator& evaluator) {
  require_devices(evaluator, devices_);
  const torch::NoGradGuard guard;
  const OneThread one;
  const JudgedGraph graph(evaluator, kAllOperators);
  const auto group = policy_->group_log_probabilities(hdp_operators(graph.groups())).argmax(1);
  const Grouping grouping(graph.groups(), group, groups_for(devices_));
  graph.evaluate(grouping.spread(policy_->placer->likeliest(grouping.rows)));
}

}  // namespace reverie
