#include <fmt/format.h>

#include <memory>

#include "core/base/json.h"
#include "env/rewrite/optimize/compare_files.h"
#include "tools/command.h"
#include "tools/extents.h"
#include "tools/help.h"
#include "tools/interrupt.h"
#include "tools/units.h"

namespace reverie {
namespace {

struct CompareArguments {
  std::vector<std::string> files;
  std::string machine = "ort";
  ImportOptions shapes;
  double seconds = 20;
  double tolerance = 1e-3;
  uint64_t seed = 1;
  bool json = false;
};

void print_row(const ContestantResult& timed, double error, const std::string& file,
               bool is_winner) {
  if (timed.median > 0)
    fmt::print("{:>9.4f} ms {:>10.4f} {:>18} {:>9.1e}  {}{}\n", timed.median / kMillisecond,
               timed.ratio.median,
               timed.finalist ? fmt::format("{:.4f} to {:.4f}", timed.ratio.low, timed.ratio.high)
                              : "screened out",
               error, file, is_winner ? "  fastest beyond its interval" : "");
  else
    fmt::print("{:>42} {:>9.1e}  {}\n", "disagrees: not timed", error, file);
}

void print(const CompareArguments& options, const FileComparison& found) {
  fmt::print("on {} ({})\n{:>12} {:>10} {:>18} {:>9}\n", found.machine.device,
             found.machine.library, "median", "ratio", "95% interval", "error");
  for (size_t i = 0; i < options.files.size(); ++i)
    print_row(found.benchmark.contestants[i], found.errors[i], options.files[i],
              i > 0 && static_cast<int>(i) == found.benchmark.winner);
}

Json to_json(const CompareArguments& options, const FileComparison& found) {
  Json::Array files;
  for (size_t i = 0; i < options.files.size(); ++i) {
    const ContestantResult& timed = found.benchmark.contestants[i];
    Json file = {
        {"file", options.files[i]},
        {"max_rel_error", found.errors[i]},
        {"median_ms", timed.median / kMillisecond},
        {"ratio", timed.ratio.median},
        {"ratio_quartiles", std::vector<double>{timed.quartiles.first, timed.quartiles.second}},
        {"finalist", timed.finalist}};
    if (timed.finalist) {
      file["ratio_low"] = timed.ratio.low;
      file["ratio_high"] = timed.ratio.high;
    }
    files.push_back(std::move(file));
  }
  return {{"machine", options.machine},
          {"device", found.machine.device},
          {"library", found.machine.library},
          {"winner", found.benchmark.winner},
          {"files", files}};
}

void run(const CompareArguments& options) {
  const auto machine = make_machine(options.machine);
  const bool is_ort = options.machine.substr(0, options.machine.find(':')) == "ort";
  const auto reference = is_ort ? make_machine("ort:off") : machine;
  BenchmarkOptions benchmark;
  benchmark.max_seconds = options.seconds;
  benchmark.seed = options.seed;
  benchmark.stop = stop_on_interrupt();
  const FileComparison found =
      compare_files({options.files.begin(), options.files.end()}, options.shapes, *machine,
                    *reference, options.tolerance, benchmark);
  print(options, found);
  if (options.json) fmt::print("{}\n", to_json(options, found).dump());
}

}  // namespace

void register_compare(CLI::App& app) {
  const auto options = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand(
      "compare", with_examples("Run models with equal inputs side by side in ONNX Runtime: times, "
                               "and how far outputs are apart",
                               {"compare model.onnx better.onnx",
                                "compare model.onnx better.onnx --machine ort:4 --seconds 60"}));
  command
      ->add_option("MODEL", options->files, "ONNX models; the others are compared with the first")
      ->required()
      ->expected(2, 100);
  command->add_option("--machine", options->machine, "ort, ort:<threads> or ort:off");
  command->add_option("--seconds", options->seconds, "For all runs together")
      ->check(CLI::PositiveNumber);
  command
      ->add_option(
          "--tolerance", options->tolerance,
          "Largest error with which a model takes part, relative to an output's largest element")
      ->check(CLI::NonNegativeNumber);
  add_extent_options(*command, options->shapes);
  command->add_option("--seed", options->seed, "Of inputs and of the order of turns");
  command->add_flag("--json", options->json, "One line of JSON at the end");
  command->callback([options] { run(*options); });
}

}  // namespace reverie
