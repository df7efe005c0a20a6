#include "controller/candidate_net.h"

#include <algorithm>
#include <cmath>

#include "controller/actor_critic.h"
#include "controller/segments.h"
#include "worldmodel/location.h"

namespace reverie {
namespace {

constexpr double kScoreBound = 10;
/// Gain, how far it is below the state's best, whether it gains at all.
constexpr int64_t kGainFeatures = 3;

int64_t state_width(const EnvSpec& spec) {
  return spec.global_features + int64_t{spec.primary_actions()} * (spec.action_features + 1);
}

}  // namespace

/// All candidates of B states, one below the other, by primary, then secondary action.
struct CandidateNet::Candidates {
  torch::Tensor state, primary, index, count;  ///< [N] int64
  torch::Tensor gain, best;                    ///< [N]; best: of the state
  torch::Tensor first;                         ///< [B, A], row of the first choice
  int64_t states = 0;
};

CandidateNet::CandidateNet(const EnvSpec& spec, const AgentNetConfig& config) : spec_(spec) {
  const int64_t actions = spec.primary_actions();
  const int64_t width = config.width;
  columns_ = register_module("columns", Normalizer(state_width(spec)));
  gains_ = register_module("gains", Normalizer(1));
  state_ = register_module("state", torch::nn::Linear(state_width(spec) + 1, width));
  candidate_ = register_module("candidate",
                               torch::nn::Linear(kGainFeatures + kLocationFeatures, width));
  rules_ = register_module("rules", torch::nn::Embedding(actions, width));
  hidden_ = register_module("hidden", torch::nn::Linear(width, width));
  score_ = register_module("score", torch::nn::Linear(width, 1));
  preference_ = register_module("preference", torch::nn::Embedding(actions, 1));
  critic_ = register_module("critic", two_layers(state_width(spec) + 1, width, 1));
  torch::NoGradGuard no_grad;
  score_->weight.mul_(0.1);
  preference_->weight.zero_();
  preference_->weight[actions - 1] = config.head.no_op_logit;
}

CandidateNet::Candidates CandidateNet::candidates(std::span<const Sight* const> sights) const {
  Candidates all;
  std::vector<int64_t> state, primary, index, count, first;
  std::vector<float> gain, best;
  for (const Sight* sight : sights) {
    const auto& counts = sight->observation.mask.counts;
    for (size_t action = 0; action < counts.size(); ++action) {
      first.push_back(static_cast<int64_t>(state.size()));
      for (int64_t i = 0; i < counts[action]; ++i) {
        state.push_back(all.states);
        primary.push_back(static_cast<int64_t>(action));
        index.push_back(i);
        count.push_back(counts[action]);
      }
    }
    const auto& gains = sight->gains;
    gain.insert(gain.end(), gains.begin(), gains.end());
    best.insert(best.end(), gains.size(), *std::max_element(gains.begin(), gains.end()));
    ++all.states;
  }
  REVERIE_CHECK(gain.size() == state.size());
  all.state = torch::tensor(state);
  all.primary = torch::tensor(primary);
  all.index = torch::tensor(index);
  all.count = torch::tensor(count);
  all.gain = torch::tensor(gain);
  all.best = torch::tensor(best);
  all.first = torch::tensor(first).view({all.states, -1});
  return all;
}

torch::Tensor CandidateNet::state_columns(std::span<const Sight* const> sights) const {
  std::vector<float> columns;
  for (const Sight* sight : sights) {
    const Observation& seen = sight->observation;
    columns.insert(columns.end(), seen.graph.globals.begin(), seen.graph.globals.end());
    columns.insert(columns.end(), seen.action_features.begin(), seen.action_features.end());
    for (const uint16_t count : seen.mask.counts)
      columns.push_back(std::log1p(static_cast<float>(count)));
  }
  return torch::tensor(columns).view({static_cast<int64_t>(sights.size()), state_width(spec_)});
}

void CandidateNet::set_statistics(std::span<const Sight* const> sights) {
  ColumnStatistics columns(state_width(spec_)), gains(1);
  columns.add(state_columns(sights));
  gains.add(candidates(sights).gain.unsqueeze(1));
  columns.store(*columns_);
  gains.store(*gains_);
}

torch::Tensor CandidateNet::state_features(std::span<const Sight* const> sights,
                                           const torch::Tensor& to_go) {
  return torch::cat({columns_(state_columns(sights)), to_go.unsqueeze(-1)}, -1);
}

torch::Tensor CandidateNet::log_probabilities(const Candidates& all, const torch::Tensor& state) {
  const auto gain = gains_(all.gain.unsqueeze(1));
  const auto below = gains_(all.best.unsqueeze(1)) - gain;
  const auto own = torch::cat({gain, below, (all.gain > 0).to(torch::kFloat).unsqueeze(1),
                               describe_location(all.index, all.count, spec_.max_secondary)}, -1);
  const auto first = torch::tanh(state_(state).index_select(0, all.state) + candidate_(own) +
                                 rules_(all.primary));
  const auto score = score_(torch::tanh(hidden_(first))) + preference_(all.primary);
  return log_softmax_within(kScoreBound * torch::tanh(score.squeeze(1) / kScoreBound), all.state,
                            all.states);
}

Evaluation CandidateNet::evaluate(std::span<const Sight* const> sights, const torch::Tensor& to_go,
                                  const LatentActions& actions) {
  const Candidates all = candidates(sights);
  const auto state = state_features(sights, to_go);
  const auto log_probability = log_probabilities(all, state);
  const auto row = all.first.gather(1, actions.primary.unsqueeze(1)).squeeze(1) + actions.secondary;
  return {log_probability.index_select(0, row),
          entropy_within(log_probability, {}, all.state, all.states),
          critic_->forward(state).squeeze(-1)};
}

Choice CandidateNet::choose(std::span<const Sight* const> sights, const torch::Tensor& to_go,
                            bool greedy, Rng& rng) {
  const Candidates all = candidates(sights);
  const auto log_probability = log_probabilities(all, state_features(sights, to_go));
  const auto begin = all.first.select(1, 0);
  const auto place = range_like(all.state.size(0), all.state) - begin.index_select(0, all.state);
  const auto table = torch::full({all.states, place.max().item<int64_t>() + 1}, kNever)
                         .index_put({all.state, place}, log_probability);
  const auto column = pick(table, greedy, rng);
  const auto row = begin + column;
  return {{all.primary.index_select(0, row), all.index.index_select(0, row)},
          log_probability.index_select(0, row)};
}

}  // namespace reverie
