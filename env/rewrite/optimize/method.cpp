#include "env/rewrite/optimize/method.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/ort/ort_machine.h"

namespace reverie {
namespace {

bool is_of_this_processor(const std::string& cost) {
  return cost == "cpu" || cost.starts_with("cpu:");
}

/// The machine on which `auto` confirms; null where there is none.
std::shared_ptr<Machine> confirming_machine(const OptimizeConfig& config) {
  if (!config.machine.empty() || config.confirm) return machine_beside(config.machine, config.cost);
  return ort::is_installed() ? make_machine("ort") : nullptr;
}

}  // namespace

bool is_measured(const OptimizeConfig& config) {
  if (config.measured.budget > 0) return true;
  const auto solvers = solvers_for("rewrite");
  const bool is_search = std::ranges::count(solvers, config.method, &Solver::name) > 0;
  const bool is_arm = std::ranges::count(measured_arms(), config.method, &NamedArm::name) > 0;
  if (config.method == "ppo" || (is_arm && !is_search))
    throw InputError("--method {} searches against measurements: say how many by --measurements N",
                     config.method);
  return false;
}

SearchMethod measured_method(const OptimizeConfig& config, MeasuredArm arm) {
  return measured_search(
      arm ? std::move(arm) : measured_arm(config.method, config.measured, config.solvers),
      config.measured, timer_on(machine_beside(config.machine, config.cost), config.measured));
}

std::string arm_names() {
  std::vector<std::string_view> names;
  for (const NamedArm& arm : measured_arms()) names.push_back(arm.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void settle_automatic(OptimizeConfig& config) {
  constexpr double kSeconds = 60, kWeightGrowth = 1.05;
  if (config.method != kAutomatic) return;
  if (is_measured(config)) {
    config.method = "surrogate";
  } else if (!is_of_this_processor(config.cost) && config.machine.empty()) {
    config.method = "rulelist";
  } else {
    if (config.search.time_limit == 0) config.search.time_limit = kSeconds;
    if (config.search.max_weight_growth == 0) config.search.max_weight_growth = kWeightGrowth;
  }
}

void require_options_read(const OptimizeConfig& config) {
  std::vector<const Solver*> used;
  for (const Solver* solver : solvers_for("rewrite")) {
    const bool is_inner = is_measured(config) && config.method == "surrogate" &&
                          solver->name() == config.measured.inner;
    if (solver->name() == config.method || is_inner) used.push_back(solver);
  }
  config.solvers.require_read_by(used, "--method " + config.method);
}

double seconds_for_costs(const OptimizeConfig& config) {
  constexpr double kShare = 0.35;
  return config.method == kAutomatic ? kShare * config.search.time_limit : config.search.time_limit;
}

ImportedModel import_to_rewrite(const std::string& model, ImportOptions extents, bool fix_shapes) {
  extents.carried = fix_shapes ? ImportOptions::Carried::kOfData : ImportOptions::Carried::kAll;
  return import_onnx(model, extents);
}

Optimized optimize_by(const Subject& subject, std::shared_ptr<const RuleSet> rules,
                      std::shared_ptr<CostModel> cost, const SearchMethod& method,
                      OptimizeConfig config) {
  if (config.machine.empty() && has_opaque_node(subject.graph) && ort::is_installed())
    config.machine = "ort";  // no other runs such nodes
  if (config.method != kAutomatic)
    return optimize(subject, std::move(rules), std::move(cost), method, config);
  const std::shared_ptr<Machine> confirming = confirming_machine(config);
  return optimize_automatically(subject, std::move(rules), std::move(cost), confirming, config);
}

}  // namespace reverie
