#include "env/solver.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

std::vector<std::unique_ptr<Solver>>& registered_solvers() {
  static std::vector<std::unique_ptr<Solver>> solvers;
  return solvers;
}

std::vector<std::string> names_of(std::span<const Solver* const> solvers) {
  std::vector<std::string> names;
  for (const Solver* solver : solvers) names.push_back(solver->name());
  return names;
}

/// Of "taso:50" the number, which has to be above 0.
int64_t budget_in(const std::string& text, const std::string& number) {
  int64_t budget = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), budget);
  if (error != std::errc() || end != number.data() + number.size() || budget < 1)
    throw InputError("{}: '{}' is no budget; give a whole number from 1 on", text, number);
  return budget;
}

}  // namespace

SolverSettings::SolverSettings(std::string environment) : environment_(std::move(environment)) {
  for (const Solver* solver : solvers_for(environment_)) solver->declare(*this);
}

void SolverSettings::require_read_by(std::span<const Solver* const> used,
                                     const std::string& run) const {
  std::map<std::string, std::vector<std::string>> readers;  // by section
  for (const Solver* solver : solvers_for(environment_))
    if (!solver->section().empty()) readers[solver->section()].push_back(solver->name());
  for (const auto& [section, names] : readers) {
    if (std::ranges::count(used, section, &Solver::section) > 0) continue;
    if (const std::string option = changed(section); !option.empty())
      throw InputError("{}.{} is an option of {}, which {} does not run; leave it out", section,
                       option, fmt::join(names, " and "), run);
  }
}

std::string SearchSolver::unsuited(const Task& task) const {
  return !task.has_problem() ? "needs an environment whose steps always end alike" : "";
}

Result SearchSolver::run(const Task& task, const SearchOptions& limits,
                         const SolverSettings& settings) const {
  if (const std::string why = unsuited(task); !why.empty()) throw InputError("{} {}", name(), why);
  const std::shared_ptr<const Problem> start = task.problem();
  return task.result(*start, solve(start, limits, search(settings)));
}

bool register_solver(std::unique_ptr<Solver> solver) {
  registered_solvers().push_back(std::move(solver));
  return true;
}

std::vector<const Solver*> solvers_for(const std::string& environment) {
  std::map<std::string, const Solver*> by_name;
  for (const std::unique_ptr<Solver>& solver : registered_solvers()) {
    if (!solver->environment().empty() && solver->environment() != environment) continue;
    const Solver*& known = by_name[solver->name()];
    if (known == nullptr || known->environment().empty()) known = solver.get();
  }
  std::vector<const Solver*> solvers;
  for (const auto& [name, solver] : by_name) solvers.push_back(solver);
  return solvers;
}

const Solver& solver_named(const std::string& name, const std::string& environment) {
  const std::vector<const Solver*> all = solvers_for(environment);
  const auto found = std::ranges::find(all, name, &Solver::name);
  if (found != all.end()) return **found;
  throw InputError("no solver '{}'; known are {}", name, fmt::join(names_of(all), ", "));
}

std::vector<ChosenSolver> chosen_solvers(const std::vector<std::string>& names,
                                         const std::string& environment) {
  std::vector<ChosenSolver> chosen;
  for (const std::string& text : names) {
    const size_t colon = text.find(':');
    const Solver& solver = solver_named(text.substr(0, colon), environment);
    chosen.push_back({&solver, solver.usual_budget()});
    if (colon == std::string::npos) continue;
    if (solver.budget_unit().empty())
      throw InputError("{}: {} counts nothing that could be limited; leave the number out", text,
                       solver.name());
    chosen.back().budget = budget_in(text, text.substr(colon + 1));
  }
  return chosen;
}

}  // namespace reverie
