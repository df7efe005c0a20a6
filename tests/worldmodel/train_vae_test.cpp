#include "worldmodel/encoder/train_vae.h"

#include <gmock/gmock.h>

#include <string>
#include <tuple>

#include "env/toy/toy_environment.h"
#include "tests/support/fit_metrics.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/temporary_directory.h"
#include "worldmodel/encoder/latent_cache.h"

namespace reverie {
namespace {

/// V of each kind that is trained, of one entity and of several: small models that train in seconds
/// on one thread.
class TrainVae : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  TrainVae()
      : toy(ToyConfig{.blocks = 3, .start_states = 8, .horizon = 12, .entities = several()}),
        data(testing::random_episodes(toy, 100, 1)) {
    torch::set_num_threads(1);
    config.encoder.kind = encoder_kind(std::get<std::string>(GetParam()));
    config.encoder.latent = 8;
    config.encoder.width = 16;
    config.encoder.blocks = 2;
    config.fit.epochs = 8;
    config.fit.learning_rate = 4e-3;
    config.minibatch_graphs = 24;
    config.states_per_epoch = 600;
  }

  static bool several() { return std::get<bool>(GetParam()); }
  void train(const std::string& directory,
             const std::function<void(const FitProgress&)>& observe = {}) {
    train_vae(data, config, 5, directory, false, torch::kCPU, observe);
  }
  /// Shares of validation losses that are left at the end, as the best epoch has them.
  void expect_learnt(const std::vector<std::string>& parts) {
    FitMetrics start, best;
    train(first.path(), [&](const FitProgress& progress) {
      if (progress.epoch == 1) start = progress.metrics;
      if (progress.best) best = progress.metrics;
    });
    for (const std::string& part : parts)
      EXPECT_LT(testing::value(best, "validation/" + part),
                0.85 * testing::value(start, "validation/" + part))
          << part;
  }

  ToyEnvironment toy;
  MemoryEpisodes data;
  TrainVaeConfig config;
  TemporaryDirectory first, second;
};

TEST_P(TrainVae, LearnsWhatTheStateHolds) {
  std::vector<std::string> parts = {"presence", "counts", "statistics", "node_types"};
  if (several())
    for (const char* part : {"entity_presence", "entity_gains", "entity_types", "entity_shares"})
      parts.push_back(part);
  expect_learnt(parts);
  const auto encoder = load_encoder(load_checkpoint(first / "encoder.pt", "encoder"));
  const Latents latents = encode_states(data, *encoder);
  EXPECT_EQ(latents.z.sizes(), (std::vector<int64_t>{data.state_count(), 8}));
  EXPECT_LT(latents.z.abs().max().item<float>(), 1);
  EXPECT_EQ(latents.entities.size(1), several() ? 3 : 1);
}

TEST_P(TrainVae, KeptLatentsAreThoseEncoded) {
  config.fit.epochs = 1;
  train(first.path());
  const auto encoder = load_encoder(load_checkpoint(first / "encoder.pt", "encoder"));
  Latents made = cached_latents(second / "latents.pt", data, *encoder);
  Latents kept = cached_latents(second / "latents.pt", data, *encoder,
                                [](int) { ADD_FAILURE() << "encoded again"; });
  for (size_t i = 0; i < made.tensors().size(); ++i) {
    EXPECT_TRUE(torch::equal(*made.tensors()[i], *kept.tensors()[i]));
  }
}

std::vector<std::string> trained_kinds() {
  std::vector<std::string> names;
  for (const RegisteredEncoder& encoder : registered_encoders())
    if (encoder.trained) names.emplace_back(encoder.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, TrainVae, ::testing::Combine(::testing::ValuesIn(trained_kinds()), ::testing::Bool()),
    [](const auto& info) {
      return std::get<std::string>(info.param) + (std::get<bool>(info.param) ? "_several" : "_one");
    });

}  // namespace
}  // namespace reverie
