#include "tools/adapt_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/base/words.h"
#include "env/adapt/adapt_task.h"
#include "tools/adapt_policy.h"
#include "tools/learning.h"

namespace reverie {
namespace {

constexpr char kFixed[] = "fixed";

/// "fixed:deepen conv1,go on" as the solver "fixed" and its option.
std::string set_method(const std::string& method, SolverSettings& settings) {
  const std::string prefix = kFixed + std::string(":");
  if (!method.starts_with(prefix)) return method;
  ConfigFields(settings).set_value("fixed.decisions", method.substr(prefix.size()));
  return kFixed;
}

/// Null where there is none of this name here.
const Solver* method_of(const std::string& name) {
  const auto all = solvers_for(AdaptConfig::kKind);
  const auto found =
      std::ranges::find_if(all, [&](const Solver* solver) { return solver->name() == name; });
  return found == all.end() ? nullptr : *found;
}

bool learns(const Solver& solver) { return dynamic_cast<const AdaptLearner*>(&solver) != nullptr; }

/// Those that are for this environment, or for any that is no Problem.
bool is_shown(const Solver& solver) { return dynamic_cast<const AdaptSolver*>(&solver) != nullptr; }

const Solver& method_for(const std::string& wanted, const std::string& name, const Task& task) {
  const Solver* solver = method_of(name);
  if (solver == nullptr && has_learning_program())
    leave_to_learning_program(fmt::format("--method {}", wanted));
  if (solver == nullptr || !solver->unsuited(task).empty())
    throw InputError("no method '{}' for this source; reverie adapt --help lists them", wanted);
  return *solver;
}

}  // namespace

std::string adapt_methods() {
  std::string table = "Methods:\n";
  for (const Solver* solver : solvers_for(AdaptConfig::kKind))
    if (is_shown(*solver))
      table += fmt::format("  {:<18} {}\n",
                           solver->name() == kFixed ? "fixed:DECISIONS" : solver->name(),
                           solver->what());
  if (has_learning_program()) table += "  ...                agents that learn: see --help-all\n";
  return table;
}

int adapt_episodes(const AdaptOptions& options) {
  const Solver* solver = method_of(options.method);
  return options.episodes.value_or(solver != nullptr && learns(*solver) ? AdaptLearner::kEpisodes
                                                                        : 0);
}

std::string adapt_decider(const AdaptOptions& options) {
  const std::string who = options.policy.empty() ? options.method : "policy " + options.policy;
  const int episodes = adapt_episodes(options);
  return episodes > 0 ? fmt::format("{}, {}", who, counted(episodes, "episode")) : who;
}

std::function<Result()> adapt_player(const AdaptOptions& options, const AdaptCommandConfig& config,
                                     const AdaptJobs& jobs) {
  const std::shared_ptr<const Tasks> tasks = adapt_tasks(
      {std::make_unique<AdaptEnvironment>(std::vector{jobs.final}, config.adapt.reward), {}},
      jobs.learning);
  const Task& task = *tasks->tasks().front();
  const SearchOptions limits{.budget = adapt_episodes(options), .seed = config.seed};
  if (!options.policy.empty()) {
    const std::shared_ptr<const Solver> policy =
        policy_solver_for("--policy", options.policy, limits.budget > 0, *tasks);
    return [=, tasks = tasks, &task] {
      return policy->run(task, limits, SolverSettings(AdaptConfig::kKind));
    };
  }
  SolverSettings settings(AdaptConfig::kKind);
  const Solver& solver = method_for(options.method, set_method(options.method, settings), task);
  if (limits.budget > 0 && !learns(solver))
    throw InputError("--episodes {}: '{}' learns from none; leave it out", limits.budget,
                     options.method);
  solver.check(task, settings);
  return [=, tasks = tasks, &task, &solver] {
    if (!learns(solver)) return solver.run(task, limits, settings);
    Progress progress(solver.name(), limits.budget, "episodes", options.common.progress());
    SearchOptions told = limits;
    told.on_progress = [&](const SearchProgress& now) { progress.update(now.expansions); };
    return solver.run(task, told, settings);
  };
}

}  // namespace reverie
