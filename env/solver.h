#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/config_sections.h"
#include "core/search/algorithms.h"
#include "env/task.h"

namespace reverie {

class Solver;

/// The options of solvers, in sections. Solvers of one section share it.
class SolverSettings : public ConfigSections {
 public:
  /// Of those that an environment has use for (Solver::environment), at their defaults.
  explicit SolverSettings(std::string environment);

  /// InputError for an option that was changed and that none of these solvers reads; it says who
  /// would. `run`: what runs them, for a person.
  void require_read_by(std::span<const Solver* const> used, const std::string& run) const;

 private:
  std::string environment_;
};

/// A way to solve a task: a search, a heuristic, an exact method, a published agent, a policy. For
/// several threads at once.
class Solver {
 public:
  virtual ~Solver() = default;
  virtual std::string name() const = 0;  ///< on the command line
  virtual std::string what() const = 0;  ///< it does, in a few words
  /// What SearchOptions::budget counts: "expansions"; empty where it counts nothing.
  virtual std::string budget_unit() const { return ""; }
  /// What it may do in a comparison where nothing else is said; 0: it goes on as long as it may.
  virtual int64_t usual_budget() const { return 0; }
  virtual bool draws() const { return false; }  ///< another seed may give another result
  /// The only environment that it is for; empty: any.
  virtual std::string environment() const { return ""; }
  /// The section of its options; empty: it has none.
  virtual std::string section() const { return ""; }
  virtual void declare(SolverSettings&) const {}
  /// Why it does not suit the task, for a person: "needs ..."; empty: it does.
  virtual std::string unsuited(const Task& task) const = 0;
  /// InputError where its options do not fit a task that it suits.
  virtual void check(const Task&, const SolverSettings&) const {}
  /// Deterministic for a seed unless time or a stop request cuts it short. InputError where it does
  /// not suit the task.
  virtual Result run(const Task& task, const SearchOptions& limits,
                     const SolverSettings& settings) const = 0;
};

/// A search over any Problem.
class SearchSolver : public Solver {
 public:
  /// With its options.
  virtual Search search(const SolverSettings& settings) const = 0;
  /// Where the task has no Problem.
  std::string unsuited(const Task& task) const override;
  Result run(const Task& task, const SearchOptions& limits,
             const SolverSettings& settings) const override;
};

/// What is said of an algorithm where it is registered.
struct SearchText {
  std::string name, what;
  std::string budget_unit = "";
  int64_t usual_budget = 0;
  bool draws = false;
  std::string section = "";      ///< where that is not its name
  std::string environment = "";  ///< as Solver::environment
};

/// An algorithm that holds its own options, such as those of core/search/algorithms.h; without
/// `fields` it has none.
template <class Algorithm>
class AlgorithmSolver : public SearchSolver {
  static constexpr bool kHasOptions = requires(Algorithm algorithm, ConfigFields& v) {
    algorithm.fields(v);
  };

 public:
  /// `adjust` makes the variant of the algorithm that this is.
  explicit AlgorithmSolver(SearchText text, void (*adjust)(Algorithm&) = nullptr)
      : text_(std::move(text)), adjust_(adjust) {
    if (text_.section.empty()) text_.section = text_.name;
  }

  std::string name() const override { return text_.name; }
  std::string what() const override { return text_.what; }
  std::string budget_unit() const override { return text_.budget_unit; }
  int64_t usual_budget() const override { return text_.usual_budget; }
  bool draws() const override { return text_.draws; }
  std::string environment() const override { return text_.environment; }
  std::string section() const override { return kHasOptions ? text_.section : ""; }
  void declare(SolverSettings& settings) const override {
    if constexpr (kHasOptions) settings.add<Algorithm>(text_.section, text_.what);
  }
  Search search(const SolverSettings& settings) const override {
    Algorithm algorithm;
    if constexpr (kHasOptions) algorithm = settings.of<Algorithm>(text_.section);
    if (adjust_ != nullptr) adjust_(algorithm);
    return algorithm;
  }

 private:
  SearchText text_;
  void (*adjust_)(Algorithm&);
};

/// All solvers that an environment has use for, by name; one of its own replaces a general one of
/// the same name. Whether one suits a task it says itself.
std::vector<const Solver*> solvers_for(const std::string& environment);
/// InputError lists the names where there is none of this name.
const Solver& solver_named(const std::string& name, const std::string& environment);

struct ChosenSolver {
  const Solver* solver = nullptr;
  int64_t budget = 0;  ///< 0: it goes on as long as it may
};
/// Of NAME or NAME:BUDGET, the latter in the solver's own unit. InputError as solver_named, and for
/// a budget that is no number or of a solver that counts nothing.
std::vector<ChosenSolver> chosen_solvers(const std::vector<std::string>& names,
                                         const std::string& environment);

/// Adds a solver for good, in a static initializer of the file that implements it:
///
///     const bool kRegistered = register_solver<AlgorithmSolver<search::Greedy>>(SearchText{...});
///
/// A file of env/solvers or a kind's solvers/ is linked even where nothing refers to it.
bool register_solver(std::unique_ptr<Solver> solver);
template <class S, class... Arguments>
bool register_solver(Arguments&&... arguments) {
  return register_solver(std::make_unique<S>(std::forward<Arguments>(arguments)...));
}

}  // namespace reverie
