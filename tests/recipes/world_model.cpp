// All of it in one file: episodes of the toy, V, M, a dream, a policy that learns in that dream
// alone, and its evaluation in the real environment, whose optimum is known.
#include <fmt/format.h>

#include "controller/train/trainer_config.h"
#include "controller/validate/validation.h"
#include "core/base/scratch_folder.h"
#include "datasets/collect.h"
#include "env/toy/toy_environment.h"
#include "worldmodel/batch/rollout_episodes.h"
#include "worldmodel/encoder/latent_cache.h"
#include "worldmodel/encoder/train_vae.h"
#include "worldmodel/latent/dream.h"
#include "worldmodel/memory/train_mdnrnn.h"

using namespace reverie;

int main() {
  torch::set_num_threads(1);  // sums have one order
  const ScratchFolder folder;
  const std::string runs = folder.path().string();
  const ToyEnvironment toy({.blocks = 3, .start_states = 4, .horizon = 18, .entities = true});
  const EnvSpec& spec = toy.spec();

  // Collect: random episodes in the real environment.
  CollectConfig random;
  random.agent = "random";
  random.episodes = 150;
  const CollectResult played = collect(toy, *make_collect_agent(random), random,
                                       {.directory = runs, .seed = 1, .config = ""});
  const RolloutEpisodes data(Rollouts::open(runs));

  // V: from graphs to latents.
  TrainVaeConfig vae;
  vae.encoder = {.latent = 12, .width = 24, .blocks = 2};
  vae.minibatch_graphs = 32;
  vae.fit.epochs = 12;
  train_vae(data, vae, 5, runs, false, torch::kCPU, {});
  const auto v = load_encoder(load_checkpoint(runs + "/encoder.pt", "encoder"));

  // M: what an action does to a latent.
  TrainMdnRnnConfig mdn;
  mdn.model.hidden = 48;
  mdn.model.mixtures = 3;
  mdn.minibatch_episodes = 8;
  mdn.fit.epochs = 15;
  mdn.fit.learning_rate = 4e-3;
  const LatentEpisodes episodes(data, encode_states(data, *v));
  train_mdnrnn(episodes, *v, mdn, 5, runs, false, torch::kCPU, {});
  const auto m = load_world_model(load_checkpoint(runs + "/world.pt", "world"));

  // C: a policy that learns in the dream, which makes no step of the toy. Evaluation is real.
  TrainerConfig ppo;
  ppo.policy.width = 32;
  ppo.ppo.learning_rate = 3e-3;
  ppo.ppo.minibatch = 128;
  DreamEnvironment dream(m, dream_starts(episodes, *m), {}, 64);
  const auto trainer = make_trainer(m->spec(), ppo, 3);
  const auto evaluate = [&] {
    Rng rng(1);
    EnvCounters work;
    return play_for_real(toy, v, m, trainer->policy(), true, 1, false, rng, work).improvement.mean;
  };
  const double untrained = evaluate();
  constexpr int kUpdates = 30;
  for (uint64_t update = 0; update < kUpdates; ++update)
    trainer->update(dream, static_cast<double>(update) / kUpdates, update);
  const double learned = evaluate();
  double optimum = 0;
  const auto real = toy.fork();
  for (int start = 0; start < spec.start_states(); ++start) {
    real->reset(static_cast<uint64_t>(start));
    optimum += spec.improvement_percent(real->info().objective(spec), toy.optimal_cost(start)) /
               spec.start_states();
  }
  fmt::print(
      "gain: random {:.2f} %, policy untrained {:.2f} %, trained {:.2f} %, optimum {:.2f} %\n",
      played.mean_improvement_percent, untrained, learned, optimum);
  return learned > optimum - 1 ? 0 : 1;
}
