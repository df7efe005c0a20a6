#include "worldmodel/latent/dream.h"

#include <ATen/record_function.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controller/policy/actor_critic.h"
#include "core/base/stopwatch.h"
#include "core/models/models.h"
#include "env/rewrite/rewrite_environment.h"
#include "env/toy/toy_environment.h"
#include "tests/benchmark/machine.h"
#include "tests/support/random_actions.h"
#include "worldmodel/encoder/graph_encoder.h"
#include "worldmodel/latent/live.h"
#include "worldmodel/network/torch.h"

namespace reverie::bench {
namespace {

constexpr double kNeverEnds = -20;  // logit of M's end: trajectories run to the horizon

std::unique_ptr<Environment> make_environment(const std::string& name, bool regions) {
  if (name == "toy")
    return std::make_unique<ToyEnvironment>(ToyConfig{.blocks = 8, .entities = regions});
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

/// [A] int64, 1 for rules of which a random episode has choices: those that M speaks of.
torch::Tensor seen_in_play(Environment& environment) {
  Rng rng(1);
  environment.reset(1);
  auto seen = torch::zeros({environment.spec().primary_actions()}, torch::kInt64);
  for (bool over = false; !over;) {
    const ActionMask mask = environment.mask();
    for (int rule = 0; rule < environment.spec().no_op(); ++rule)
      if (mask.total(rule) > 0) seen[rule] = 1;
    const StepResult result = environment.step(testing::random_action(mask, rng, 0));
    over = result.terminated || result.truncated;
  }
  return seen;
}

/// V, M and C of default sizes with random weights, before a real environment and in a dream that
/// begins where it does.
struct Worlds {
  Worlds(const std::string& name, int batch, bool regions) : real(make_environment(name, regions)) {
    torch::manual_seed(1);
    const EncoderConfig vae;
    encoder = make_encoder(vae, real->spec());
    spec.latent = vae.latent;
    spec.hidden = config.hidden;
    spec.env = real->spec();
    MdnRnn network(config, spec, EntityPool(vae.latent, 2 * vae.width));
    torch::NoGradGuard guard;
    const auto columns = network->columns();
    network->head->bias[columns[0] + columns[1]] = kNeverEnds;
    network->seen.copy_(seen_in_play(*real));
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
    const ObservationBatch observed =
        batch_observations(std::span<const Observation>(seen), spec.env);
    const Latents latents = encoder->encode(observed);
    const auto zeros = torch::zeros({batch}, torch::kInt64);
    return {world->begin(latents), observed.mask,        zeros, zeros,
            {zeros, zeros, zeros}, torch::zeros({batch})};
  }

  std::unique_ptr<Environment> real;
  WorldModelConfig config;
  LatentSpec spec;
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<MdnWorldModel> world;
  std::unique_ptr<LiveLatentEnvironment> live;
  std::unique_ptr<DreamEnvironment> dream;
  std::unique_ptr<Policy> policy;
};

/// Counts the FLOPs of the matrix products that LibTorch carries out, on all threads, while it
/// lives.
class ProductCount {
 public:
  ProductCount()
      : handle_(at::addGlobalCallback(at::RecordFunctionCallback(add).needsInputs(true))) {
    flops_ = 0;
  }
  ~ProductCount() { at::removeCallback(handle_); }
  ProductCount(const ProductCount&) = delete;
  ProductCount& operator=(const ProductCount&) = delete;

  int64_t flops() const { return flops_; }

 private:
  static std::unique_ptr<at::ObserverContext> add(const at::RecordFunction& call) {
    const std::string_view name = call.name();
    if (name != "aten::addmm" && name != "aten::mm" && name != "aten::bmm") return nullptr;
    const size_t first = name == "aten::addmm" ? 1 : 0;  // after what it is added to
    const auto left = call.inputs()[first].toTensor(), right = call.inputs()[first + 1].toTensor();
    flops_ += 2 * left.numel() * right.size(-1);
    return nullptr;
  }

  static inline std::atomic<int64_t> flops_ = 0;
  at::CallbackHandle handle_;
};

double seconds_of(const std::function<void()>& run) {
  const Stopwatch watch;
  run();
  return watch.seconds();
}

/// Steps of the dream, with the actor-critic choosing or with actions that are there; the same ones
/// whenever it is made.
class DreamPlay {
 public:
  DreamPlay(Worlds& worlds, bool with_policy)
      : worlds_(worlds), with_policy_(with_policy), observation_(worlds.dream->reset(1)) {
    actions_ = RandomPolicy().act(observation_, false, rng_).actions;
  }

  void step() {
    if (with_policy_) actions_ = worlds_.policy->act(observation_, false, rng_).actions;
    worlds_.dream->step(actions_);
    observation_ = worlds_.dream->observe();
  }
  /// After each step, so that episodes that are over begin anew.
  void go_on(uint64_t steps) {
    if (steps % static_cast<uint64_t>(worlds_.spec.env.horizon) == 0)
      observation_ = worlds_.dream->reset(steps);
  }

 private:
  Worlds& worlds_;
  bool with_policy_;
  Rng rng_{1};
  LatentObservation observation_;
  LatentActions actions_;
};

/// Items are steps of one trajectory. `of_fastest` is the share of the fastest matrix product that
/// the products of M and C reach, `best_of_fastest` that of the step that reaches most, as the
/// fastest product is the best of many too on a machine with other work.
void DreamStep(benchmark::State& state, const char* name, bool regions, bool with_policy) {
  const int64_t batch = state.range(0);
  Worlds worlds(name, static_cast<int>(batch), regions);
  std::vector<double> seconds;
  DreamPlay play(worlds, with_policy);
  for (auto _ : state) {
    seconds.push_back(seconds_of([&] { play.step(); }));
    play.go_on(seconds.size());
  }
  double flops = 0, time = 0, best = 0;
  DreamPlay counted(worlds, with_policy);
  for (size_t i = 0; i < seconds.size(); ++i) {
    const ProductCount count;
    counted.step();
    const auto products = static_cast<double>(count.flops());
    counted.go_on(i + 1);
    flops += products;
    time += seconds[i];
    best = std::max(best, products / seconds[i]);
  }
  const auto items = static_cast<double>(state.iterations() * batch);
  state.SetItemsProcessed(state.iterations() * batch);
  state.counters["flops_per_item"] = flops / items;
  state.counters["of_fastest"] = flops / time / fastest_matrix_product();
  state.counters["best_of_fastest"] = best / fastest_matrix_product();
}
BENCHMARK_CAPTURE(DreamStep, squeezenet1_1_M, "squeezenet1_1", true, false)
    ->Arg(64)
    ->Arg(512)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DreamStep, squeezenet1_1_M_and_C, "squeezenet1_1", true, true)
    ->Arg(64)
    ->Arg(512)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DreamStep, bert_base_M_and_C, "bert_base", true, true)
    ->Arg(512)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DreamStep, squeezenet1_1_flat_M, "squeezenet1_1", false, false)
    ->Arg(64)
    ->Arg(256)
    ->Arg(512)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DreamStep, squeezenet1_1_flat_M_and_C, "squeezenet1_1", false, true)
    ->Arg(64)
    ->Arg(512)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DreamStep, toy_flat_M, "toy", false, false)
    ->Arg(64)
    ->Arg(512)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

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
    ->Arg(256)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(LiveAgainstDream, squeezenet1_1, "squeezenet1_1")
    ->Arg(256)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(60);
BENCHMARK_CAPTURE(LiveAgainstDream, bert_base, "bert_base")
    ->Arg(64)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(60);

}  // namespace
}  // namespace reverie::bench
