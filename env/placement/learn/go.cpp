#include "env/placement/learn/go.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "env/placement/learn/draws.h"
#include "env/placement/learn/placed_groups.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

constexpr double kNoFit = -10;  // reward
constexpr double kGradientNorm = 1;

std::vector<GoTask> tasks_of(const GoOptions& options) {
  std::vector<GoTask> tasks = {GoTask::kPlacement};
  if (options.scheduling) tasks.push_back(GoTask::kScheduling);
  return tasks;
}

/// Of the best device alone, of those that fit where there are any.
double cost_of_one_device(Evaluator& evaluator) {
  std::vector<std::pair<bool, double>> costs;
  for (int device = 0; device < evaluator.topology().size(); ++device) {
    Simulator& simulator = evaluator.simulator();
    const Outcome outcome = simulator.run(on_one_device(simulator, device));
    const bool time = evaluator.objective() == PlacementObjective::kMakespan;
    const int64_t cost = time ? outcome.makespan.count : outcome.peak_bytes;
    costs.emplace_back(!outcome.feasible(), static_cast<double>(cost));
  }
  return std::max(std::ranges::min(costs).second, 1.0);
}

torch::Tensor log_probabilities(const torch::Tensor& logits, const torch::Tensor& actions) {
  return logits.log_softmax(-1)
      .expand({actions.size(0), -1, -1})
      .gather(-1, actions.unsqueeze(-1))
      .squeeze(-1);
}

}  // namespace

/// A graph to learn from.
struct Go::Graph {
  explicit Graph(Evaluator& one)
      : evaluator(&one),
        features(one.simulator()),
        entities(one.graph()),
        ranks(path_ranks(one.simulator())),
        unit(cost_of_one_device(one)) {}

  /// Of one sample of all tasks.
  Placement placement(const std::vector<torch::Tensor>& decided, int64_t sample) const {
    const auto numbers = [&](size_t task) { return decided[task][sample].data_ptr<int64_t>(); };
    const int64_t* device = numbers(0);
    Placement placement{entities.spread({device, device + entities.size()}), ranks};
    if (decided.size() < 2) return placement;
    const int64_t* level = numbers(1);
    for (const int node : evaluator->graph().order())
      placement.priority[static_cast<size_t>(node)] += *level++ * std::ssize(ranks);
    return placement;
  }

  double reward(const Placement& placement) const {
    const Outcome& outcome = evaluator->evaluate(placement);
    return outcome.feasible() ? -std::sqrt(evaluator->cost(outcome) / unit) : kNoFit;
  }

  Evaluator* evaluator;
  NodeFeatures features;
  PlacementEntities entities;
  std::vector<int64_t> ranks;
  double unit;  ///< of costs
};

struct Go::Samples {
  std::vector<torch::Tensor> decided;  ///< by task: int64 [samples, entities or nodes]
  std::vector<torch::Tensor> log_probabilities;
  torch::Tensor advantages;  ///< [samples, 1]; undefined where they are all equal
};

Go::Go(int devices, uint64_t seed, const GoOptions& options, const GoSizes& sizes)
    : devices_(devices),
      options_(options),
      rng_(Rng(seed).fork(1)),
      network_(devices, tasks_of(options), sizes) {
  Rng weights = Rng(seed).fork(0);
  draw_weights(*network_, weights);
  network_->begin_evenly();
  adam_ = std::make_unique<torch::optim::Adam>(network_->parameters(),
                                               torch::optim::AdamOptions(options.rate));
}

Go::Samples Go::draw(const Graph& graph) {
  const torch::NoGradGuard guard;
  Samples samples;
  const GoNetworkImpl::Encoded encoded = network_->encode(graph.features);
  for (size_t task = 0; task < network_->tasks().size(); ++task) {
    const auto logits = network_->logits(graph.features, encoded, samples.decided);
    samples.decided.push_back(draw_actions(logits.expand({options_.samples, -1, -1}), rng_));
    samples.log_probabilities.push_back(log_probabilities(logits, samples.decided.back()));
  }
  std::vector<float> rewards;
  for (int i = 0; i < options_.samples && !graph.evaluator->spent(); ++i)
    rewards.push_back(static_cast<float>(graph.reward(graph.placement(samples.decided, i))));
  const auto drawn = torch::tensor(rewards).unsqueeze(1);
  if (rewards.size() < 2 || drawn.std().item<float>() == 0) return samples;
  samples.advantages = (drawn - drawn.mean()) / drawn.std();
  for (auto* const tensors : {&samples.decided, &samples.log_probabilities})
    for (torch::Tensor& tensor : *tensors) tensor = tensor.slice(0, 0, std::ssize(rewards));
  return samples;
}

torch::Tensor Go::loss(const Graph& graph, const Samples& samples, double entropy) {
  const GoNetworkImpl::Encoded encoded = network_->encode(graph.features);
  torch::Tensor sum = torch::zeros({});
  std::vector<torch::Tensor> decided;
  for (size_t task = 0; task < samples.decided.size(); ++task) {
    const auto logits = network_->logits(graph.features, encoded, decided);
    decided.push_back(samples.decided[task]);
    const auto ratio =
        (log_probabilities(logits, decided.back()) - samples.log_probabilities[task]).exp();
    const auto clipped = ratio.clamp(1 - options_.clip, 1 + options_.clip);
    const auto gain = torch::min(ratio * samples.advantages, clipped * samples.advantages);
    const auto log_p = logits.log_softmax(-1);
    sum = sum - gain.mean() + entropy * (log_p.exp() * log_p).sum(-1).mean();
  }
  return sum;
}

void Go::update(std::span<Graph> graphs) {
  std::vector<std::pair<const Graph*, Samples>> drawn;
  for (const Graph& graph : graphs) {
    if (graph.evaluator->spent()) continue;
    drawn.emplace_back(&graph, draw(graph));
    if (!drawn.back().second.advantages.defined()) drawn.pop_back();
  }
  for (int pass = 0; pass < options_.passes && !drawn.empty(); ++pass) {
    adam_->zero_grad();
    for (const auto& [graph, samples] : drawn) {
      const double entropy = options_.entropy * (1 - graph->evaluator->used());
      (loss(*graph, samples, entropy) / static_cast<double>(drawn.size())).backward();
    }
    torch::nn::utils::clip_grad_norm_(network_->parameters(), kGradientNorm);
    adam_->step();
  }
}

void Go::learn(std::span<Evaluator* const> evaluators) {
  const auto batch = static_cast<size_t>(options_.batch);
  in_batches<Graph>(evaluators, devices_, batch, [&](auto graphs) { update(graphs); });
}

void Go::place(Evaluator& evaluator) {
  const OneThread one_thread;
  const torch::NoGradGuard guard;
  require_devices(evaluator, devices_);
  const Graph graph(evaluator);
  const GoNetworkImpl::Encoded encoded = network_->encode(graph.features);
  std::vector<torch::Tensor> decided;
  for (size_t task = 0; task < network_->tasks().size(); ++task)
    decided.push_back(network_->logits(graph.features, encoded, decided).argmax(-1));
  evaluator.evaluate(graph.placement(decided, 0));
}

}  // namespace reverie
