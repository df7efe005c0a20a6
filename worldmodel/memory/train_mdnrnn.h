#pragma once

#include <functional>
#include <memory>
#include <string>

#include "worldmodel/encoder/encoder.h"
#include "worldmodel/memory/open_loop.h"
#include "worldmodel/memory/outcome.h"
#include "worldmodel/memory/starts.h"
#include "worldmodel/memory/world_loss.h"
#include "worldmodel/network/fit.h"

namespace reverie {

struct TrainMdnRnnConfig {
  static FitConfig default_fit() {
    FitConfig fit;
    fit.epochs = 20;
    fit.learning_rate = 6e-3;
    return fit;
  }

  WorldModelConfig model;
  WorldLossConfig loss;
  OutcomeConfig outcome;
  FitConfig fit = default_fit();
  int minibatch_episodes = 2;
  int episodes_per_epoch = 500;
  int validation_episodes = 100;
  int growth_epochs = 2;

  template <class V>
  void fields(V& v) {
    fit.fields(v);
    v.field("minibatch_episodes", minibatch_episodes, "Episodes in a minibatch", at_least(1));
    v.field("episodes_per_epoch", episodes_per_epoch, "Most episodes in an epoch", at_least(1));
    v.field("validation_episodes", validation_episodes, "Most episodes in a validation",
            at_least(1));
    v.field("growth_epochs", growth_epochs, "Epochs after which unrolls grow by one step",
            at_least(1));
    v.section("model", model, "M");
    v.section("loss", loss, "Weights of the losses");
    v.section("outcome", outcome,
              "What M says where the environment knows its dynamics, for grey-box dreams");
  }
};

/// With which the world model in a checkpoint of kind "world" was trained.
TrainMdnRnnConfig trained_with(const Checkpoint& world);

/// Trains M on the episodes of the training split and writes `directory`/world.pt, which holds V
/// too. `data` holds the latents that `encoder` gives. With `from` (kind "world") it goes on from
/// that M and what that knows of scales, with unrolls of full length from the first epoch.
FitResult train_mdnrnn(const LatentEpisodes& data, const Encoder& encoder,
                       const TrainMdnRnnConfig& config, uint64_t seed, const std::string& directory,
                       bool resume, torch::Device device,
                       const std::function<void(const FitProgress&)>& observe,
                       const Checkpoint* from = nullptr);

/// Steps ahead that M is judged at.
inline const std::vector<int> kOpenLoopSteps = {1, 5, 10, 25, 50};

/// Judges the M in `directory`/world.pt on the episodes that are held out for testing, or for
/// validation where there are none (open_loop), and keeps that in the file (put_open_loop). Empty
/// where no episodes are held out.
std::vector<OpenLoopRow> judge_world(const LatentEpisodes& data, const std::vector<int>& steps,
                                     const std::string& directory, torch::Device device);

}  // namespace reverie
