#include "controller/train/linear_policy.h"

#include <cmath>

#include "controller/policy/segments.h"

namespace reverie {
namespace {

constexpr int64_t kMostParameters = 3000;
constexpr int64_t kWidestEmbedding = 8;
constexpr double kNoOpLogit = -2;

torch::Tensor normal_matrix(int64_t rows, int64_t columns, double scale, Rng& rng) {
  auto matrix = torch::empty({rows, columns}, torch::kFloat32);
  auto* data = matrix.data_ptr<float>();
  for (int64_t i = 0; i < rows * columns; ++i) data[i] = static_cast<float>(scale * rng.normal());
  return matrix;
}

}  // namespace

LinearController::LinearController(const LatentSpec& spec, uint64_t seed)
    : max_choices_(spec.env.max_choices) {
  Rng rng(seed);
  const int64_t actions = spec.env.primary_actions();
  embedding_ = std::min(actions, kWidestEmbedding);
  actions_ =
      actions <= kWidestEmbedding
          ? torch::eye(actions)
          : normal_matrix(actions, embedding_, 1 / std::sqrt(static_cast<double>(embedding_)), rng);
  const int64_t raw = policy_feature_count(spec) + 1;
  keys_ = kChoiceFeatures + spec.latent;
  const int64_t room = kMostParameters / embedding_ - keys_;
  if (room < 1)
    throw InputError(
        "a linear controller of {} parameters has no room for latents of {} numbers an entity; "
        "train "
        "V with vae.encoder.latent={} or less, or set dream.trainer=ppo",
        kMostParameters, spec.latent, spec.latent + room - 1);
  inputs_ = std::min(raw, room);
  if (inputs_ < raw)
    projection_ = normal_matrix(raw, inputs_, 1 / std::sqrt(static_cast<double>(inputs_)), rng);
  bias_ = torch::zeros({actions});
  bias_[actions - 1] = kNoOpLogit;
}

torch::Tensor LinearController::inputs_of(const LatentObservation& observation) const {
  const auto features = policy_features(observation).to(torch::kCPU);
  const auto raw = torch::cat({features, torch::ones({features.size(0), 1})}, -1);
  return projection_.defined() ? raw.matmul(projection_) : raw;
}

torch::Tensor LinearController::keys_of(const LatentObservation& observation,
                                        const torch::Tensor& primary, int64_t n) const {
  const LatentMask mask = to_device(observation.mask, torch::kCPU);
  const auto repeat = torch::repeat_interleave(torch::arange(primary.size(0)), n);
  const LatentMask repeated = select_rows(mask, repeat);
  const LatentActions at = choice_at(repeated, primary.index_select(0, repeat),
                                     torch::arange(n).repeat({primary.size(0)}));
  const auto keys = torch::cat({choice_features(at.index, count_of(repeated, at), max_choices_),
                                observation.entities.to(torch::kCPU).index({repeat, at.entity})},
                               -1);
  return keys.view({primary.size(0), n, keys_});
}

PolicyDecision LinearController::act(const LatentObservation& observation,
                                     const torch::Tensor& parameters, bool greedy, Rng& rng) const {
  torch::NoGradGuard no_grad;
  const auto device = observation.mask.totals.device();
  const auto counts = observation.mask.totals.to(torch::kCPU);
  const int64_t size = counts.size(0), groups = parameters.size(0);
  REVERIE_CHECK_EQ(size % groups, 0);
  const auto all = parameters.to(torch::kFloat32);
  const auto weights = all.narrow(1, 0, embedding_ * inputs_).view({groups, embedding_, inputs_});
  const auto locations =
      all.narrow(1, embedding_ * inputs_, embedding_ * keys_).view({groups, embedding_, keys_});

  const auto inputs = inputs_of(observation).view({groups, size / groups, inputs_});
  const auto scores = inputs.matmul(weights.transpose(1, 2)).matmul(actions_.t()) + bias_;
  const auto log_primary =
      torch::log_softmax(scores.view({size, -1}).masked_fill(counts <= 0, kNever), -1);
  const auto primary = pick(log_primary, greedy, rng);

  const auto count = counts.gather(1, primary.unsqueeze(1));
  const int64_t widest = count.max().item<int64_t>();
  const auto query =
      torch::bmm(actions_.index_select(0, primary).view({groups, -1, embedding_}), locations)
          .view({size, keys_, 1});
  const auto location_scores = torch::bmm(keys_of(observation, primary, widest), query).squeeze(-1);
  const auto log_choice =
      torch::log_softmax(location_scores.masked_fill(torch::arange(widest) >= count, kNever), -1);
  const auto number = pick(log_choice, greedy, rng);
  const auto log_probability = log_primary.gather(1, primary.unsqueeze(1)).squeeze(1) +
                               log_choice.gather(1, number.unsqueeze(1)).squeeze(1);
  const LatentActions chosen = choice_at(to_device(observation.mask, torch::kCPU), primary, number);
  return {to_device(chosen, device), log_probability.to(device), {}};
}

namespace {

/// As [1, n] float64.
torch::Tensor row_of(const std::vector<double>& numbers) {
  return torch::tensor(numbers, torch::kFloat64).unsqueeze(0);
}

std::vector<double> numbers_of(const torch::Tensor& row) {
  const auto plain = row.to(torch::kCPU).to(torch::kFloat64).contiguous();
  return {plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel()};
}

/// A generation: every group of rows of the batch acts with its own candidate.
class PopulationPolicy : public Policy {
 public:
  PopulationPolicy(const LinearController& controller, torch::Tensor candidates)
      : controller_(controller), candidates_(std::move(candidates)) {}
  std::string name() const override { return "population"; }
  PolicyDecision act(const LatentObservation& observation, bool greedy, Rng& rng) override {
    return controller_.act(observation, candidates_, greedy, rng);
  }

 private:
  const LinearController& controller_;
  torch::Tensor candidates_;
};

}  // namespace

CmaEsTrainer::CmaEsTrainer(const LatentSpec& spec, const CmaEsConfig& config, uint64_t seed)
    : config_(config),
      controller_(spec, seed),
      strategy_(std::vector<double>(static_cast<size_t>(controller_.parameters()), 0.0),
                config.sigma, static_cast<size_t>(config.population)),
      policy_(controller_, row_of(strategy_.mean())) {}

Metrics CmaEsTrainer::update(LatentEnvironment& environment, double, uint64_t seed) {
  REVERIE_CHECK_EQ(environment.batch() % config_.population, 0);
  Rng rng(seed);
  std::vector<torch::Tensor> candidates;
  for (const std::vector<double>& point : strategy_.ask(rng)) candidates.push_back(row_of(point));
  PopulationPolicy population(controller_, torch::cat(candidates));
  const Rollout rollout = play(environment, population, config_.greedy, rng.bits(), rng);
  const auto returns = rollout.returns().to(torch::kCPU).to(torch::kFloat64);
  const auto fitness = returns.view({config_.population, -1}).mean(1);
  strategy_.tell(numbers_of(-fitness));
  policy_.set_parameters(row_of(strategy_.mean()));
  Metrics metrics = episode_metrics(rollout);
  metrics.emplace_back("charts/best_return", fitness.max().item<double>());
  metrics.emplace_back("charts/sigma", strategy_.sigma());
  return metrics;
}

void CmaEsTrainer::set_state(SeparableCmaEs::State state) {
  strategy_.set_state(std::move(state));
  policy_.set_parameters(row_of(strategy_.mean()));
}

void CmaEsTrainer::store_policy(Checkpoint& checkpoint) const {
  checkpoint.tensors["policy.mean"] = row_of(strategy_.mean()).squeeze(0);
}

void CmaEsTrainer::restore_policy(const Checkpoint& checkpoint) {
  const torch::Tensor& mean = stored_tensor(checkpoint, "policy.mean");
  SeparableCmaEs::State state = strategy_.state();
  if (mean.numel() != std::ssize(state.mean))
    throw InputError("the checkpoint holds {} parameters of a linear controller, {} are needed",
                     mean.numel(), state.mean.size());
  state.mean = numbers_of(mean);
  set_state(std::move(state));
}

void CmaEsTrainer::store(Checkpoint& checkpoint) const {
  store_policy(checkpoint);
  const auto& [mean, path_sigma, path_c, variance, sigma, generation] = strategy_.state();
  checkpoint.tensors["cmaes.paths"] = torch::cat({row_of(path_sigma), row_of(path_c)});
  checkpoint.tensors["cmaes.variance"] = row_of(variance);
  checkpoint.tensors["cmaes.scalars"] = row_of({sigma, static_cast<double>(generation)});
}

void CmaEsTrainer::restore(const Checkpoint& checkpoint) {
  restore_policy(checkpoint);
  SeparableCmaEs::State state = strategy_.state();
  const auto stored = [&](const std::string& name, int64_t row) {
    return numbers_of(stored_tensor(checkpoint, name)[row]);
  };
  state.path_sigma = stored("cmaes.paths", 0);
  state.path_c = stored("cmaes.paths", 1);
  state.variance = stored("cmaes.variance", 0);
  const std::vector<double> scalars = stored("cmaes.scalars", 0);
  state.sigma = scalars[0];
  state.generation = static_cast<int64_t>(scalars[1]);
  set_state(std::move(state));
}

}  // namespace reverie
