#include "controller/agents/placeto.h"

#include <algorithm>
#include <deque>

#include "controller/agents/categorical.h"
#include "controller/train/descend.h"
#include "controller/train/rollout.h"

namespace reverie {
namespace {

constexpr int64_t kRowsAtATime = 8192;  // groups x states that the network reads at a time

}  // namespace

struct Placeto::Learned {
  PlacetoGraph graph;
  double start = 0;                        ///< judgement of where episodes begin; 0: not known
  std::deque<torch::Tensor> returns = {};  ///< of the last episodes: [steps]
};

struct Placeto::Steps {
  std::vector<torch::Tensor> features;  ///< [groups, episodes, columns]
  std::vector<torch::Tensor> devices;   ///< int64 [episodes]
  std::vector<torch::Tensor> rewards;   ///< [episodes]
};

Placeto::Placeto(int devices, uint64_t seed)
    : devices_(devices),
      rng_(Rng(seed).fork(1)),
      network_(std::make_shared<PlacetoNetwork>(PlacetoGraph::columns(devices), devices,
                                                Rng(seed).fork(0))),
      adam_(network_->parameters(), torch::optim::AdamOptions(kFirstRate)) {}

torch::Tensor Placeto::logits(const PlacetoGraph& graph, const torch::Tensor& features,
                              int step) const {
  return network_->logits(graph.relations(), features,
                          torch::full({features.size(1)}, step, torch::kInt64));
}

std::optional<Placeto::Steps> Placeto::play(Learned& learned) {
  const torch::NoGradGuard guard;
  const JudgedGraph& judged = learned.graph.judged();
  const auto judge = [&](const PlacetoState& state) {
    return learned.graph.judgement(judged.evaluate(state.devices));
  };
  if (learned.start == 0) learned.start = judge(learned.graph.start());
  std::vector<PlacetoState> states(kEpisodes, learned.graph.start());
  std::vector<double> before(states.size(), learned.start);
  Steps steps;
  for (int step = 0; step < learned.graph.size(); ++step) {
    std::vector<torch::Tensor> features;
    for (PlacetoState& state : states) {
      state.current = step;
      features.push_back(learned.graph.features(state));
    }
    steps.features.push_back(torch::stack(features, 1));
    steps.devices.push_back(draw_actions(logits(learned.graph, steps.features.back(), step), rng_));
    std::vector<float> rewards;
    for (size_t i = 0; i < states.size(); ++i) {
      if (judged.evaluator().spent()) return std::nullopt;
      states[i].devices[static_cast<size_t>(step)] =
          static_cast<int>(steps.devices.back().data_ptr<int64_t>()[i]);
      const double after = judge(states[i]);
      rewards.push_back(static_cast<float>(before[i] - after));
      before[i] = after;
    }
    steps.rewards.push_back(torch::tensor(rewards));
  }
  return steps;
}

void Placeto::update(Learned& learned, const Steps& steps) {
  const auto returns = rewards_to_go(torch::stack(steps.rewards), 1);
  for (const torch::Tensor& of_episode : returns.unbind(1)) learned.returns.push_back(of_episode);
  while (learned.returns.size() > kRemembered) learned.returns.pop_front();
  const std::vector<torch::Tensor> last(learned.returns.begin(), learned.returns.end());
  const auto advantages = returns - torch::stack(last).mean(0).unsqueeze(1);

  const double used = learned.graph.judged().evaluator().used();
  static_cast<torch::optim::AdamOptions&>(adam_.param_groups().front().options())
      .lr(kFirstRate + (kLastRate - kFirstRate) * used);
  adam_.zero_grad();
  const int64_t count = returns.size(0);
  const int64_t block = std::max(int64_t{1}, kRowsAtATime / (count * kEpisodes));
  for (int64_t first = 0; first < count; first += block)
    loss(learned.graph, steps, advantages, kEntropy * (1 - used), first,
         std::min(count, first + block))
        .backward();
  clipped_step(adam_, kClip);
}

torch::Tensor Placeto::loss(const PlacetoGraph& graph, const Steps& steps,
                            const torch::Tensor& advantages, double entropy_weight, int64_t first,
                            int64_t last) const {
  const auto part = [&](const std::vector<torch::Tensor>& of_steps, int64_t dimension) {
    return torch::cat(std::vector(of_steps.begin() + first, of_steps.begin() + last), dimension);
  };
  const auto current = torch::arange(first, last).repeat_interleave(kEpisodes);
  const auto each =
      network_->logits(graph.relations(), part(steps.features, 1), current).log_softmax(1);
  const auto taken = each.gather(1, part(steps.devices, 0).unsqueeze(1)).squeeze(1);
  const auto entropy = -(each.exp() * each).sum(1);
  const auto gain = taken * advantages.slice(0, first, last).reshape(-1) + entropy_weight * entropy;
  return -gain.sum() / static_cast<double>(advantages.numel());
}

void Placeto::learn(std::span<Evaluator* const> evaluators) {
  std::vector<Learned> graphs;
  for (Evaluator* evaluator : evaluators) graphs.push_back({PlacetoGraph(*evaluator, kMostGroups)});
  in_rounds(evaluators, devices_, [&](size_t i) {
    if (const std::optional<Steps> steps = play(graphs[i])) update(graphs[i], *steps);
  });
}

void Placeto::place(Evaluator& evaluator) {
  require_devices(evaluator, devices_);
  const torch::NoGradGuard guard;
  const OneThread one;
  const PlacetoGraph graph(evaluator, kMostGroups);
  PlacetoState state = graph.start();
  for (; state.current < graph.size(); ++state.current)
    state.devices[static_cast<size_t>(state.current)] = static_cast<int>(
        logits(graph, graph.features(state).unsqueeze(1), state.current).argmax(1).item<int64_t>());
  graph.judged().evaluate(state.devices);
}

}  // namespace reverie
