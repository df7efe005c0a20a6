#include "worldmodel/encoder/train_vae.h"

#include <fmt/format.h>

#include <optional>

#include "core/base/run_directory.h"
#include "tools/command.h"
#include "tools/help.h"
#include "tools/interrupt.h"
#include "tools/learning.h"
#include "tools/training.h"
#include "worldmodel/batch/rollout_episodes.h"

namespace reverie {
namespace {

struct VaeStepConfig {
  uint64_t seed = 0;
  std::string device = "cpu";
  TrainVaeConfig vae;

  template <class V>
  void fields(V& v) {
    v.field("seed", seed, "Seed of all randomness");
    v.field("device", device, "Where to compute: cpu, cuda, cuda:1");
    v.section("vae", vae, "Training of V");
  }
};

struct TrainVaeArguments : CommonOptions {
  std::string rollouts;
  std::string device;
};

void run(const TrainVaeArguments& options) {
  VaeStepConfig config = resolve_config<VaeStepConfig>(options);
  if (!options.device.empty()) config.device = options.device;
  config.vae.fit.stop = stop_on_interrupt();
  const torch::Device device = device_named(config.device);
  const RolloutEpisodes data(Rollouts::open(options.rollouts));
  const Processes processes = Processes::from_environment();
  std::optional<RunDirectory> directory;
  if (processes.is_first()) directory.emplace(options.out, dump_config(config), options.resume);
  config.vae.fit.processes = processes;
  FitReporter reporter("train_vae", options.out, config.vae.fit.epochs,
                       progress_of(options, processes), data.judging_split());
  const FitResult result =
      train_vae(data, config.vae, config.seed, options.out, options.resume, device,
                [&](const FitProgress& progress) { reporter.observe(progress); });
  if (!processes.is_first()) return;
  write_history(options.out, read_history(options.rollouts),
                fit_taken("train_vae", config.seed, result));
  const std::string file = options.out + "/encoder.pt";
  fmt::print(options.json ? stderr : stdout, "{}: {}; {} states\n", file, reporter.verdict(result),
             data.state_count());
  if (!options.json) return;
  auto line = reporter.summary(result);
  line["encoder"] = file;
  line["states"] = data.state_count();
  fmt::print("{}\n", line.dump());
}

void add_train_vae(CLI::App& app) {
  auto options = std::make_shared<TrainVaeArguments>();
  CLI::App* command = app.add_subcommand(
      "train_vae",
      with_examples(what_of("train_vae"), {"train_vae rollouts -o encoder --set vae.epochs=10"}));
  command->add_option("ROLLOUTS", options->rollouts, "Directory that collect wrote")->required();
  command->add_option("--device", options->device, "Where to compute: cpu, cuda, cuda:1");
  add_threads_option(*command);
  add_common_options<VaeStepConfig>(*command, *options);
  command->callback([options] { run(*options); });
}

const bool kTrainVaeAdded = add_learning_command("train_vae", add_train_vae);

}  // namespace
}  // namespace reverie
