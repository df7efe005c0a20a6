#include <fmt/format.h>

#include <memory>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/words.h"
#include "core/models/models.h"
#include "core/models/zoo/zoo.h"
#include "core/onnx/export.h"
#include "core/onnx/fill_weights.h"
#include "tools/command.h"
#include "tools/help.h"
#include "tools/streams.h"

namespace reverie {
namespace {

/// One command-line option per field of a configuration.
struct OptionAdder {
  CLI::App& app;

  template <class T>
  void field(const std::string& name, T& value, const std::string& help) {
    if constexpr (std::is_same_v<T, bool>)
      app.add_flag("--" + name, value, help);
    else
      app.add_option("--" + name, value, help);
  }
};

void list_models() {
  for (const ModelKind& kind : all_models()) fmt::print("{:<18}{}\n", kind.name, kind.description);
  fmt::print("\nAs exporters write them, with all that is clumsy about it:\n");
  for (const ZooKind& kind : all_zoo_models())
    fmt::print("zoo/{:<22}{} (opset {})\n", kind.name, kind.description, kind.opset);
}

bool has_sizes(const ModelOptions& options) {
  ModelOptions sizes = options;
  sizes.seed = 0;
  return sizes != ModelOptions{};
}

void write_zoo_model(const std::string& name, const ModelOptions& options, const std::string& out) {
  if (has_sizes(options)) throw InputError("{} has no option but seed", name);
  const std::string bytes = build_zoo_model(name, options.seed);
  write_file(out, bytes);
  fmt::print("{}: {} bytes\n", out, bytes.size());
}

void write_model(const std::string& name, const ModelOptions& options, const std::string& out) {
  const Graph graph = build_model(name, options);
  ModelInfo info;
  info.graph_name = name;
  export_onnx(graph, info, out);
  int work = 0;
  for (const NodeId node : graph.nodes()) work += graph.is_work(node);
  fmt::print("{}: {}, {}\n", out, counted(work, "operator"),
             counted(parameter_count(graph), "parameter"));
}

struct ModelArguments {
  std::string name;
  std::string out;
  std::string fill;
  bool list = false;
  ModelOptions options;
};

void write_filled(const ModelArguments& arguments) {
  const int drawn = fill_weights(arguments.fill, arguments.out, arguments.options.seed);
  fmt::print("{}: {} drawn\n", arguments.out, counted(drawn, "weight"));
}

}  // namespace

void register_model(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "model", with_examples("Write a benchmark network with random weights as ONNX",
                             {"model --list", "model squeezenet1_1 -o squeezenet1_1.onnx"}));
  const auto arguments = std::make_shared<ModelArguments>();
  command->add_option("name", arguments->name, "The network; --list shows all");
  takes_standard_output(
      command->add_option("-o,--out", arguments->out, "File to write; -: standard output"));
  command
      ->add_option("--fill", arguments->fill,
                   "Instead of a network: a model whose large fills (ConstantOfShape) get weights")
      ->type_name("FILE");
  command->add_flag("--list", arguments->list, "List the networks");
  OptionAdder adder{*command};
  arguments->options.fields(adder);
  command->callback([arguments] {
    if (arguments->list) return list_models();
    if (arguments->name.empty() == arguments->fill.empty())
      throw InputError("model needs either a name (see reverie model --list) or --fill FILE");
    if (arguments->out.empty()) throw InputError("model needs --out FILE");
    if (!arguments->fill.empty()) return write_filled(*arguments);
    const bool zoo = arguments->name.starts_with("zoo/");
    (zoo ? write_zoo_model : write_model)(arguments->name, arguments->options, arguments->out);
  });
}

}  // namespace reverie
