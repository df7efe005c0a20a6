#include "controller/iterate.h"

#include <fmt/format.h>

#include <chrono>

#include "controller/counters.h"
#include "controller/policy_agent.h"
#include "core/base/files.h"
#include "worldmodel/joined_episodes.h"
#include "worldmodel/latent_cache.h"
#include "worldmodel/train_mdnrnn.h"

namespace reverie {
namespace {

class Iteration {
 public:
  Iteration(std::shared_ptr<const EpisodeSource> data, const IterateConfig& config,
            const DreamStepConfig& step, const DreamStepRun& run, const CollectRound& collect)
      : sources_{std::move(data)}, config_(config), step_(step), run_(run), collect_(collect) {}

  TrainingResult run() {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t round = 1; round <= config_.rounds; ++round) {
      DreamStepRun next = run_;
      next.directory = directory(round);
      create_directory(next.directory);
      if (round > 1) {
        gather(round);
        fit_world(round);
        next.world = next.directory + "/world/world.pt";
        next.policy = config_.from_best ? best_policy() : last_policy(round - 1);
        next.imitate = config_.imitate;
        next.validate_start = false;  // it was validated in the round that it is from
      }
      world_ = next.world;
      const TrainingResult result = run_dream_step(JoinedEpisodes(sources_), step_, next);
      keep_metrics(next.directory, round);
      take(result, next.directory);
    }
    best_.updates = updates_;
    best_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best_.training = training_;
    best_.validation = validation_;
    best_.symbolic_steps = symbolic_steps_;
    return best_;
  }

 private:
  std::string directory(int64_t round) const {
    return fmt::format("{}/round-{}", run_.directory, round);
  }

  std::string best_policy() const { return run_.directory + "/policy.pt"; }
  /// With which a round ended.
  std::string last_policy(int64_t round) const { return directory(round) + "/last.pt"; }

  /// Lets the policy of the round before play.
  void gather(int64_t round) {
    const TrainedPolicy last = load_trained_policy(last_policy(round - 1), run_.device);
    last.world->set_mask_margin(step_.dream.mask_margin);
    const auto agent = make_policy_agent(
        last, {static_cast<uint64_t>(round), config_.dreamt, step_.dream.temperature});
    const CollectedRound collected =
        collect_(*agent, config_.episodes, directory(round) + "/rollouts");
    sources_.push_back(collected.episodes);
    training_ += collected.counters;
  }

  /// Goes on with the last M on all that was collected.
  void fit_world(int64_t round) {
    const std::string where = directory(round);
    const Checkpoint last = load_checkpoint(world_, "world");
    const auto encoder = load_encoder(last);
    encoder->to_device(run_.device);
    TrainMdnRnnConfig config = trained_with(last);
    config.fit.epochs = static_cast<int>(config_.epochs);
    const JoinedEpisodes data(sources_);
    Progress encoding("encode", data.state_count(), "states", run_.progress);
    const LatentEpisodes episodes(
        data, cached_latents(where + "/latents.pt", data, *encoder,
                             [&](int done) { encoding.update(done); }));
    const int members = member_count(last);
    Progress fitting("fit M", config_.epochs * members, "epochs", run_.progress);
    const std::string fit = where + "/world";
    create_directory(fit);
    const auto observe = [&](const FitProgress& done) {
      fitting.update(done.member * config_.epochs + done.epoch);
    };
    train_ensemble(episodes, *encoder, config, members, step_.seed, fit, run_.resume, run_.device,
                   observe, &last);
  }

  void take(const TrainingResult& result, const std::string& where) {
    if (!taken_ || result.best.above(best_.best)) {
      best_ = result;
      best_.best_update += updates_;
      taken_ = true;
      write_file(best_policy(), read_file(where + "/policy.pt"));
    }
    updates_ += result.updates;
    training_ += result.training;
    validation_ += result.validation;
    symbolic_steps_ += result.symbolic_steps;
  }

  /// Adds the round's metrics to those of the run, counted from its beginning.
  void keep_metrics(const std::string& where, int64_t round) {
    for (const MetricsRow& row : read_metrics(where + "/metrics.jsonl")) {
      Metrics kept = {{"round", static_cast<double>(round)}};
      for (const auto& [name, value] : row.values)
        kept.emplace_back(name, value + before_the_round(name));
      rows_.emplace_back(updates_ + row.step, std::move(kept));
    }
    MetricsWriter metrics(run_.directory);
    for (const auto& [step, row] : rows_) metrics.write(step, row);
  }

  /// What a counter among the metrics stood at; of others 0.
  double before_the_round(const std::string& name) const {
    if (name == "symbolic_steps") return static_cast<double>(symbolic_steps_);
    for (const auto& [field, counter] : kCounterFields) {
      if (name == std::string("training_") + field) return static_cast<double>(training_.*counter);
      if (name == std::string("validation_") + field)
        return static_cast<double>(validation_.*counter);
    }
    return 0;
  }

  std::vector<std::shared_ptr<const EpisodeSource>> sources_;
  const IterateConfig& config_;
  const DreamStepConfig& step_;
  const DreamStepRun& run_;
  const CollectRound& collect_;
  std::string world_;  // of the last round
  TrainingResult best_;
  bool taken_ = false;
  std::vector<std::pair<int64_t, Metrics>> rows_;
  int64_t updates_ = 0;
  EnvCounters training_, validation_;
  int64_t symbolic_steps_ = 0;
};

}  // namespace

TrainingResult run_iterated(std::shared_ptr<const EpisodeSource> data,
                            const IterateConfig& config, const DreamStepConfig& step,
                            const DreamStepRun& run, const CollectRound& collect) {
  if (config.rounds == 1) return run_dream_step(*data, step, run);
  return Iteration(std::move(data), config, step, run, collect).run();
}

}  // namespace reverie
