#include "worldmodel/memory/train_mdnrnn.h"

#include <fmt/format.h>

#include <optional>

#include "core/base/error.h"
#include "core/base/run_directory.h"
#include "env/translated.h"
#include "tools/command.h"
#include "tools/help.h"
#include "tools/interrupt.h"
#include "tools/learning.h"
#include "tools/training.h"
#include "worldmodel/batch/rollout_episodes.h"
#include "worldmodel/encoder/latent_cache.h"

namespace reverie {
namespace {

struct MdnRnnStepConfig {
  uint64_t seed = 0;
  std::string device = "cpu";
  std::vector<int> open_loop = kOpenLoopSteps;
  TrainMdnRnnConfig mdnrnn;

  template <class V>
  void fields(V& v) {
    v.field("seed", seed, "Seed of all randomness");
    v.field("device", device, "Where to compute: cpu, cuda, cuda:1");
    v.section("mdnrnn", mdnrnn, "Training of M");
    v.field("open_loop", open_loop, "Steps ahead that the open-loop report looks at", at_least(1));
  }
};

struct TrainMdnrnnArguments : CommonOptions {
  std::string rollouts;
  std::string encoder;
  std::string from;
  std::string device;
};

/// The file that V comes from, and M where it goes on from one.
Checkpoint given(const TrainMdnrnnArguments& options) {
  if (options.from.empty() == options.encoder.empty())
    throw InputError("give either --encoder, or --from to go on from a world model");
  return options.from.empty() ? load_checkpoint(options.encoder, "encoder")
                              : load_checkpoint(options.from, "world");
}

Latents latents_of(const RolloutEpisodes& data, Encoder& encoder,
                   const TrainMdnrnnArguments& options, const Processes& processes) {
  Progress progress("encode", data.state_count(), "states", progress_of(options, processes));
  return cached_latents(options.out + "/latents.pt", data, encoder, processes,
                        [&](int done) { progress.update(done); });
}

void run(const TrainMdnrnnArguments& options) {
  MdnRnnStepConfig config = resolve_config<MdnRnnStepConfig>(options);
  if (!options.device.empty()) config.device = options.device;
  config.mdnrnn.fit.stop = stop_on_interrupt();
  const torch::Device device = device_named(config.device);
  const RolloutEpisodes data(Rollouts::open(options.rollouts));
  const Checkpoint checkpoint = given(options);
  const bool goes_on = !options.from.empty();
  with_context(goes_on ? options.from : options.encoder,
               [&] { require_same_names(checkpoint.spec, data.spec()); });
  if (goes_on) config.mdnrnn.model = trained_with(checkpoint).model;
  const Processes processes = Processes::from_environment();
  std::optional<RunDirectory> directory;
  if (processes.is_first()) directory.emplace(options.out, dump_config(config), options.resume);
  config.mdnrnn.fit.processes = processes;
  const auto encoder = load_encoder(checkpoint);
  encoder->to_device(device);
  const LatentEpisodes episodes(data, latents_of(data, *encoder, options, processes));
  FitReporter reporter("train_mdnrnn", options.out, config.mdnrnn.fit.epochs,
                       progress_of(options, processes), data.judging_split());
  const FitResult result = train_mdnrnn(
      episodes, *encoder, config.mdnrnn, config.seed, options.out, options.resume, device,
      [&](const FitProgress& progress) { reporter.observe(progress); },
      goes_on ? &checkpoint : nullptr);
  if (!processes.is_first()) return;
  const auto rows = judge_world(episodes, config.open_loop, options.out, device);
  write_file(options.out + "/open_loop.json", open_loop_json(rows).dump(2) + "\n");
  const std::string before = goes_on ? options.from : options.encoder;
  write_history(options.out, joined(read_history(options.rollouts), history_beside(before)),
                fit_taken("train_mdnrnn", config.seed, result));
  const std::string file = options.out + "/world.pt";
  fmt::print(options.json ? stderr : stdout, "{}: {}\n{}", file, reporter.verdict(result),
             rows.empty()
                 ? "No episodes are held out for an open-loop report\n"
                 : "Open loop, k steps ahead of real states (in brackets: copying the start)\n" +
                       open_loop_table(rows));
  if (!options.json) return;
  auto line = reporter.summary(result);
  line["world"] = file;
  line["open_loop"] = open_loop_json(rows);
  fmt::print("{}\n", line.dump());
}

void add_train_mdnrnn(CLI::App& app) {
  auto options = std::make_shared<TrainMdnrnnArguments>();
  CLI::App* command = app.add_subcommand(
      "train_mdnrnn",
      with_examples(what_of("train_mdnrnn"),
                    {"train_mdnrnn rollouts --encoder encoder/encoder.pt -o world"}));
  command->add_option("ROLLOUTS", options->rollouts, "Directory that collect wrote")->required();
  command->add_option("--encoder", options->encoder, "encoder.pt of train_vae");
  command
      ->add_option("--from", options->from,
                   "world.pt to go on from on other rollouts, with its V, sizes and scales")
      ->type_name("FILE");
  command->add_option("--device", options->device, "Where to compute: cpu, cuda, cuda:1");
  add_threads_option(*command);
  add_common_options<MdnRnnStepConfig>(*command, *options);
  command->callback([options] { run(*options); });
}

const bool kTrainMdnrnnAdded = add_learning_command("train_mdnrnn", add_train_mdnrnn);

}  // namespace
}  // namespace reverie
