#include "tools/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <string_view>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/words.h"
#include "core/cost/cost_fit.h"
#include "core/cost/graph_summary.h"
#include "core/cost/table.h"
#include "core/ir/dot.h"
#include "core/onnx/declared_dimensions.h"
#include "core/onnx/import.h"
#include "env/rewrite/optimize/file_cost.h"
#include "env/rewrite/optimize/written_costs.h"
#include "tools/command.h"
#include "tools/environment_options.h"
#include "tools/extents.h"
#include "tools/help.h"
#include "tools/learning.h"
#include "tools/streams.h"

namespace reverie {
namespace {

struct InspectOptions {
  std::shared_ptr<EnvironmentOptions> environment = std::make_shared<EnvironmentOptions>();
  std::vector<std::string> settings;  ///< of the environment
  std::string file;
  std::string cost = "roofline:cpu";
  ImportOptions extents;
  bool dot = false;
  bool operators = false;
  bool json = false;
};

/// As the section of a step.
struct InspectedEnvironment {
  EnvironmentConfig env;

  template <class V>
  void fields(V& v) {
    v.section("env", env, "Environment");
  }
};

/// worldmodel/network/checkpoint.h, which LibTorch is needed for.
bool is_checkpoint(const std::string& file) {
  constexpr std::string_view kMagic = "REVERIE";
  std::ifstream stream(file, std::ios::binary);
  std::string start(kMagic.size(), '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  return stream && start == kMagic;
}

using NamedTypes = std::vector<std::pair<std::string, TensorType>>;

Json named_types(const NamedTypes& values, const ModelInfo& info) {
  Json::Array list;
  for (const auto& [name, type] : values) {
    list.push_back({{"name", name}, {"type", name_of(type.dtype)}, {"shape", type.shape}});
    Json::Array symbols;
    for (const std::string& symbol : declared_dimensions(info, name, type.shape))
      symbols.push_back(symbol.empty() ? Json() : Json(symbol));
    list.back()["symbols"] = symbols;
  }
  return list;
}

/// As `optimize` counts: with what a runtime fuses by itself.
Cost cost_of_file(const ImportedModel& model, const std::shared_ptr<CostModel>& cost) {
  return FileCosts(RuleSet::builtin(), costs_as_written(cost, newest_opset(model))).of(model.graph);
}

Json model_json(const std::string& file, const ImportedModel& model, const GraphSummary& summary,
                const Cost& in_file, const std::string& cost_source) {
  Json::Array operators;
  for (const OperatorTotal& total : summary.operators)
    operators.push_back({{"name", total.name},
                         {"nodes", total.nodes},
                         {"cost_ms", total.cost.runtime.milliseconds()},
                         {"flops", total.cost.flops},
                         {"bytes", total.cost.bytes}});
  return {{"kind", "model"},
          {"file", file},
          {"producer", model.info.producer_name},
          {"opset", model.info.opset_imports},
          {"inputs", named_types(summary.inputs, model.info)},
          {"outputs", named_types(summary.outputs, model.info)},
          {"nodes", model.nodes},
          {"work_nodes", summary.nodes},
          {"opaque_nodes", summary.opaque_nodes},
          {"weights", summary.weights},
          {"weight_bytes", summary.weight_bytes},
          {"cost_source", cost_source},
          {"cost_ms", summary.cost.runtime.milliseconds()},
          {"flops", summary.cost.flops},
          {"bytes", summary.cost.bytes},
          {"file_cost_ms", in_file.runtime.milliseconds()},
          {"kernels", in_file.launches},
          {"operators", operators},
          {"warnings", model.warnings}};
}

/// "float32[batch=1, 3, 224, 224]": symbolic dimensions by name, with the extents that they have
/// here.
std::string type_text(const TensorType& type, const std::vector<std::string>& symbols) {
  if (!type.known()) return "unknown type";
  std::vector<std::string> dimensions;
  for (size_t axis = 0; axis < symbols.size(); ++axis)
    dimensions.push_back(symbols[axis].empty()
                             ? fmt::format("{}", type.shape[axis])
                             : fmt::format("{}={}", symbols[axis], type.shape[axis]));
  return fmt::format("{}[{}]", name_of(type.dtype), fmt::join(dimensions, ", "));
}

void print_values(const char* heading, const NamedTypes& values, const ModelInfo& info) {
  for (const auto& [name, type] : values)
    fmt::print("{:<9} {} ({})\n", heading, name,
               type_text(type, declared_dimensions(info, name, type.shape)));
}

void print_model(const std::string& file, const ImportedModel& model, const GraphSummary& summary,
                 const Cost& in_file, const std::string& cost_source) {
  fmt::print("{}: ONNX model, written by {} {}\n", file, model.info.producer_name,
             model.info.producer_version);
  for (const auto& [domain, version] : model.info.opset_imports)
    fmt::print("opset     {}{}{}\n", version, domain.empty() ? "" : " of ", domain);
  print_values("input", summary.inputs, model.info);
  print_values("output", summary.outputs, model.info);
  fmt::print("nodes     {}, of which {} {} work ({} not understood and carried through)\n",
             model.nodes, summary.nodes, summary.nodes == 1 ? "is" : "are", summary.opaque_nodes);
  fmt::print("weights   {}, {:.1f} MB\n", counted(summary.weights, "tensor"),
             static_cast<double>(summary.weight_bytes) * 1e-6);
  fmt::print("work      {:.3f} GFLOP, {:.1f} MB of traffic\n",
             static_cast<double>(summary.cost.flops) * 1e-9,
             static_cast<double>(summary.cost.bytes) * 1e-6);
  fmt::print("cost      {:.4f} ms in {} by {}, with what a runtime fuses by itself\n\n",
             in_file.runtime.milliseconds(), counted(in_file.launches, "kernel"), cost_source);
  fmt::print("{:<24} {:>6} {:>12} {:>7} {:>12}\n", "operator", "nodes", "ms", "share", "MFLOP");
  const double whole = static_cast<double>(summary.cost.runtime.count);
  for (const OperatorTotal& total : summary.operators)
    fmt::print("{:<24} {:>6} {:>12.4f} {:>6.1f}% {:>12.2f}\n", total.name, total.nodes,
               total.cost.runtime.milliseconds(),
               whole > 0 ? 100.0 * static_cast<double>(total.cost.runtime.count) / whole : 0.0,
               static_cast<double>(total.cost.flops) * 1e-6);
}

void inspect_model(const InspectOptions& options) {
  const ImportedModel model = import_onnx(options.file, options.extents);
  for (const std::string& warning : model.warnings) fmt::print(stderr, "{}\n", warning);
  if (options.dot) {
    fmt::print("{}", to_dot(model.graph));
    return;
  }
  const auto cost = make_cost_model(options.cost);
  const GraphSummary summary = summarize(model.graph, *cost);
  const Cost whole = cost_of_file(model, cost);
  if (options.json)
    fmt::print("{}\n", model_json(options.file, model, summary, whole, cost->name()).dump());
  else
    print_model(options.file, model, summary, whole, cost->name());
}

void inspect_cost_table(const InspectOptions& options) {
  const CostTable table = read_cost_table(options.file);
  if (options.json)
    fmt::print("{}\n", Json{{"kind", "cost_table"},
                            {"file", options.file},
                            {"device", table.device},
                            {"library", table.library},
                            {"operators", table.entries.size()}}
                           .dump());
  else
    fmt::print("{}", describe(table));
}

void inspect_cost_fit(const InspectOptions& options) {
  const CostFit fit = read_cost_fit(options.file);
  if (options.json)
    fmt::print("{}\n", Json{{"kind", "cost_fit"},
                            {"file", options.file},
                            {"prior", fit.prior},
                            {"device", fit.device},
                            {"library", fit.library},
                            {"model", fit.model},
                            {"measurements", fit.measurements},
                            {"graphs", fit.seconds.size()},
                            {"operators", fit.signatures.size()},
                            {"scale", fit.scale},
                            {"deviation", fit.deviation},
                            {"mismatch", fit.mismatch}}
                           .dump());
  else
    fmt::print("{}", describe(fit));
}

void inspect_kind(const InspectOptions& options) {
  if (has_learning_program()) leave_to_learning_program("--env");  // some train networks
  if (options.operators || options.dot)
    throw InputError("inspect --env describes an environment; leave out --operators and --dot");
  InspectedEnvironment config;
  ConfigFields fields(config);
  for (const std::string& assignment : options.settings) fields.set(assignment);
  config = with_environment(*options.environment, config);
  fmt::print("{}", inspect_environment(config.env, options.json));
}

void inspect(InspectOptions& options) {
  if (!options.environment->kind.empty()) return inspect_kind(options);
  const std::vector<std::string>& files = options.environment->inputs;
  if (files.size() != (options.operators ? 0 : 1))
    throw InputError("inspect describes one FILE, or all operators: give a file or --operators");
  if (options.operators) {
    fmt::print("{}", inspect_operators(options.json));
    return;
  }
  options.file = files.front();
  require_no_pipe(options.file);
  if (is_directory(options.file))
    fmt::print("{}", inspect_rollouts(options.file, options.json));
  else if (is_cost_table(options.file))
    inspect_cost_table(options);
  else if (is_cost_fit(options.file))
    inspect_cost_fit(options);
  else if (is_checkpoint(options.file))
    fmt::print("{}", inspect_checkpoint("a checkpoint", options.file, options.json));
  else
    inspect_model(options);
}

}  // namespace

void register_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand(
      "inspect",
      with_examples(
          "Describe a model, rollouts, a checkpoint, a cost table, fitted costs or an environment",
          {"inspect model.onnx", "inspect model.onnx --dot >model.dot", "inspect --operators",
           "inspect --env placement generate:layers:100:1"}));
  takes_standard_input(command->add_option(
      "FILE", options->environment->inputs,
      "ONNX model, rollout directory, checkpoint, cost table or fitted costs; -: standard input; "
      "with --env its inputs"));
  command->add_flag(
      "--operators", options->operators,
      "Instead of a file: all operators, their opsets, and which executors and rules have them");
  command->add_option("--cost", options->cost, "Where costs come from: " + known_cost_sources())
      ->capture_default_str();
  add_extent_options(*command, options->extents);
  command->add_flag("--dot", options->dot, "Draw the graph in Graphviz's language");
  command->add_flag("--json", options->json, "One object of JSON");
  auto of_environments = add_kind_options(*command, options->environment);
  of_environments.push_back(add_repeated(*command, "--set", options->settings, "KEY=VALUE",
                                         "One setting of --env, dotted: env.horizon=8"));
  for (CLI::Option* option : of_environments) option->needs("--env");
  command->callback([options] { inspect(*options); });
}

}  // namespace reverie
