#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "controller/agents/learner.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/words.h"
#include "env/placement/graph/placement_input.h"
#include "tools/command.h"
#include "tools/help.h"
#include "tools/interrupt.h"
#include "tools/learning.h"

namespace reverie {
namespace {

struct PlaceLearnArguments {
  std::string learner, devices, out;
  std::vector<std::string> graphs;
  PlacementInputConfig input;
  int64_t evaluations = 1000;
  uint64_t seed = 1;
  bool memory = false, json = false;
};

std::string learners_text() {
  std::string table = "Learners:\n";
  for (const LearnerKind& kind : learner_kinds())
    table += fmt::format("  {:<18} {}\n", kind.name, kind.what);
  return table;
}

void run(const PlaceLearnArguments& options) {
  check_writable(options.out);
  const Topology topology = read_topology(options.devices);
  const LearnerKind& kind = learner_kind(options.learner);
  const auto objective =
      options.memory ? PlacementObjective::kPeakMemory : PlacementObjective::kMakespan;
  const EvaluationBudget budget{.evaluations = options.evaluations, .stop = stop_on_interrupt()};
  std::vector<std::unique_ptr<CostGraph>> graphs;
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  std::vector<Evaluator*> all;
  for (const std::string& input : options.graphs) {
    PlacementInput read = read_placement_input(input, topology, options.input);
    graphs.push_back(std::make_unique<CostGraph>(std::move(read.graph)));
    evaluators.push_back(std::make_unique<Evaluator>(*graphs.back(), topology, objective, budget));
    all.push_back(evaluators.back().get());
  }
  const auto learner = kind.make(topology.size(), options.seed);
  learner->learn(all);
  save_learner(options.out, kind.name, topology.size(), *learner);
  int64_t evaluations = 0;
  for (const Evaluator* evaluator : all) evaluations += evaluator->evaluations();
  const double seconds = evaluators.front()->seconds();
  fmt::print("{}: {} learned from {}, {}, in {:.1f} s\n", options.out, kind.name,
             counted(all.size(), "graph"), counted(evaluations, "placement"), seconds);
  if (!options.json) return;
  const Json json{{"learner", kind.name},
                  {"graphs", std::ssize(all)},
                  {"evaluations", evaluations},
                  {"seconds", seconds},
                  {"out", options.out}};
  fmt::print("{}\n", json.dump());
}

void add_place_learn(CLI::App& app) {
  const auto options = std::make_shared<PlaceLearnArguments>();
  CLI::App* command = app.add_subcommand(
      "place_learn",
      with_examples(what_of("place_learn"), {"place_learn go generate:layers:200:1 --devices "
                                             "2xv100-nvlink --evaluations 1000 -o go.pt"}));
  command->add_option("LEARNER", options->learner, "Which agent")->required();
  command->add_option("GRAPH", options->graphs, fmt::format("Graphs: {}", kPlacementInputs))
      ->required();
  command
      ->add_option("--devices", options->devices,
                   fmt::format("A YAML file, or {}", fmt::join(known_topologies(), ", ")))
      ->required();
  command->add_option("-o,--out", options->out, "The file that is written, FILE.pt")->required();
  command->add_option("--evaluations", options->evaluations, "Placements of each graph to simulate")
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", options->seed, "Of everything that is drawn");
  command->add_option("--shape", options->input.shapes,
                      "Extents of an input of an ONNX model: name=1,3,224,224");
  command->add_option("--dim", options->input.dims, "Of symbolic dimensions: batch=1,seq=128");
  command->add_flag("--training", options->input.training,
                    "An ONNX model's training step: with gradients and updates");
  command->add_flag("--peak-memory", options->memory, "Look for little memory, not for speed");
  command->add_flag("--json", options->json, "One line of JSON at the end");
  command->footer(learners_text);
  command->callback([options] { run(*options); });
}

const bool kPlaceLearnAdded = add_learning_command("place_learn", add_place_learn);

}  // namespace
}  // namespace reverie
