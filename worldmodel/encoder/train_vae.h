#pragma once

#include <functional>
#include <memory>
#include <string>

#include "worldmodel/batch/episode_source.h"
#include "worldmodel/encoder/vae.h"
#include "worldmodel/network/fit.h"

namespace reverie {

struct TrainVaeConfig {
  EncoderConfig encoder;
  VaeLossConfig loss;
  FitConfig fit;
  int minibatch_nodes = 6000;
  int minibatch_graphs = 64;
  int states_per_epoch = 2000;
  int validation_states = 500;

  template <class V>
  void fields(V& v) {
    fit.fields(v);
    v.field("minibatch_nodes", minibatch_nodes, "Most nodes in a minibatch", at_least(1));
    v.field("minibatch_graphs", minibatch_graphs, "Most graphs in a minibatch", at_least(1));
    v.field("states_per_epoch", states_per_epoch, "Most distinct states in an epoch", at_least(1));
    v.field("validation_states", validation_states, "Most states in a validation", at_least(1));
    v.section("encoder", encoder, "V");
    v.section("loss", loss, "Weights of the reconstruction losses");
  }
};

/// Trains V on the distinct states of the training split and writes `directory`/encoder.pt. Losses
/// on the validation split are those of reconstructing its states from the latents' means.
/// A V that is not trained is written as it was initialised, its input statistics set.
FitResult train_vae(const EpisodeSource& data, const TrainVaeConfig& config, uint64_t seed,
                    const std::string& directory, bool resume, torch::Device device,
                    const std::function<void(const FitProgress&)>& observe);

}  // namespace reverie
