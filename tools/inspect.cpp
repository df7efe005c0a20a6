#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "core/cost/cost_fit.h"
#include "core/cost/graph_summary.h"
#include "core/cost/table.h"
#include "core/ir/dot.h"
#include "core/onnx/import.h"
#include "tools/command.h"
#include "tools/extents.h"
#include "tools/inspect.h"

namespace reverie {
namespace {

struct InspectOptions {
  std::string file;
  std::string cost = "roofline:cpu";
  ImportOptions extents;
  bool dot = false;
  bool operators = false;
  bool json = false;
};

Json named_types(const std::vector<std::pair<std::string, TensorType>>& values) {
  Json::Array list;
  for (const auto& [name, type] : values)
    list.push_back({{"name", name}, {"type", name_of(type.dtype)}, {"shape", type.shape}});
  return list;
}

Json model_json(const std::string& file, const ImportedModel& model, const GraphSummary& summary,
                const std::string& cost_source) {
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
          {"inputs", named_types(summary.inputs)},
          {"outputs", named_types(summary.outputs)},
          {"nodes", summary.nodes},
          {"opaque_nodes", summary.opaque_nodes},
          {"weights", summary.weights},
          {"weight_bytes", summary.weight_bytes},
          {"cost_source", cost_source},
          {"cost_ms", summary.cost.runtime.milliseconds()},
          {"flops", summary.cost.flops},
          {"bytes", summary.cost.bytes},
          {"launches", summary.cost.launches},
          {"operators", operators},
          {"warnings", model.warnings}};
}

void print_values(const char* heading,
                  const std::vector<std::pair<std::string, TensorType>>& values) {
  for (const auto& [name, type] : values)
    fmt::print("{:<9} {} ({})\n", heading, name, type.known() ? to_string(type) : "unknown type");
}

void print_model(const std::string& file, const ImportedModel& model, const GraphSummary& summary,
                 const std::string& cost_source) {
  fmt::print("{}: ONNX model, written by {} {}\n", file, model.info.producer_name,
             model.info.producer_version);
  for (const auto& [domain, version] : model.info.opset_imports)
    fmt::print("opset     {}{}{}\n", version, domain.empty() ? "" : " of ", domain);
  print_values("input", summary.inputs);
  print_values("output", summary.outputs);
  fmt::print("nodes     {} ({} not understood and carried through)\n", summary.nodes,
             summary.opaque_nodes);
  fmt::print("weights   {} tensors, {:.1f} MB\n", summary.weights,
             static_cast<double>(summary.weight_bytes) * 1e-6);
  fmt::print("work      {:.3f} GFLOP, {:.1f} MB of traffic, {} launches\n",
             static_cast<double>(summary.cost.flops) * 1e-9,
             static_cast<double>(summary.cost.bytes) * 1e-6, summary.cost.launches);
  fmt::print("cost      {:.4f} ms by {}\n\n", summary.cost.runtime.milliseconds(), cost_source);
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
  if (options.json)
    fmt::print("{}\n", model_json(options.file, model, summary, cost->name()).dump());
  else
    print_model(options.file, model, summary, cost->name());
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

void inspect(const InspectOptions& options) {
  if (options.operators == !options.file.empty())
    throw InputError("inspect describes one FILE, or all operators: give a file or --operators");
  if (options.operators) {
    fmt::print("{}", inspect_operators(options.json));
    return;
  }
  require_no_pipe(options.file);
  if (is_directory(options.file))
    fmt::print("{}", inspect_rollouts(options.file, options.json));
  else if (is_cost_table(options.file))
    inspect_cost_table(options);
  else if (is_cost_fit(options.file))
    inspect_cost_fit(options);
#ifdef REVERIE_LEARNING
  else if (is_checkpoint(options.file))
    fmt::print("{}", inspect_checkpoint(options.file, options.json));
#endif
  else
    inspect_model(options);
}

}  // namespace

void register_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Describe a model, rollouts, a checkpoint, a cost table or fitted costs");
  command->add_option("FILE", options->file,
                      "ONNX model, rollout directory, checkpoint, cost table or fitted costs");
  command->add_flag("--operators", options->operators,
                    "Instead of a file: all operators, their opsets, and which executors and rules have them");
  command->add_option("--cost", options->cost, "Where costs come from: " + known_cost_sources())
      ->capture_default_str();
  add_extent_options(*command, options->extents);
  command->add_flag("--dot", options->dot, "Draw the graph in Graphviz's language");
  command->add_flag("--json", options->json, "One object of JSON");
  command->callback([options] { inspect(*options); });
}

}  // namespace reverie
