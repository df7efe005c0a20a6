#include "controller/agents/colocrl.h"

#include "controller/agents/initial_weights.h"
#include "controller/agents/rewards.h"
#include "controller/train/descend.h"

namespace reverie {
namespace {

constexpr int64_t kTypeWidth = 16;

/// [groups, 256]: 1 where one of both reads the other.
torch::Tensor neighbours_of(const PlacedGroups& groups) {
  auto adjacency = torch::zeros({groups.size(), ColocRl::kMostGroups});
  float* const at = adjacency.data_ptr<float>();
  for (int from = 0; from < groups.size(); ++from)
    for (const int to : groups.readers()[static_cast<size_t>(from)])
      at[from * ColocRl::kMostGroups + to] = at[to * ColocRl::kMostGroups + from] = 1;
  return adjacency;
}

}  // namespace

ColocRl::Policy::Policy(int devices, const Rng& rng) {
  Rng of_types = rng.fork(0);
  type_embedding =
      register_parameter("type_embedding", glorot(PlacedGroups::kTypes, kTypeWidth, of_types));
  placer = register_module(
      "placer", std::make_shared<SequencePlacer>(
                    SequencePlacer::Sizes{kTypeWidth + PlacedGroups::kOutputs + kMostGroups,
                                          devices, ColocRl::kHidden},
                    rng.fork(1)));
}

torch::Tensor ColocRl::Policy::features(const PlacedGroups& groups) const {
  const auto shares = groups.types() / groups.types().sum(1, true);
  return torch::cat({shares.mm(type_embedding), groups.outputs(), neighbours_of(groups)}, 1);
}

ColocRl::ColocRl(int devices, uint64_t seed)
    : devices_(devices),
      rng_(Rng(seed).fork(1)),
      policy_(std::make_shared<Policy>(devices, Rng(seed).fork(0))),
      adam_(policy_->parameters(), torch::optim::AdamOptions(kRate)) {}

void ColocRl::learn(std::span<Evaluator* const> evaluators) {
  std::vector<JudgedGraph> graphs;
  for (Evaluator* evaluator : evaluators) graphs.emplace_back(*evaluator, kMostGroups);
  std::vector<MeanReward> baselines(graphs.size());
  in_rounds(evaluators, devices_, [&](size_t i) {
    const auto features = policy_->features(graphs[i].groups());
    auto drawn = policy_->placer->draw(features, kSamples, rng_);
    const std::vector<float> rewards = root_rewards(graphs[i], drawn);
    drawn.resize(rewards.size());
    const auto log_probability = policy_->placer->log_probability(features, drawn);
    descend_gradient(adam_, -(baselines[i].advantages(rewards) * log_probability).mean(), kClip);
  });
}

void ColocRl::place(Evaluator& evaluator) {
  require_devices(evaluator, devices_);
  const OneThread guard;
  const JudgedGraph graph(evaluator, kMostGroups);
  graph.evaluate(policy_->placer->likeliest(policy_->features(graph.groups())));
}

}  // namespace reverie
