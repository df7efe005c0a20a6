#include "env/kind.h"

#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "env/adapt/adapt_task.h"
#include "env/adapt/network_onnx.h"
#include "env/adapt/table.h"
#include "env/adapt/training_source.h"

namespace reverie {
namespace {

constexpr int kFinalEpochs = 3;

AdaptStart start_of(const std::string& input, const AdaptConfig& config,
                    std::vector<std::string>& names) {
  const std::string ending = std::filesystem::path(input).extension().string();
  AdaptStart start;
  if (ending == ".json") {
    AdaptTable table = read_table(input);
    start.final_epochs = table.final_epochs;
    start.source = table_source(std::move(table));
  } else if (ending == ".yaml" || ending == ".yml" || ending == ".onnx") {
    names.push_back(graph_name(input, names));
    const Network network = ending == ".onnx" ? network_from_onnx(input) : load_network(input);
    start.final_epochs = kFinalEpochs;
    start.source = make_training_source(network, names.back(), config.train);
  } else {
    throw InputError("{}: `adapt` takes networks (NAME.yaml, NAME.onnx) and tables (NAME.json)",
                     input);
  }
  if (config.final_epochs > 0) start.final_epochs = config.final_epochs;
  return start;
}

class AdaptKind : public EnvironmentKind {
 public:
  std::string_view name() const override { return AdaptConfig::kKind; }
  void declare(ConfigSections& environment, ConfigSections&) const override {
    environment.add<AdaptConfig>(AdaptConfig::kKind, "Adapting a network while it trains");
  }
  std::string_view inputs() const override { return "networks as YAML or ONNX, or tables as JSON"; }

  MadeEnvironment make(const EnvironmentConfig& config) const override {
    if (config.inputs.empty())
      throw InputError(
          "no scenario: name at least one network (NAME.yaml, NAME.onnx) or table (NAME.json)");
    std::vector<AdaptStart> starts;
    std::vector<std::string> names;
    for (const std::string& input : config.inputs)
      starts.push_back(start_of(input, config.of<AdaptConfig>(), names));
    return {std::make_unique<AdaptEnvironment>(std::move(starts), config.of<AdaptConfig>().reward,
                                               config.horizon),
            {}};
  }

  /// Jobs end by themselves: a longer horizon changes nothing.
  std::unique_ptr<Tasks> tasks(const EnvironmentConfig& config, const TaskConfig&,
                               const TaskPlan&) const override {
    return adapt_tasks(make(config));
  }
};

const bool kRegistered = register_kind(std::make_unique<AdaptKind>());

}  // namespace
}  // namespace reverie
