#include "env/task.h"

#include <cmath>
#include <utility>

#include "env/environment_problem.h"
#include "env/selected_starts.h"

namespace reverie {
namespace {

/// A start state of a prototype.
class PlainTask : public Task {
 public:
  PlainTask(const Environment& prototype, int start) : prototype_(prototype), start_(start) {}

  std::unique_ptr<Environment> environment() const override {
    return select_starts(prototype_.fork(), {start_});
  }

 private:
  const Environment& prototype_;
  int start_;
};

class PlainTasks : public Tasks {
 public:
  PlainTasks(std::unique_ptr<Environment> environment, std::vector<std::string> warnings)
      : environment_(std::move(environment)), warnings_(std::move(warnings)) {
    for (int start = 0; start < spec().start_states(); ++start)
      tasks_.push_back(std::make_unique<PlainTask>(*environment_, start));
  }

  const EnvSpec& spec() const override { return environment_->spec(); }
  std::vector<std::string> warnings() const override { return warnings_; }
  const std::vector<std::unique_ptr<Task>>& tasks() const override { return tasks_; }
  std::vector<std::string> sentences() const override {
    if (spec().source == "none") return {};
    return {"Metrics are by " + spec().source + "."};
  }

 private:
  std::unique_ptr<Environment> environment_;
  std::vector<std::string> warnings_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

}  // namespace

std::shared_ptr<const Problem> Task::problem() const {
  const std::unique_ptr<Environment> start = environment();
  start->reset(0);
  return std::make_shared<const EnvironmentProblem>(*start);
}

Result Task::result(const Problem& start, SearchOutcome found) const {
  const std::unique_ptr<Problem> best = replay(start, found.best.path.moves());
  const Environment& end = environment_problem(*best).environment();
  const EnvSpec& spec = end.spec();
  const auto objective = [&](double cost) { return spec.less_is_better ? cost : -cost; };
  Result result;
  result.best = spec.worst();
  result.candidates = found.candidates;
  // Without a look ahead a candidate is a step that is tried on a copy.
  result.work.steps = found.steps + (spec.looks_ahead ? 0 : found.candidates);
  result.seconds = found.seconds;
  if (!end.info().feasible) return result;
  result.best = objective(found.best.cost);
  result.metrics = end.info().metrics;
  result.solution = solution(end);
  for (const SearchProgress& point : found.trace)
    if (std::isfinite(point.best)) result.trace.push_back({point.seconds, objective(point.best)});
  return result;
}

std::vector<std::string> Tasks::usual_solvers() const {
  return {"random", "greedy", "beam", "mcts"};
}

std::unique_ptr<Tasks> plain_tasks(std::unique_ptr<Environment> environment,
                                   std::vector<std::string> warnings) {
  return std::make_unique<PlainTasks>(std::move(environment), std::move(warnings));
}

}  // namespace reverie
