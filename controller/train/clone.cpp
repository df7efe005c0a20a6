#include "controller/train/clone.h"

#include <algorithm>
#include <map>

#include "controller/train/ppo.h"

namespace reverie {
namespace {

/// Steps until the sum of the rewards is highest, and that sum.
struct Climb {
  int episode = 0;
  int64_t steps = 0;
  double height = 0;
};

Climb climb_of(const Episode& episode, int index) {
  Climb climb{index, 0, 0};
  double sum = 0;
  for (size_t t = 0; t < episode.steps.size(); ++t) {
    sum += episode.steps[t].reward;
    if (sum > climb.height) climb = {index, static_cast<int64_t>(t) + 1, sum};
  }
  return climb;
}

/// The best climbs of each start graph, in order of their episodes.
std::vector<Climb> best_climbs(const EpisodeSource& data, double share) {
  std::map<int32_t, std::vector<Climb>> by_graph;
  for (const int index : data.episodes_in(Split::kTrain)) {
    const Episode& episode = data.episodes()[static_cast<size_t>(index)];
    by_graph[episode.start_graph].push_back(climb_of(episode, index));
  }
  std::vector<Climb> best;
  for (auto& [graph, climbs] : by_graph) {
    std::stable_sort(climbs.begin(), climbs.end(),
                     [](const Climb& a, const Climb& b) { return a.height > b.height; });
    const double wanted = share * static_cast<double>(climbs.size());
    climbs.resize(std::max<size_t>(1, static_cast<size_t>(wanted)));
    best.insert(best.end(), climbs.begin(), climbs.end());
  }
  std::sort(best.begin(), best.end(),
            [](const Climb& a, const Climb& b) { return a.episode < b.episode; });
  return best;
}

/// Sums over steps.
struct CloneTerms {
  torch::Tensor likely;  ///< log-likelihood of the good actions, by their share of all
  torch::Tensor miss;    ///< squared error of the critic
};

CloneTerms clone_terms(ActorCritic& net, const Demonstrations& steps, const torch::Tensor& worth,
                       const torch::Tensor& index, double good_share) {
  const Evaluation now =
      net->evaluate(select_rows(steps.observation, index), select_rows(steps.actions, index));
  const auto weight = steps.good.index_select(0, index).to(torch::kFloat);
  return {(now.log_probability * weight).sum() / good_share,
          (now.value - worth.index_select(0, index)).square().sum()};
}

}  // namespace

torch::Tensor Demonstrations::to_come(double gamma) const {
  const auto of_episode = episode.to(torch::kCPU).contiguous();
  auto sums = reward.to(torch::kCPU).clone();
  const int64_t* of = of_episode.data_ptr<int64_t>();
  float* sum = sums.data_ptr<float>();
  for (int64_t i = sums.size(0) - 2; i >= 0; --i)
    if (of[i] == of[i + 1]) sum[i] += static_cast<float>(gamma) * sum[i + 1];
  return sums.to(reward.device());
}

Demonstrations demonstrations(const LatentEpisodes& data, WorldModel& world, double share) {
  const auto episodes = data.data().episodes_in(Split::kTrain);
  if (episodes.empty()) throw InputError("the rollouts hold no training episodes; collect more");
  auto length = torch::zeros({static_cast<int64_t>(data.data().episodes().size())}, torch::kInt64);
  for (const Climb& climb : best_climbs(data.data(), share)) length[climb.episode] = climb.steps;
  const StartStates all = collect_starts(data, episodes, world, {.to_go_on = false});
  return {observation_of(all.state, all.mask, time_to_go(all.steps, world.spec().env.horizon)),
          all.actions, all.reward, all.episode,
          all.steps < length.to(world.device()).index_select(0, all.episode)};
}

Metrics clone_actions(ActorCritic& net, const Demonstrations& steps, const torch::Tensor& worth,
                      const CloneConfig& config, uint64_t seed, const Shares& shares) {
  Rng rng(seed);
  const auto weights = net->parameters();
  torch::optim::Adam optimizer(weights, torch::optim::AdamOptions(config.learning_rate));
  const double good = std::max(1.0, steps.good.sum().item<double>());
  const double all = static_cast<double>(steps.size());
  double likelihood = 0, error = 0;
  for (int64_t epoch = 0; epoch < config.epochs; ++epoch) {
    likelihood = error = 0;
    const auto order = shuffled_indices(steps.size(), rng).to(steps.good.device());
    for (const auto& index : order.split(config.minibatch)) {
      const CutMinibatch minibatch(shares, index.size(0));
      std::vector<torch::Tensor> gradients, terms;
      for (const Part& part : minibatch.own()) {
        const auto [first, end] = part.range(static_cast<int>(index.size(0)));
        const CloneTerms own =
            clone_terms(net, steps, worth, index.slice(0, first, end), good / all);
        optimizer.zero_grad();
        ((own.miss - own.likely) / index.size(0)).backward();
        gradients.push_back(flat_gradient(weights));
        terms.push_back(torch::stack({own.likely, own.miss}).detach().to(torch::kFloat64));
      }
      const torch::Tensor told = minibatch.sum(torch::stack(terms));
      require_finite_loss((told[1] - told[0]).item<double>());
      set_gradient(weights, minibatch.sum(torch::stack(gradients)));
      optimizer.step();
      likelihood += told[0].item<double>() / all;
      error += told[1].item<double>() / all;
    }
  }
  return {{"log_likelihood", likelihood}, {"value_error", error}};
}

}  // namespace reverie
