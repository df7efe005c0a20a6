#include "controller/rounds/iterate.h"

#include <fmt/format.h>

#include "controller/rounds/policy_agent.h"
#include "controller/train/training_series.h"
#include "core/base/files.h"
#include "core/base/stopwatch.h"
#include "worldmodel/batch/joined_episodes.h"
#include "worldmodel/encoder/latent_cache.h"
#include "worldmodel/memory/train_mdnrnn.h"

namespace reverie {
namespace {

class Iteration {
 public:
  Iteration(std::shared_ptr<const EpisodeSource> data, const IterateConfig& config,
            const DreamStepConfig& step, const DreamStepRun& run, const CollectRound& collect)
      : sources_{std::move(data)},
        config_(config),
        step_(step),
        run_(run),
        collect_(collect),
        series_(run.directory, "round", run.resume) {}

  TrainingResult run() {
    for (int64_t round = 1; round <= config_.rounds; ++round) {
      DreamStepRun next = run_;
      next.directory = directory(round);
      create_directory(next.directory);
      if (round > 1) {
        next.seconds_before = gather(round);
        next.seconds_before += fit_world(round);
        next.world = next.directory + "/world/world.pt";
        next.policy = policy_;
        next.validate_start = false;  // it was validated in the round that it is from
      }
      world_ = next.world;
      const TrainingResult result = run_dream_step(JoinedEpisodes(sources_), step_, next);
      series_.add(result, next.directory);
      policy_ = series_.best_score().above(result.last) ? series_.best() + "/policy.pt"
                                                        : next.directory + "/last.pt";
    }
    return series_.result();
  }

 private:
  std::string directory(int64_t round) const {
    return fmt::format("{}/round-{}", run_.directory, round);
  }

  /// Lets the policy that this round goes on from play. Returns the seconds it took.
  double gather(int64_t round) {
    const Stopwatch watch;
    const TrainedPolicy last = load_trained_policy(policy_, run_.device);
    const auto agent = make_policy_agent(last, static_cast<uint64_t>(round));
    const CollectedRound collected =
        collect_(*agent, config_.episodes, directory(round) + "/rollouts");
    sources_.push_back(collected.episodes);
    series_.add_training(collected.counters);
    return watch.seconds();
  }

  /// Goes on with the last M on all that was collected. Returns the seconds it took.
  double fit_world(int64_t round) {
    const Stopwatch watch;
    const std::string where = directory(round);
    const Checkpoint last = load_checkpoint(world_, "world");
    const auto encoder = load_encoder(last);
    encoder->to_device(run_.device);
    TrainMdnRnnConfig config = trained_with(last);
    config.fit.epochs = static_cast<int>(config_.epochs);
    config.fit.stop = step_.plan.stop;
    const JoinedEpisodes data(sources_);
    Progress encoding("encode", data.state_count(), "states", run_.progress);
    const LatentEpisodes episodes(data, cached_latents(where + "/latents.pt", data, *encoder,
                                                       [&](int done) { encoding.update(done); }));
    Progress fitting("fit M", config_.epochs, "epochs", run_.progress);
    const std::string fit = where + "/world";
    create_directory(fit);
    const auto observe = [&](const FitProgress& done) { fitting.update(done.epoch); };
    const double encoded = watch.seconds();
    const double fitted = train_mdnrnn(episodes, *encoder, config, step_.seed, fit, run_.resume,
                                       run_.device, observe, &last)
                              .seconds;
    const Stopwatch judging;
    judge_world(episodes, kOpenLoopSteps, fit, run_.device);
    return encoded + fitted + judging.seconds();
  }

  std::vector<std::shared_ptr<const EpisodeSource>> sources_;
  const IterateConfig& config_;
  const DreamStepConfig& step_;
  const DreamStepRun& run_;
  const CollectRound& collect_;
  std::string world_;   // of the last round
  std::string policy_;  // to go on from
  TrainingSeries series_;
};

}  // namespace

TrainingResult run_iterated(std::shared_ptr<const EpisodeSource> data, const IterateConfig& config,
                            const DreamStepConfig& step, const DreamStepRun& run,
                            const CollectRound& collect) {
  if (config.rounds == 1) return run_dream_step(*data, step, run);
  REVERIE_CHECK(run.processes.count() == 1);
  return Iteration(std::move(data), config, step, run, collect).run();
}

}  // namespace reverie
