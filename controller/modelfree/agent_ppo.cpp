#include "controller/modelfree/agent_ppo.h"

#include "controller/train/counters.h"
#include "core/base/files.h"
#include "env/translated.h"
#include "worldmodel/network/modules.h"

namespace reverie {

/// T steps of B episodes; inputs of the steps that were taken, one after the other.
struct AgentPpoTrainer::Played {
  Rollout rollout;                           ///< no latents, no log-probabilities
  std::vector<ModelFreeObservation> inputs;  ///< of the alive steps, in order of (t, b)
};

namespace {

std::vector<ModelFreeObservation> look_at_all(
    const std::vector<std::unique_ptr<Environment>>& environments, const ModelFreeNetwork& net) {
  std::vector<ModelFreeObservation> inputs;
  for (const auto& environment : environments)
    inputs.push_back(look(*environment, environment->observe(), net));
  return inputs;
}

std::vector<const ModelFreeObservation*> pointers(const std::vector<ModelFreeObservation>& inputs) {
  std::vector<const ModelFreeObservation*> all;
  for (const ModelFreeObservation& input : inputs) all.push_back(&input);
  return all;
}

std::vector<const ModelFreeObservation*> rows_of(const std::vector<ModelFreeObservation>& all,
                                                 const torch::Tensor& index) {
  std::vector<const ModelFreeObservation*> rows;
  for (int64_t i = 0; i < index.size(0); ++i)
    rows.push_back(&all[static_cast<size_t>(index[i].item<int64_t>())]);
  return rows;
}

}  // namespace

AgentPpoTrainer::AgentPpoTrainer(const Environment& prototype, std::vector<int> starts,
                                 const AgentPpoConfig& config, uint64_t seed)
    : config_(config),
      spec_(prototype.spec()),
      starts_(std::move(starts)),
      net_(with_torch_seed(seed, [&] { return make_model_free_network(spec_, config.net); })),
      learner_(net_->parameters(), config.ppo) {
  REVERIE_CHECK(!starts_.empty());
  for (int64_t b = 0; b < config.batch; ++b) environments_.push_back(prototype.fork());
}

EnvCounters AgentPpoTrainer::counters() const {
  EnvCounters total;
  for (const auto& environment : environments_) total += environment->counters();
  return total;
}

namespace {

/// Columns of the steps of B episodes while they are played.
struct StepColumns {
  std::vector<torch::Tensor> reward, terminated, truncated, alive, to_go, primary, entity, index;

  Rollout stacked() const {
    Rollout rollout;
    rollout.reward = torch::stack(reward);
    rollout.terminated = torch::stack(terminated);
    rollout.truncated = torch::stack(truncated);
    rollout.alive = torch::stack(alive);
    rollout.observation.to_go = torch::stack(to_go);
    rollout.actions = {torch::stack(primary), torch::stack(entity), torch::stack(index)};
    return rollout;
  }
};

}  // namespace

AgentPpoTrainer::Played AgentPpoTrainer::play_batch(Rng& rng) {
  torch::NoGradGuard no_grad;
  const auto size = static_cast<int64_t>(environments_.size());
  const auto graphs = static_cast<uint64_t>(spec_.start_states());
  for (auto& environment : environments_) {
    const uint64_t drawn = rng.bits() >> 1;
    environment->reset(drawn - drawn % graphs +
                       static_cast<uint64_t>(starts_[rng.below(starts_.size())]));
  }
  Played played;
  StepColumns columns;
  auto alive = torch::ones({size}, torch::kBool);
  for (int step = 0; alive.any().item<bool>(); ++step) {
    std::vector<ModelFreeObservation> seen = look_at_all(environments_, *net_);
    const auto to_go = torch::full({size}, time_to_go(step, spec_.horizon));
    const LatentActions actions = net_->choose(pointers(seen), to_go, false, rng).actions;
    const std::vector<Action> chosen = actions_of(actions);
    auto reward = torch::zeros({size}), terminated = torch::zeros({size}, torch::kBool),
         truncated = torch::zeros({size}, torch::kBool);
    for (int64_t b = 0; b < size; ++b) {
      if (!alive[b].item<bool>()) continue;
      ModelFreeObservation& input = seen[static_cast<size_t>(b)];
      const StepResult result =
          environments_[static_cast<size_t>(b)]->step(chosen[static_cast<size_t>(b)]);
      reward[b] = result.reward;
      terminated[b] = result.terminated;
      truncated[b] = result.truncated;
      played.inputs.push_back(std::move(input));
    }
    columns.reward.push_back(reward);
    columns.terminated.push_back(terminated);
    columns.truncated.push_back(truncated);
    columns.alive.push_back(alive);
    columns.to_go.push_back(to_go);
    columns.primary.push_back(actions.primary);
    columns.entity.push_back(actions.entity);
    columns.index.push_back(actions.index);
    alive = alive & ~(terminated | truncated);
  }
  played.rollout = columns.stacked();
  played.rollout.last.to_go = torch::zeros({size});  // truncated at the horizon alone
  return played;
}

void AgentPpoTrainer::normalize(const Played& played) {
  if (normalized_) return;
  net_->set_statistics(pointers(played.inputs));
  normalized_ = true;
}

void AgentPpoTrainer::judge_steps(const Played& played, const torch::Tensor& alive,
                                  PpoBatch& batch) {
  torch::NoGradGuard no_grad;
  const Rollout& rollout = played.rollout;
  const double scale = scale_.value();
  std::vector<torch::Tensor> log_probabilities, values;
  for (int64_t begin = 0; begin < alive.size(0); begin += config_.ppo.minibatch) {
    const int64_t end = std::min(begin + config_.ppo.minibatch, alive.size(0));
    const Evaluation part = batch.evaluate(torch::arange(begin, end, torch::kInt64));
    log_probabilities.push_back(part.log_probability);
    values.push_back(part.value * scale);
  }
  batch.log_probability = torch::cat(log_probabilities);
  auto value = torch::zeros_like(rollout.reward);
  value.view({-1}).index_copy_(0, alive, torch::cat(values));
  const auto advantage = generalized_advantage(rollout, value, torch::zeros({rollout.batch()}),
                                               config_.ppo.gamma, config_.ppo.lambda);
  batch.advantage = advantage.flatten().index_select(0, alive);
  batch.target = ((advantage + value) / scale).flatten().index_select(0, alive);
}

Metrics AgentPpoTrainer::update(double progress, uint64_t seed) {
  Rng rng(seed);
  const Played played = play_batch(rng);
  normalize(played);
  scale_.observe(played.rollout, torch::zeros({played.rollout.batch()}), config_.ppo.gamma);
  const auto alive = played.rollout.alive.flatten().nonzero().squeeze(1);
  const auto to_go = played.rollout.observation.to_go.flatten().index_select(0, alive);
  const LatentActions actions = select_rows(flatten(played.rollout.actions), alive);
  PpoBatch batch;
  batch.evaluate = [&](const torch::Tensor& index) {
    return net_->evaluate(rows_of(played.inputs, index), to_go.index_select(0, index),
                          select_rows(actions, index));
  };
  judge_steps(played, alive, batch);
  Metrics metrics = episode_metrics(played.rollout);
  for (auto& metric : learner_.update(batch, progress, rng)) metrics.push_back(std::move(metric));
  return metrics;
}

namespace {

/// Samples from a trained network; forks share it.
class PpoAgent : public CollectAgent {
 public:
  explicit PpoAgent(std::shared_ptr<ModelFreeNetwork> net) : net_(std::move(net)) {}

  std::string begin(const Environment&, Rng&) override {
    step_ = 0;
    return "ppo";
  }

  Action act(const Environment& env, const Observation& observation, Rng& rng) override {
    torch::NoGradGuard no_grad;
    const auto to_go = torch::full({1}, time_to_go(step_++, env.spec().horizon));
    const ModelFreeObservation input = look(env, observation, *net_);
    const ModelFreeObservation* seen = &input;
    const Choice choice = net_->choose({&seen, 1}, to_go, false, rng);
    return actions_of(choice.actions).front();
  }

  std::unique_ptr<CollectAgent> fork() const override { return std::make_unique<PpoAgent>(net_); }

 private:
  std::shared_ptr<ModelFreeNetwork> net_;
  int step_ = 0;
};

constexpr const char* kAgent = "agent";

std::shared_ptr<ModelFreeNetwork> train_agent(const Environment& environment,
                                              const AgentPpoConfig& config, const PpoAgentRun& run,
                                              EnvCounters& counters) {
  AgentPpoTrainer trainer(environment, run.starts, config, run.seed);
  Progress progress("train ppo", config.updates, "updates", run.progress);
  for (int64_t update = 0; update < config.updates; ++update) {
    const Metrics metrics =
        trainer.update(static_cast<double>(update) / static_cast<double>(config.updates),
                       Rng(run.seed).fork(static_cast<uint64_t>(update) + 1).bits());
    progress.update(update + 1, fmt::format("return {:.2f}", metrics[0].second));
  }
  counters = trainer.counters();
  return trainer.net();
}

}  // namespace

std::unique_ptr<CollectAgent> make_ppo_agent(const Environment& environment,
                                             const AgentPpoConfig& config, const PpoAgentRun& run,
                                             EnvCounters& counters) {
  EnvCounters trained;
  if (run.resume && file_exists(run.file)) {
    const Checkpoint kept = load_checkpoint(run.file, kAgent);
    with_context(run.file, [&] { require_same_names(kept.spec, environment.spec()); });
    const auto net = make_model_free_network(environment.spec(), config.net);
    with_context(run.file, [&] { restore_module(kept, kAgent, *net); });
    counters += get_counters(kept, "training_");
    return std::make_unique<PpoAgent>(net);
  }
  const auto net = train_agent(environment, config, run, trained);
  counters += trained;
  Checkpoint kept;
  kept.kind = kAgent;
  kept.spec = environment.spec();
  kept.config = dump_config(config);
  store_module(kept, kAgent, *net);
  put_counters(kept, "training_", trained);
  save_checkpoint(run.file, kept);
  return std::make_unique<PpoAgent>(net);
}

}  // namespace reverie
