#include "controller/dream_step.h"

#include "worldmodel/live.h"
#include "worldmodel/latent_cache.h"
#include "worldmodel/symbolic.h"

namespace reverie {
namespace {

struct Models {
  Checkpoint checkpoint;
  std::shared_ptr<Encoder> encoder;
  Members members;

  std::shared_ptr<WorldModel> world() const { return members.front(); }
};

Models load_models(const std::string& path, const EnvSpec& spec, double mask_margin,
                   torch::Device device) {
  Models models;
  models.checkpoint = load_checkpoint(path, "world");
  require_same_actions(path, models.checkpoint, spec);
  models.encoder = load_encoder(models.checkpoint);
  models.members = load_members(models.checkpoint);
  models.encoder->to_device(device);
  for (const auto& member : models.members) {
    member->to_device(device);
    member->set_mask_margin(mask_margin);
  }
  return models;
}

std::unique_ptr<LatentEnvironment> place_to_learn(const LatentEpisodes& episodes,
                                                  const Models& models,
                                                  const DreamStepConfig& config,
                                                  const DreamStepRun& run) {
  const auto batch = static_cast<int>(config.plan.batch);
  if (config.environment == LearningPlace::kLive)
    return std::make_unique<LiveLatentEnvironment>(*run.training, models.encoder,
                                                   models.world(), batch);
  if (config.environment == LearningPlace::kSymbolic)
    return std::make_unique<SymbolicEnvironment>(*run.training, models.encoder, models.world(),
                                                 batch);
  return make_dream(episodes, models.members, config.dream, batch);
}

LatentEpisodes encoded(const EpisodeSource& data, const Models& models, const DreamStepRun& run) {
  Progress progress("encode", data.state_count(), "states", run.progress);
  return {data, cached_latents(run.directory + "/latents.pt", data, *models.encoder,
                               [&](int done) { progress.update(done); })};
}

}  // namespace

TrainingResult run_dream_step(const EpisodeSource& data, const DreamStepConfig& config,
                              const DreamStepRun& run) {
  const Models models = load_models(run.world, data.spec(), config.dream.mask_margin, run.device);
  const LatentEpisodes episodes = encoded(data, models, run);
  const auto environment = place_to_learn(episodes, models, config, run);
  RealJudge judge(run.validation, models.encoder, models.world(), config.validation, config.seed);
  TrainingRun training;
  training.trainer = config.trainer;
  training.plan = config.plan;
  training.clone = config.clone;
  if (!run.policy.empty()) {
    training.initial = load_checkpoint(run.policy, "policy");
    require_same_actions(run.policy, *training.initial, data.spec());
  }
  if ((run.policy.empty() || run.imitate) && config.clone.share > 0)
    training.demonstrations = demonstrations(episodes, *models.world(), config.clone.share);
  training.validate_start = run.validate_start;
  training.seed = config.seed;
  training.base = models.checkpoint;
  training.base.config = dump_config(config);
  if (!run.environment.empty()) training.base.configs["environment"] = run.environment;
  training.directory = run.directory;
  training.resume = run.resume;
  training.progress = run.progress;
  training.device = run.device;
  return train_policy(*environment, judge.judge(), training);
}

}  // namespace reverie
