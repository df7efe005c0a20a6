#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/rounds/dream_step.h"
#include "core/base/files.h"
#include "env/toy/toy_environment.h"
#include "tests/support/latent_puzzle.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/untrained_world.h"
#include "worldmodel/encoder/latent_cache.h"
#include "worldmodel/encoder/train_vae.h"
#include "worldmodel/memory/train_mdnrnn.h"
#include "worldmodel/network/modules.h"

/// What is stopped and resumed gives the same bytes as what did not stop: each step that learns,
/// and each trainer.
namespace reverie {
namespace {

struct Stopped {};

/// A training with a fixed seed, small enough for seconds.
class Training {
 public:
  virtual ~Training() = default;
  /// Runs to the end. With `stop_at` it throws Stopped there, before the end.
  virtual void run(const std::string& directory, bool resume, int stop_at) = 0;
};

struct Case {
  std::string name;
  std::function<std::unique_ptr<Training>()> make;
  std::vector<int> stops;
  std::vector<std::string> files;  ///< that must be equal

  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
};

ToyConfig toy(bool several_entities) {
  return {.blocks = 3, .start_states = 8, .horizon = 12, .entities = several_entities};
}

std::function<void(const FitProgress&)> stop_after(int epoch) {
  return [epoch](const FitProgress& progress) {
    if (progress.epoch == epoch) throw Stopped();
  };
}

class FitV : public Training {
 public:
  explicit FitV(bool several_entities)
      : environment_(toy(several_entities)), data_(testing::random_episodes(environment_, 60, 1)) {
    config_.encoder.latent = 8;
    config_.encoder.width = 16;
    config_.encoder.blocks = 2;
    config_.fit.epochs = 4;
    config_.minibatch_graphs = 24;
    config_.states_per_epoch = 300;
  }
  void run(const std::string& directory, bool resume, int stop_at) override {
    train_vae(data_, config_, 5, directory, resume, torch::kCPU, stop_after(stop_at));
  }

 private:
  ToyEnvironment environment_;
  MemoryEpisodes data_;
  TrainVaeConfig config_;
};

class FitM : public Training {
 public:
  explicit FitM(bool several_entities)
      : environment_(toy(several_entities)),
        data_(testing::random_episodes(environment_, 60, 1)),
        encoder_(with_torch_seed(3, [&] { return make_encoder(untrained(), data_.spec()); })),
        episodes_(data_, encode_states(data_, *encoder_)) {
    config_.model.hidden = 24;
    config_.model.mixtures = 3;
    config_.loss.unroll_steps = 4;
    config_.loss.unroll_starts = 32;
    config_.minibatch_episodes = 8;
    config_.growth_epochs = 1;
    config_.fit.epochs = 4;
  }
  void run(const std::string& directory, bool resume, int stop_at) override {
    train_mdnrnn(episodes_, *encoder_, config_, 5, directory, resume, torch::kCPU,
                 stop_after(stop_at));
  }

 private:
  static EncoderConfig untrained() { return {encoder_kind("random"), 8, 16, 2}; }

  ToyEnvironment environment_;
  MemoryEpisodes data_;
  std::shared_ptr<GraphEncoder> encoder_;
  LatentEpisodes episodes_;
  TrainMdnRnnConfig config_;
};

/// A trainer on the puzzle; a validation between updates is where it stops.
class Train : public Training {
 public:
  explicit Train(TrainerKind kind) : puzzle_(16, 2, 8) {
    run_.trainer.trainer = kind;
    run_.trainer.policy.width = 8;
    run_.trainer.cmaes.population = 8;
    run_.base.spec = ToyEnvironment(ToyConfig{}).spec();
    run_.plan.updates = 6;
    run_.plan.validate_every = 2;
  }
  void run(const std::string& directory, bool resume, int stop_at) override {
    int64_t steps = 0;
    const auto validate = [&](Policy&, int64_t update) {
      if (stop_at > 0 && update == stop_at) throw Stopped();
      ++steps;
      return Validation{{static_cast<double>(update), 0}, {}};
    };
    const auto counters = [&] {
      EnvCounters all;
      all.steps = steps;
      return all;
    };
    run_.directory = directory;
    run_.resume = resume;
    train_policy(puzzle_, {validate, counters}, run_);
  }

 private:
  LatentPuzzle puzzle_;
  TrainingRun run_;
};

/// The step dream_train, asked to stop after each of the first updates.
class DreamStep : public Training {
 public:
  DreamStep()
      : environment_(std::make_shared<ToyEnvironment>(ToyConfig{2, 4, 8})),
        world_(environment_->spec()),
        data_(testing::random_episodes(*environment_, 20, 1)) {
    save_checkpoint(models_ / "world.pt", world_.checkpoint());
    config_.plan.updates = 4;
    config_.plan.batch = 16;
    config_.plan.validate_every = 2;
    config_.trainer.policy.width = 16;
    config_.validation.dreams = 4;
    config_.validation.sampled = 1;
  }
  void run(const std::string& directory, bool resume, int stop_at) override {
    DreamStepRun run;
    run.world = models_ / "world.pt";
    run.training = run.validation = environment_;
    run.directory = directory;
    run.resume = resume;
    if (stop_at > 0) config_.plan.stop.request();
    for (int update = 1; update <= stop_at; ++update) {
      run.resume = update > 1;
      EXPECT_THROW(run_dream_step(data_, config_, run), Interrupted);
    }
    if (stop_at > 0) throw Stopped();
    run_dream_step(data_, config_, run);
  }

 private:
  TemporaryDirectory models_;
  std::shared_ptr<ToyEnvironment> environment_;
  testing::UntrainedWorld world_;
  MemoryEpisodes data_;
  DreamStepConfig config_;
};

template <class T, class... Args>
std::function<std::unique_ptr<Training>()> maker(Args... args) {
  return [=] { return std::make_unique<T>(args...); };
}

std::vector<Case> cases() {
  const std::vector<std::string> policy = {"policy.pt", "last.pt", "training.pt", "metrics.jsonl"};
  return {{"VOfOneEntity", maker<FitV>(false), {1, 2}, {"encoder.pt"}},
          {"VOfSeveralEntities", maker<FitV>(true), {2}, {"encoder.pt"}},
          {"MOfOneEntity", maker<FitM>(false), {2}, {"world.pt"}},
          {"MOfSeveralEntities", maker<FitM>(true), {1, 2}, {"world.pt"}},
          {"Ppo", maker<Train>(TrainerKind::kPpo), {2, 4}, policy},
          {"CmaEs", maker<Train>(TrainerKind::kCmaEs), {2, 4}, policy},
          {"Reinforce", maker<Train>(TrainerKind::kReinforce), {2, 4}, policy},
          {"Dqn", maker<Train>(TrainerKind::kDqn), {2, 4}, policy},
          {"DreamStep", maker<DreamStep>(), {1, 3}, policy}};
}

class Resume : public ::testing::TestWithParam<Case> {
 protected:
  Resume() { torch::set_num_threads(1); }  // sums have one order
};

TEST_P(Resume, StoppingAndResumingEqualsNotStopping) {
  const TemporaryDirectory whole;
  GetParam().make()->run(whole.path(), false, 0);
  for (const int stop_at : GetParam().stops) {
    const TemporaryDirectory parts;
    EXPECT_THROW(GetParam().make()->run(parts.path(), false, stop_at), Stopped);
    GetParam().make()->run(parts.path(), true, 0);
    for (const std::string& file : GetParam().files)
      EXPECT_TRUE(read_file(whole / file) == read_file(parts / file))
          << file << ", stopped at " << stop_at;
  }
}

INSTANTIATE_TEST_SUITE_P(Learning, Resume, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reverie
