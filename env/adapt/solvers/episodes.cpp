#include "env/adapt/solvers/episodes.h"

#include "core/base/random.h"
#include "core/base/stopwatch.h"

namespace reverie {
namespace {

/// Every choice but NO-OP.
std::vector<Action> choices_of(const ActionMask& mask) {
  std::vector<Action> choices;
  for (int primary = 0; primary + 1 < mask.primary_actions(); ++primary)
    for (int n = 0; n < mask.total(primary); ++n) choices.push_back(mask.choice(primary, n));
  return choices;
}

/// The best end of one or more episodes, and the work of all.
class Results {
 public:
  explicit Results(const EnvSpec& spec) { result_.best = spec.worst(); }

  void ended(const Environment& environment) {
    const EnvSpec& spec = environment.spec();
    const StepInfo info = environment.info();
    ++result_.candidates;
    if (!info.feasible || !spec.better(info.best, result_.best)) return;
    result_.best = info.best;
    result_.metrics = info.metrics;
    result_.solution = std::make_shared<AdaptSolution>(job_in(environment));
    result_.trace.push_back({watch_.seconds(), info.best});
  }
  void worked(const EnvCounters& counters) { result_.work += counters; }
  Result finish() {
    result_.seconds = watch_.seconds();
    return std::move(result_);
  }

 private:
  Stopwatch watch_;
  Result result_;
};

Action no_op(const Environment& environment) { return {environment.spec().no_op(), 0, 0}; }

/// The next of all changes of the blocks that the network began with, block by block, at the lowest
/// rate.
Action early_choice(const Environment& environment) {
  const ActionMask mask = environment.mask();
  const JobState& job = job_in(environment);
  const int rates = (environment.spec().no_op() - 1) / 2;
  std::vector<Action> changes;
  for (int entity = 1; entity < mask.entities; ++entity)
    for (const int primary : {1, 1 + rates})
      if (mask.at(primary, entity) > 0) changes.push_back({primary, entity, 0});
  if (changes.empty()) return {0, 0, 0};
  return changes[job.decisions.size() % changes.size()];
}

Result play_all(const Task& task, uint64_t seed) {
  const std::unique_ptr<Environment> environment = task.environment();
  Results results(environment->spec());
  environment->reset(seed);
  const std::function<void(Environment&)> try_all = [&](Environment& here) {
    for (const Action& action : choices_of(here.mask())) {
      const std::unique_ptr<Environment> next = here.fork();
      const StepResult step = next->step(action);
      results.worked(next->counters());
      if (step.terminated || step.truncated)
        results.ended(*next);
      else
        try_all(*next);
    }
  };
  try_all(*environment);
  results.worked(environment->counters());
  return results.finish();
}

/// Every sequence of decisions, on a table.
class Exhaustive : public AdaptSolver {
 public:
  Exhaustive() : AdaptSolver("exhaustive", "tables: each sequence once, and the best of them") {}

  std::string unsuited(const Task& task) const override {
    return adapt_task(task).spec().source == "table" ? ""
                                                     : "is for tables, where nothing is trained";
  }
  Result run(const Task& task, const SearchOptions& limits, const SolverSettings&) const override {
    return play_all(task, limits.seed);
  }
};

Choose random_chooser(uint64_t seed) {
  return [rng = Rng(seed)](const Environment& here) mutable {
    const std::vector<Action> choices = choices_of(here.mask());
    return choices[rng.below(choices.size())];
  };
}

const bool kRegistered =
    register_solver<EpisodeSolver>("random", "every decision equally likely", random_chooser) &&
    register_solver<EpisodeSolver>("nothing", "no change",
                                   [](uint64_t) -> Choose { return no_op; }) &&
    register_solver<EpisodeSolver>("early", "a change at every decision, of blocks in turn",
                                   [](uint64_t) -> Choose { return early_choice; }) &&
    register_solver<Exhaustive>();

}  // namespace

const JobState& job_in(const Environment& environment) {
  return dynamic_cast<const AdaptEnvironment&>(environment.unwrapped()).job();
}

Result play_episode(const Task& task, uint64_t seed, const Choose& choose) {
  const std::unique_ptr<Environment> environment = task.environment();
  Results results(environment->spec());
  environment->reset(seed);
  for (bool over = false; !over;) {
    const StepResult step = environment->step(choose(*environment));
    over = step.terminated || step.truncated;
  }
  results.ended(*environment);
  results.worked(environment->counters());
  return results.finish();
}

}  // namespace reverie
