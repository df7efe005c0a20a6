#include "controller/agents/go.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "controller/agents/categorical.h"
#include "controller/agents/initial_weights.h"
#include "controller/agents/placed_groups.h"
#include "controller/agents/rewards.h"
#include "controller/train/descend.h"
#include "controller/train/ppo.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/placing_steps.h"
#include "env/placement/simulator/fusion.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

constexpr double kNoFit = -10;  // reward
constexpr double kGradientNorm = 1;

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

}  // namespace

/// A graph to learn from.
struct Go::Graph {
  explicit Graph(Evaluator& one)
      : evaluator(&one),
        features(one.simulator()),
        order(one.simulator(), path_ranks(one.simulator())),
        ranks(path_ranks(one.simulator())),
        unit(cost_of_one_device(one)) {}

  /// Of one sample of the tasks that were decided.
  Placement placement(std::span<const GoTask> tasks, const std::vector<torch::Tensor>& decided,
                      int64_t sample) const {
    Placement placement{{}, ranks};
    for (size_t task = 0; task < decided.size(); ++task) {
      const int64_t* action = decided[task][sample].data_ptr<int64_t>();
      if (tasks[task] == GoTask::kPlacement)
        placement.device = order.entities().spread({action, action + order.entities().size()});
      else if (tasks[task] == GoTask::kScheduling)
        placement.priority = by_levels<int64_t>(action);
      else
        placement.kernel = kernels(placement, action);
    }
    return placement;
  }

  /// By node: levels, and within one the longest path first.
  template <class Number>
  std::vector<Number> by_levels(const int64_t* level) const {
    std::vector<Number> priority(ranks.begin(), ranks.end());
    for (const int node : evaluator->graph().order())
      priority[static_cast<size_t>(node)] += static_cast<Number>(*level++ * std::ssize(ranks));
    return priority;
  }

  std::vector<int> kernels(const Placement& placement, const int64_t* level) const {
    auto priority = by_levels<double>(level);
    for (double& one : priority) one -= static_cast<double>(ranks.size());  // the lowest: below 0
    return greedy_fusion(evaluator->simulator(), placement, priority);
  }

  /// What does not say otherwise runs as it is.
  void leave_unfused(Placement& placement) const {
    if (!placement.kernel.empty() || evaluator->fusion().empty()) return;
    placement.kernel.resize(ranks.size());
    std::iota(placement.kernel.begin(), placement.kernel.end(), 0);
  }

  /// Holds the decision of the last task if it is its best.
  void hold(const std::vector<torch::Tensor>& decided, int64_t sample, double reward) {
    const bool is_first = held.size() < decided.size();
    if (!is_first && reward <= held_reward) return;
    held.resize(decided.size());
    held.back() = decided.back().slice(0, sample, sample + 1).clone();
    held_reward = reward;
  }

  double reward(const Placement& placement) const {
    const Outcome& outcome = evaluator->evaluate(placement);
    return outcome.feasible() ? -std::sqrt(evaluator->cost(outcome) / unit) : kNoFit;
  }

  Evaluator* evaluator;
  NodeFeatures features;
  PlacingOrder order;
  std::vector<int64_t> ranks;
  double unit;                      ///< of costs
  std::vector<torch::Tensor> held;  ///< where tasks are learned apart: by task, its best decision
  double held_reward = 0;           ///< of the last of them
};

struct Go::Samples {
  torch::Tensor columns;  ///< [samples, entities, devices, kColumns] if they were placed
  std::vector<torch::Tensor> decided;            ///< by task: int64 [samples, entities or nodes]
  std::vector<torch::Tensor> log_probabilities;  ///< undefined where the decision was held
  torch::Tensor advantages;                      ///< [samples]; undefined where they are all equal
};

Go::Go(int devices, uint64_t seed, const GoOptions& options, const GoSizes& sizes)
    : devices_(devices),
      options_(options),
      rng_(Rng(seed).fork(1)),
      network_(devices, options.tasks, sizes) {
  Rng weights = Rng(seed).fork(0);
  draw_weights(*network_, weights);
  network_->begin_evenly();
  adam_ = std::make_unique<torch::optim::Adam>(network_->parameters(),
                                               torch::optim::AdamOptions(options.rate));
}

size_t Go::tasks_for(const Graph& graph) const {
  const auto& tasks = network_->tasks();
  const bool fuses = !graph.evaluator->fusion().empty();
  return tasks.size() - (!fuses && tasks.back() == GoTask::kFusion ? 1 : 0);
}

torch::Tensor Go::place_entities(const Graph& graph, const GoNetworkImpl::Encoded& encoded,
                                 int64_t count, const Choice& choose, Samples& samples) {
  const GoNetworkImpl::Entities all = network_->entities(graph.features, encoded);
  const int64_t entities = graph.order.entities().size();
  samples.columns = torch::empty({count, entities, devices_, PlacingSteps::kColumns});
  samples.decided.push_back(torch::empty({count, entities}, torch::kLong));
  std::vector<PlacingSteps> steps(static_cast<size_t>(count), PlacingSteps(graph.order));
  while (steps[0].next() >= 0) {
    const int64_t entity = steps[0].next();
    const torch::Tensor columns = torch::empty({count, devices_, PlacingSteps::kColumns});
    float* row = columns.data_ptr<float>();
    for (const PlacingSteps& one : steps) one.describe(std::exchange(row, row + columns.stride(0)));
    const torch::Tensor chosen = choose(
        network_->devices(all.logits.select(1, entity), all.states.select(1, entity), columns));
    const int64_t* device = chosen.data_ptr<int64_t>();
    for (PlacingSteps& one : steps) one.place(static_cast<int>(*device++));
    samples.columns.select(1, entity).copy_(columns);
    samples.decided.back().select(1, entity).copy_(chosen);
  }
  return network_->devices(all.logits, all.states, samples.columns);
}

torch::Tensor Go::decide_next(const Graph& graph, const GoNetworkImpl::Encoded& encoded,
                              int64_t count, const Choice& choose, Samples& samples) {
  if (samples.decided.empty()) return place_entities(graph, encoded, count, choose, samples);
  const auto logits = network_->levels(graph.features, encoded, samples.decided);
  samples.decided.push_back(choose(logits));
  return logits;
}

torch::Tensor Go::logits(const Graph& graph, const GoNetworkImpl::Encoded& encoded,
                         const Samples& samples, size_t task) {
  const auto first = samples.decided.begin();
  if (task > 0)
    return network_->levels(graph.features, encoded, {first, first + static_cast<ptrdiff_t>(task)});
  const GoNetworkImpl::Entities all = network_->entities(graph.features, encoded);
  return network_->devices(all.logits, all.states, samples.columns);
}

void Go::decide(const Graph& graph, Samples& samples) {
  const size_t all = tasks_for(graph);
  const size_t turn =
      std::min(static_cast<size_t>(graph.evaluator->used() * static_cast<double>(all)),
               std::min(graph.held.size(), all - 1));
  const GoNetworkImpl::Encoded encoded = network_->encode(graph.features);
  const Choice draw = [this](const torch::Tensor& logits) { return draw_actions(logits, rng_); };
  for (size_t task = 0; task < (options_.separate ? turn + 1 : all); ++task) {
    if (options_.separate && task < turn) {
      samples.decided.push_back(graph.held[task].expand({options_.samples, -1}));
      samples.log_probabilities.emplace_back();
      continue;
    }
    const auto logits = decide_next(graph, encoded, options_.samples, draw, samples);
    samples.log_probabilities.push_back(log_probability(logits, samples.decided.back()));
  }
}

Go::Samples Go::draw(Graph& graph) {
  const torch::NoGradGuard guard;
  Samples samples;
  decide(graph, samples);
  std::vector<float> rewards;
  for (int i = 0; i < options_.samples && !graph.evaluator->spent(); ++i) {
    Placement placement = graph.placement(network_->tasks(), samples.decided, i);
    if (options_.separate) graph.leave_unfused(placement);
    rewards.push_back(static_cast<float>(graph.reward(placement)));
    if (options_.separate) graph.hold(samples.decided, i, rewards.back());
  }
  samples.advantages = standardised(rewards);
  if (!samples.advantages.defined()) return samples;
  const auto keep = [&](torch::Tensor& tensor) {
    if (tensor.defined()) tensor = tensor.slice(0, 0, std::ssize(rewards));
  };
  keep(samples.columns);
  std::ranges::for_each(samples.decided, keep);
  std::ranges::for_each(samples.log_probabilities, keep);
  return samples;
}

torch::Tensor Go::loss(const Graph& graph, const Samples& samples, double entropy) {
  const GoNetworkImpl::Encoded encoded = network_->encode(graph.features);
  torch::Tensor sum = torch::zeros({});
  for (size_t task = 0; task < samples.decided.size(); ++task) {
    if (!samples.log_probabilities[task].defined()) continue;
    const auto logits = this->logits(graph, encoded, samples, task);
    const auto ratio =
        (log_probability(logits, samples.decided[task]) - samples.log_probabilities[task]).exp();
    const auto gain = clipped_gain(ratio, samples.advantages.unsqueeze(1), options_.clip);
    sum = sum - gain.mean() - entropy * mean_entropy(logits);
  }
  return sum;
}

void Go::update(std::span<Graph> graphs) {
  std::vector<std::pair<const Graph*, Samples>> drawn;
  for (Graph& graph : graphs) {
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
    clipped_step(*adam_, kGradientNorm);
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
  const Choice likeliest = [](const torch::Tensor& logits) { return logits.argmax(-1); };
  Samples one;
  while (one.decided.size() < tasks_for(graph)) decide_next(graph, encoded, 1, likeliest, one);
  evaluator.evaluate(graph.placement(network_->tasks(), one.decided, 0));
}

}  // namespace reverie
