#include "controller/rounds/dream_step.h"

#include <fmt/format.h>

#include <utility>

#include "controller/train/training_series.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/stopwatch.h"
#include "env/translated.h"
#include "worldmodel/encoder/latent_cache.h"
#include "worldmodel/latent/grey_box.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

struct Models {
  Checkpoint checkpoint;
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<WorldModel> world;
};

Models load_models(const std::string& path, const EnvSpec& spec, torch::Device device) {
  Models models;
  models.checkpoint = load_checkpoint(path, "world");
  with_context(path, [&] { require_same_names(models.checkpoint.spec, spec); });
  models.checkpoint.spec.horizon =
      spec.horizon;  // that of the rollouts, on which no weights depend
  models.encoder = load_encoder(models.checkpoint);
  models.world = load_world_model(models.checkpoint);
  models.encoder->to_device(device);
  models.world->to_device(device);
  return models;
}

std::unique_ptr<LatentEnvironment> place_to_learn(const LatentEpisodes& episodes,
                                                  const Models& models,
                                                  const DreamStepConfig& config,
                                                  const DreamStepRun& run) {
  const auto batch = static_cast<int>(config.plan.batch);
  if (config.environment == LearningPlace::kLive)
    return std::make_unique<LiveLatentEnvironment>(*run.training, models.encoder, models.world,
                                                   batch);
  if (config.environment == LearningPlace::kGreyBox)
    return std::make_unique<GreyBoxEnvironment>(
        known_starts(*run.training, models.world->spec().env), models.encoder, models.world, batch);
  return std::make_unique<DreamEnvironment>(models.world, dream_starts(episodes, *models.world),
                                            config.dream, batch);
}

LatentEpisodes encoded(const EpisodeSource& data, const Models& models, const DreamStepRun& run) {
  Progress progress("encode", data.state_count(), "states", run.progress);
  return {data, cached_latents(run.directory + "/latents.pt", data, *models.encoder, run.processes,
                               [&](int done) { progress.update(done); })};
}

/// A dream that is cut short would never see a reward that comes at the end.
void require_whole_dreams(const DreamStepConfig& config, const EnvSpec& spec) {
  const int depth = config.dream.depth;
  if (config.environment == LearningPlace::kDream && spec.reward_at_end &&
      config.plan.updates > 0 && depth > 0 && depth < spec.horizon)
    throw InputError(
        "rewards of '{}' come at the end of an episode, after up to {} steps, and dreams end after "
        "{}; set dream.depth=0",
        spec.name, spec.horizon, depth);
}

class DreamStep {
 public:
  DreamStep(const EpisodeSource& data, const DreamStepConfig& config, const DreamStepRun& run)
      : config_(config),
        run_(run),
        models_(load_models(run.world, data.spec(), run.device)),
        episodes_(encoded(data, models_, run)) {
    training_.trainer = config.trainer;
    training_.world = models_.world;
    training_.clone = config.clone;
    if (!run.policy.empty()) {
      training_.initial = load_checkpoint(run.policy, "policy");
      with_context(run.policy, [&] { require_same_names(training_.initial->spec, data.spec()); });
      require_same_policy(run.policy, *training_.initial, config.trainer);
    }
    if (run.policy.empty() && config.clone.share > 0)
      training_.demonstrations = demonstrations(episodes_, *models_.world, config.clone.share);
    training_.origin = hash_combine(data.fingerprint(), hash_of_tensors(models_.checkpoint));
    if (training_.initial)
      training_.origin = hash_combine(training_.origin, hash_of_tensors(*training_.initial));
    training_.plan = config.plan;
    training_.plan.validate_start = config.plan.validate_start && run.validate_start;
    training_.base = models_.checkpoint;
    training_.base.config = dump_config(config);
    if (!run.environment.empty()) training_.base.configs["environment"] = run.environment;
    training_.resume = run.resume;
    training_.processes = run.processes;
    training_.progress = run.progress;
    training_.device = run.device;
    training_.seconds_before = run.seconds_before + watch_.seconds();
  }

  TrainingResult train() {
    return config_.policies == 1 ? train_in(run_.directory, 1) : train_several();
  }

 private:
  /// The k-th policy, from 1 on.
  TrainingResult train_in(const std::string& directory, int64_t k) {
    const uint64_t seed =
        k == 1 ? config_.seed : Rng(config_.seed).fork(static_cast<uint64_t>(k)).bits();
    const std::vector<double>& discounts = config_.discounts;
    if (!discounts.empty())
      training_.trainer.ppo.gamma = discounts[static_cast<size_t>(k - 1) % discounts.size()];
    training_.directory = directory;
    training_.seed = seed;
    const auto environment = place_to_learn(episodes_, models_, config_, run_);
    if (!run_.processes.is_first()) return train_policy(*environment, {}, training_);
    const bool in_grey_box = config_.environment == LearningPlace::kGreyBox;
    RealJudge judge(run_.validation, models_.encoder, models_.world, config_.validation, seed,
                    in_grey_box ? run_.training : nullptr);
    return train_policy(*environment, judge.judge(), training_);
  }

  TrainingResult train_several() {
    TrainingSeries series(run_.directory, "policy", run_.resume);
    for (int64_t k = 1; k <= config_.policies; ++k) {
      const std::string where = fmt::format("{}/policy-{}", run_.directory, k);
      create_directory(where);
      series.add(train_in(where, k), where);
      training_.plan.validate_start = false;
      training_.seconds_before = 0;
    }
    write_file(run_.directory + "/last.pt", read_file(series.best() + "/last.pt"));
    return series.result();
  }

  const Stopwatch watch_;
  const DreamStepConfig& config_;
  const DreamStepRun& run_;
  const Models models_;
  const LatentEpisodes episodes_;
  TrainingRun training_;
};

}  // namespace

void require_fit(const DreamStepConfig& config, const Processes& processes) {
  if (std::ssize(config.discounts) > config.policies)
    throw InputError("dream.discounts lists {} discounts for {} policies; set dream.policies",
                     config.discounts.size(), config.policies);
  if (!config.known_source.empty() && config.environment != LearningPlace::kGreyBox)
    throw InputError(
        "dream.known_source tells where the rewards of a grey box come from; set "
        "dream.environment=grey_box, or leave it out");
  const bool dreams = config.environment == LearningPlace::kDream;
  if (processes.count() > 1 && (!dreams || config.policies > 1))
    throw InputError(
        "several processes train one policy in the dream; leave out dream.environment and "
        "dream.policies");
  require_learnable(config.trainer, {.updates = config.plan.updates,
                                     .batch = config.plan.batch,
                                     .depth = dreams ? config.dream.depth : 0,
                                     .discounts = !config.discounts.empty(),
                                     .chunks = config.plan.chunks});
}

TrainingResult run_dream_step(const EpisodeSource& data, const DreamStepConfig& config,
                              const DreamStepRun& run) {
  require_fit(config, run.processes);
  require_whole_dreams(config, data.spec());
  return DreamStep(data, config, run).train();
}

}  // namespace reverie
