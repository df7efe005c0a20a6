#include "env/kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

#include "core/base/error.h"
#include "env/placement/machine/on_devices.h"
#include "env/placement/placement_task.h"
#include "env/placement/simulator/grouping.h"

namespace reverie {
namespace {

struct Starts {
  std::vector<PlacementStart> starts;
  std::vector<CostGraph> whole;  ///< before groups were joined
  Topology topology;
  std::vector<std::string> warnings;
};

Starts read_starts(const EnvironmentConfig& config) {
  if (config.inputs.empty()) throw InputError("no graph: name at least one; {}", kPlacementInputs);
  const PlacementConfig& how = config.of<PlacementConfig>();
  Starts all;
  std::shared_ptr<OwnDevices> own;
  if (names_own_devices(how.devices)) own = open_own_devices(how.devices);
  all.topology = own ? own->topology() : read_topology(how.devices);
  std::vector<std::string> names;
  for (const std::string& input : config.inputs) {
    std::optional<OnDevices> on_own;
    if (own) on_own = read_on_devices(input, own, how.input);
    PlacementInput read =
        on_own ? std::move(on_own->input) : read_placement_input(input, all.topology, how.input);
    for (const std::string& warning : read.warnings)
      all.warnings.push_back(fmt::format("{}: {}", input, warning));
    names.push_back(graph_name(input, names));
    const CostGraph& by = on_own ? on_own->model->graph() : read.graph;
    all.starts.push_back({names.back(), grouped_by(by, read.graph, how.max_groups),
                          on_own ? measure_schedules(*on_own) : MeasureSchedule()});
    all.whole.push_back(std::move(read.graph));
  }
  return all;
}

PlacementEnvConfig with_horizon(const EnvironmentConfig& config, double horizons) {
  PlacementEnvConfig environment = config.of<PlacementConfig>().environment;
  environment.horizon = static_cast<int>(config.horizon * horizons);
  return environment;
}

class PlacementKind : public EnvironmentKind {
 public:
  std::string_view name() const override { return PlacementConfig::kKind; }
  void declare(ConfigSections& environment, ConfigSections&) const override {
    environment.add<PlacementConfig>(PlacementConfig::kKind, "Placing graphs on devices");
  }
  std::string_view inputs() const override { return kPlacementInputs; }
  std::vector<CommandOption> options() const override {
    return {{"--devices", "env.placement.devices", "NAME|FILE",
             fmt::format("Devices and links: a YAML file, or {}, or {}",
                         fmt::join(known_topologies(), ", "), kOwnDevices)}};
  }

  MadeEnvironment make(const EnvironmentConfig& config) const override {
    Starts all = read_starts(config);
    return {std::make_unique<PlacementEnvironment>(std::move(all.starts), std::move(all.topology),
                                                   with_horizon(config, 1)),
            std::move(all.warnings)};
  }

  std::unique_ptr<Tasks> tasks(const EnvironmentConfig& config, const TaskConfig&,
                               const TaskPlan& plan) const override {
    Starts all = read_starts(config);
    auto environment = std::make_unique<PlacementEnvironment>(
        std::move(all.starts), std::move(all.topology), with_horizon(config, plan.horizons));
    return placement_tasks(std::move(environment), std::move(all.whole), std::move(all.warnings));
  }

  std::string measured_on(const EnvironmentConfig& config, const std::string&) const override {
    return names_own_devices(config.of<PlacementConfig>().devices)
               ? config.of<PlacementConfig>().devices
               : "";
  }

  void change_files(EnvironmentConfig& config,
                    const std::function<std::string(const std::string&)>& change) const override {
    std::string& devices = config.of<PlacementConfig>().devices;
    devices = change(devices);
  }
};

const bool kRegistered = register_kind(std::make_unique<PlacementKind>());

}  // namespace
}  // namespace reverie
