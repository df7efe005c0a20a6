#include "controller/modelfree/candidate_net.h"

#include <algorithm>
#include <cmath>

#include "controller/policy/actor_critic.h"
#include "controller/policy/segments.h"
#include "worldmodel/batch/choice_features.h"

namespace reverie {
namespace {

constexpr double kScoreBound = 10;
/// Gain, how far it is below the state's best, whether it gains at all.
constexpr int64_t kGainFeatures = 3;

int64_t state_width(const EnvSpec& spec) {
  return spec.target_count(TargetLevel::kGraph) +
         spec.primary_actions() * (std::ssize(spec.action_features) + 1);
}

/// Of each primary action its features, the greatest over the entities where it has choices, else
/// 0.
void append_greatest_features(const Observation& seen, size_t width, std::vector<float>& columns) {
  const auto entities = static_cast<size_t>(seen.mask.entities);
  for (size_t primary = 0; primary < seen.mask.counts.size() / entities; ++primary) {
    std::vector<float> greatest(width, 0.0f);
    bool any = false;
    for (size_t entity = 0; entity < entities; ++entity) {
      const size_t cell = primary * entities + entity;
      if (seen.mask.counts[cell] == 0) continue;
      for (size_t f = 0; f < width; ++f) {
        const float value = seen.action_features[cell * width + f];
        greatest[f] = any ? std::max(greatest[f], value) : value;
      }
      any = true;
    }
    columns.insert(columns.end(), greatest.begin(), greatest.end());
  }
}

}  // namespace

/// All candidates of B states, one below the other, by primary action, entity and index.
struct CandidateNet::Candidates {
  LatentActions actions;  ///< [N]
  torch::Tensor state, number,
      count;                 ///< [N] int64; number among all choices of the primary action
  torch::Tensor gain, best;  ///< [N]; best: of the state
  torch::Tensor first;       ///< [B, A], row of the first choice
  int64_t states = 0;
};

CandidateNet::CandidateNet(const EnvSpec& spec, const ModelFreeConfig& config) : spec_(spec) {
  const int64_t actions = spec.primary_actions();
  const int64_t width = config.width;
  columns_ = register_module("columns", Normalizer(state_width(spec)));
  gains_ = register_module("gains", Normalizer(1));
  state_ = register_module("state", torch::nn::Linear(state_width(spec) + 1, width));
  candidate_ =
      register_module("candidate", torch::nn::Linear(kGainFeatures + kChoiceFeatures, width));
  actions_ = register_module("actions", torch::nn::Embedding(actions, width));
  hidden_ = register_module("hidden", torch::nn::Linear(width, width));
  score_ = register_module("score", torch::nn::Linear(width, 1));
  preference_ = register_module("preference", torch::nn::Embedding(actions, 1));
  critic_ = register_module("critic", two_layers(state_width(spec) + 1, width, 1));
  torch::NoGradGuard no_grad;
  score_->weight.mul_(0.1);
  preference_->weight.zero_();
  preference_->weight[actions - 1] = config.head.no_op_logit;
}

CandidateNet::Candidates CandidateNet::candidates(ModelFreeBatch inputs) const {
  Candidates all;
  std::vector<Action> actions;
  std::vector<int64_t> state, number, count, first;
  std::vector<float> gain, best;
  for (const ModelFreeObservation* input : inputs) {
    const ActionMask& mask = input->observation.mask;
    for (int primary = 0; primary < mask.primary_actions(); ++primary) {
      first.push_back(std::ssize(state));
      const int total = mask.total(primary);
      for (int entity = 0, n = 0; entity < mask.entities; ++entity)
        for (int i = 0; i < mask.at(primary, entity); ++i) {
          actions.push_back({primary, entity, i});
          state.push_back(all.states);
          number.push_back(n++);
          count.push_back(total);
        }
    }
    const auto& gains = input->gains;
    gain.insert(gain.end(), gains.begin(), gains.end());
    best.insert(best.end(), gains.size(), *std::max_element(gains.begin(), gains.end()));
    ++all.states;
  }
  REVERIE_CHECK(gain.size() == state.size());
  all.state = torch::tensor(state);
  all.actions = latent_actions(actions);
  all.number = torch::tensor(number);
  all.count = torch::tensor(count);
  all.gain = torch::tensor(gain);
  all.best = torch::tensor(best);
  all.first = torch::tensor(first).view({all.states, -1});
  return all;
}

torch::Tensor CandidateNet::state_columns(ModelFreeBatch inputs) const {
  std::vector<float> columns;
  for (const ModelFreeObservation* input : inputs) {
    const Observation& seen = input->observation;
    columns.insert(columns.end(), seen.graph.graph_targets.begin(), seen.graph.graph_targets.end());
    append_greatest_features(seen, spec_.action_features.size(), columns);
    for (int primary = 0; primary < spec_.primary_actions(); ++primary)
      columns.push_back(std::log1p(static_cast<float>(seen.mask.total(primary))));
  }
  return torch::tensor(columns).view({static_cast<int64_t>(inputs.size()), state_width(spec_)});
}

void CandidateNet::set_statistics(ModelFreeBatch inputs) {
  ColumnStatistics columns(state_width(spec_)), gains(1);
  columns.add(state_columns(inputs));
  gains.add(candidates(inputs).gain.unsqueeze(1));
  columns.store(*columns_);
  gains.store(*gains_);
}

torch::Tensor CandidateNet::state_features(ModelFreeBatch inputs, const torch::Tensor& to_go) {
  return torch::cat({columns_(state_columns(inputs)), to_go.unsqueeze(-1)}, -1);
}

torch::Tensor CandidateNet::log_probabilities(const Candidates& all, const torch::Tensor& state) {
  const auto gain = gains_(all.gain.unsqueeze(1));
  const auto below = gains_(all.best.unsqueeze(1)) - gain;
  const auto own = torch::cat({gain, below, (all.gain > 0).to(torch::kFloat).unsqueeze(1),
                               choice_features(all.number, all.count, spec_.max_choices)},
                              -1);
  const auto first = torch::tanh(state_(state).index_select(0, all.state) + candidate_(own) +
                                 actions_(all.actions.primary));
  const auto score = score_(torch::tanh(hidden_(first))) + preference_(all.actions.primary);
  return log_softmax_within(kScoreBound * torch::tanh(score.squeeze(1) / kScoreBound), all.state,
                            all.states);
}

Evaluation CandidateNet::evaluate(ModelFreeBatch inputs, const torch::Tensor& to_go,
                                  const LatentActions& actions) {
  const Candidates all = candidates(inputs);
  const auto state = state_features(inputs, to_go);
  const auto log_probability = log_probabilities(all, state);
  std::vector<int64_t> numbers;
  const std::vector<Action> taken = actions_of(actions);
  for (size_t i = 0; i < taken.size(); ++i)
    numbers.push_back(inputs[i]->observation.mask.number(taken[i]));
  const auto row = all.first.gather(1, actions.primary.unsqueeze(1)).squeeze(1) +
                   torch::tensor(numbers, torch::kInt64);
  return {log_probability.index_select(0, row),
          entropy_within(log_probability, {}, all.state, all.states),
          critic_->forward(state).squeeze(-1)};
}

Choice CandidateNet::choose(ModelFreeBatch inputs, const torch::Tensor& to_go, bool greedy,
                            Rng& rng) {
  const Candidates all = candidates(inputs);
  const auto log_probability = log_probabilities(all, state_features(inputs, to_go));
  const auto begin = all.first.select(1, 0);
  const auto place = range_like(all.state.size(0), all.state) - begin.index_select(0, all.state);
  const auto table = torch::full({all.states, place.max().item<int64_t>() + 1}, kNever)
                         .index_put({all.state, place}, log_probability);
  const auto column = pick(table, greedy, rng);
  const auto row = begin + column;
  return {select_rows(all.actions, row), log_probability.index_select(0, row)};
}

}  // namespace reverie
