#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "controller/actor_critic.h"
#include "core/models/models.h"
#include "env/rewrite/rewrite_environment.h"
#include "env/toy/toy_environment.h"
#include "tests/benchmark/machine.h"
#include "worldmodel/dream.h"
#include "worldmodel/live.h"
#include "worldmodel/torch.h"

namespace reverie::bench {
namespace {

constexpr double kNeverEnds = -20;  // logit of M's end: trajectories run to the horizon

std::unique_ptr<Environment> make_environment(const std::string& name, bool regions) {
  if (name == "toy") return std::make_unique<ToyEnvironment>(ToyConfig{.blocks = 8, .regions = regions});
  ModelOptions options;
  options.light = true;
  std::vector<StartGraph> starts;
  starts.push_back({name, build_model(name, options)});
  RewriteEnvConfig config;
  if (!regions) config.region_nodes = 0;
  return std::make_unique<RewriteEnvironment>(std::move(starts),
                                              std::make_shared<const RuleSet>(RuleSet::builtin()),
                                              make_cost_model("roofline:t4"), config);
}

/// V, M and C of default sizes with random weights, before a real environment and in a dream that
/// begins where it does.
struct Worlds {
  Worlds(const std::string& name, int batch, bool regions) : real(make_environment(name, regions)) {
    torch::manual_seed(1);
    const EncoderConfig vae;
    encoder = std::make_shared<GraphEncoder>(vae, real->spec());
    spec.latent = vae.latent;
    spec.hidden = config.hidden;
    spec.env = real->spec();
    spec.regions = spec.env.regions;
    MdnRnn network(config, spec, regions ? RegionPool(vae.latent, 2 * vae.width) : nullptr);
    torch::NoGradGuard guard;
    const auto columns = network->columns();
    network->head->bias[columns[0] + columns[1]] = kNeverEnds;
    head_columns_ = static_cast<double>(network->head->options.out_features());
    world = std::make_shared<MdnWorldModel>(network);
    live = std::make_unique<LiveLatentEnvironment>(*real, encoder, world, batch);
    dream = std::make_unique<DreamEnvironment>(world, starts(batch),
                                               DreamConfig{.depth = spec.env.horizon}, batch);
    policy = std::make_unique<ActorCriticPolicy>("actor", ActorCritic(spec, ActorCriticConfig{}));
  }

  /// The start, as often as there are trajectories.
  StartStates starts(int batch) {
    real->reset(0);
    const std::vector<Observation> seen(static_cast<size_t>(batch), real->observe());
    const ObservationBatch observed = batch_observations(std::span<const Observation>(seen), spec.env);
    const Latents latents = encoder->encode(observed);
    if (latents.neighbours.defined())
      rows_ = 1 + latents.neighbours.ge(0).sum(-1).to(torch::kFloat).mean().item<double>();
    const auto zeros = torch::zeros({batch}, torch::kInt64);
    return {world->begin(latents), observed.mask, zeros, zeros, {zeros, zeros}, torch::zeros({batch})};
  }

  /// Of the matrix products of M, one trajectory, one step: on every row where there are regions, of
  /// which there are as many as a region of the start and its neighbours on the mean.
  double world_flops() const {
    const double hidden = config.hidden, actions = spec.env.primary_actions();
    const double context = spec.regions > 1 ? 2 * spec.latent + 1 : 0;
    const double input = spec.latent + actions + config.embedding + kLocationFeatures + context;
    return rows_ * 2 * hidden * (input + 2 * 4 * hidden + 2 * hidden + head_columns_);
  }

  /// Of the matrix products of C, those on single regions and locations apart.
  double policy_flops() const {
    const ActorCriticConfig c;
    const double width = static_cast<double>(c.width), inputs = static_cast<double>(policy_feature_count(spec));
    const double location = static_cast<double>(c.head.location_width);
    const double heads = width * (spec.env.primary_actions() + location) +
                         location * (static_cast<double>(c.head.rule_embedding) + location);
    return 2 * (2 * width * (inputs + width) + width + heads);
  }

  std::unique_ptr<Environment> real;
  WorldModelConfig config;
  LatentSpec spec;
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<MdnWorldModel> world;
  std::unique_ptr<LiveLatentEnvironment> live;
  std::unique_ptr<DreamEnvironment> dream;
  std::unique_ptr<Policy> policy;

 private:
  double head_columns_ = 0;
  double rows_ = 1;  // that M works on in a step of one trajectory
};

double seconds_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Steps of the dream, with the actor-critic choosing or with actions that are there. Items are
/// steps of one trajectory. `of_fastest` is the share of the fastest matrix product; `best_of_fastest`
/// that of the quickest step, as the product's own rate is its best on a machine with other work.
void DreamStep(benchmark::State& state, const char* name, bool regions, bool with_policy) {
  const int64_t batch = state.range(0);
  Worlds worlds(name, static_cast<int>(batch), regions);
  Rng rng(1);
  RandomPolicy random;
  LatentObservation observation = worlds.dream->reset(1);
  LatentActions actions = random.act(observation, false, rng).actions;
  uint64_t steps = 0;
  double best = 1e300;
  for (auto _ : state) {
    best = std::min(best, seconds_of([&] {
      if (with_policy) actions = worlds.policy->act(observation, false, rng).actions;
      worlds.dream->step(actions);
      observation = worlds.dream->observe();
    }));
    if (++steps % static_cast<uint64_t>(worlds.spec.env.horizon) == 0)
      observation = worlds.dream->reset(steps);
  }
  const double each = worlds.world_flops() + (with_policy ? worlds.policy_flops() : 0);
  const auto items = static_cast<double>(state.iterations() * batch);
  state.SetItemsProcessed(state.iterations() * batch);
  state.counters["flops_per_item"] = each;
  state.counters["of_fastest"] =
      benchmark::Counter(each * items / fastest_matrix_product(), benchmark::Counter::kIsRate);
  state.counters["best_of_fastest"] =
      each * static_cast<double>(batch) / best / fastest_matrix_product();
}
BENCHMARK_CAPTURE(DreamStep, squeezenet1_1_M, "squeezenet1_1", true, false)
    ->Arg(64)->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DreamStep, squeezenet1_1_M_and_C, "squeezenet1_1", true, true)
    ->Arg(64)->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DreamStep, bert_base_M_and_C, "bert_base", true, true)
    ->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DreamStep, squeezenet1_1_flat_M, "squeezenet1_1", false, false)
    ->Arg(64)->Arg(256)->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DreamStep, squeezenet1_1_flat_M_and_C, "squeezenet1_1", false, true)
    ->Arg(64)->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DreamStep, toy_flat_M, "toy", false, false)
    ->Arg(64)->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Random play before the real environment and in the dream, in turns, each with time of its own.
/// Items are live steps of trajectories that run; `ratio` is dream steps per live step.
void LiveAgainstDream(benchmark::State& state, const char* name) {
  const int64_t batch = state.range(0);
  Worlds worlds(name, static_cast<int>(batch), true);
  Rng rng(1);
  RandomPolicy random;
  LatentObservation real = worlds.live->reset(1), dreamt = worlds.dream->reset(1);
  double live_steps = 0, live_seconds = 0, dream_steps = 0, dream_seconds = 0;
  int64_t running = batch;
  uint64_t episode = 1;
  for (auto _ : state) {
    const auto chosen = random.act(real, false, rng).actions;
    LatentStep step;
    const double seconds = seconds_of([&] { step = worlds.live->step(chosen); });
    state.SetIterationTime(seconds);
    live_seconds += seconds;
    live_steps += static_cast<double>(running);
    const auto dream_actions = random.act(dreamt, false, rng).actions;
    dream_seconds += seconds_of([&] { worlds.dream->step(dream_actions); });
    dream_steps += static_cast<double>(batch);
    running = batch - step.terminated.logical_or(step.truncated).sum().item<int64_t>();
    real = running > 0 ? worlds.live->observe() : worlds.live->reset(++episode);
    dreamt = running > 0 ? worlds.dream->observe() : worlds.dream->reset(episode);
    if (running == 0) running = batch;
  }
  state.SetItemsProcessed(static_cast<int64_t>(live_steps));
  state.counters["live_per_second"] = live_steps / live_seconds;
  state.counters["dream_per_second"] = dream_steps / dream_seconds;
  state.counters["ratio"] = (dream_steps / dream_seconds) / (live_steps / live_seconds);
}
BENCHMARK_CAPTURE(LiveAgainstDream, toy, "toy")
    ->Arg(256)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(LiveAgainstDream, squeezenet1_1, "squeezenet1_1")
    ->Arg(256)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(60);
BENCHMARK_CAPTURE(LiveAgainstDream, bert_base, "bert_base")
    ->Arg(64)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(60);

}  // namespace
}  // namespace reverie::bench
