#include "env/adapt/adapt_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/files.h"
#include "core/base/stopwatch.h"
#include "core/base/words.h"
#include "core/report/svg.h"
#include "env/adapt/features.h"
#include "env/selected_starts.h"

namespace reverie {
namespace {

const AdaptEnvironment& adapting(const Environment& environment) {
  return dynamic_cast<const AdaptEnvironment&>(environment.unwrapped());
}

const JobState& job_of(const Solution& solution) {
  return dynamic_cast<const AdaptSolution&>(solution).job;
}

std::vector<double> accuracies(const JobState& job) {
  std::vector<double> all;
  for (const EpochRecord& epoch : job.curve) all.push_back(epoch.accuracy);
  return all;
}
Series curve_of(const std::string& method, const JobState& job) {
  Series curve;
  curve.name = method;
  for (const EpochRecord& epoch : job.curve)
    curve.points.emplace_back(100 * epoch.spent, 100 * epoch.accuracy);
  return curve;
}

class AdaptTasks : public Tasks {
 public:
  AdaptTasks(MadeEnvironment made, const std::optional<AdaptStart>& learning)
      : made_(std::move(made)) {
    const AdaptEnvironment& environment = adapting(*made_.environment);
    for (int start = 0; start < spec().start_states(); ++start)
      tasks_.push_back(std::make_unique<AdaptTask>(
          environment, start, learning.value_or(environment.starts()[static_cast<size_t>(start)])));
  }

  const EnvSpec& spec() const override { return made_.environment->spec(); }
  std::vector<std::string> warnings() const override { return made_.warnings; }
  const std::vector<std::unique_ptr<Task>>& tasks() const override { return tasks_; }
  std::vector<std::string> usual_solvers() const override {
    return {"random", "nothing", "early", "exhaustive"};
  }
  std::vector<std::string> sentences() const override {
    return {
        fmt::format("Accuracies are by {}, at the end of the budget.", spec().source),
        "An episode without an end has no result; `no-op` is the network at the first decision."};
  }

 private:
  MadeEnvironment made_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

}  // namespace

AdaptTask::AdaptTask(const AdaptEnvironment& prototype, int start, AdaptStart learning)
    : prototype_(prototype), start_(start), learning_(std::move(learning)) {}

const AdaptStart& AdaptTask::final() const {
  return prototype_.starts()[static_cast<size_t>(start_)];
}

std::unique_ptr<Environment> AdaptTask::environment() const {
  return select_starts(prototype_.fork(), {start_});
}

std::shared_ptr<const Solution> AdaptTask::solution(const Environment& played) const {
  return std::make_shared<AdaptSolution>(adapting(played).job());
}

bool AdaptTask::equal(const Solution& a, const Solution& b) const {
  return job_of(a).decisions == job_of(b).decisions && job_of(a).curve == job_of(b).curve;
}

Artifact AdaptTask::write(const Solution& solution, const std::string& solver,
                          const std::string& directory) const {
  create_directory(directory + "/networks");
  Artifact artifact;
  artifact.file = fmt::format("networks/{}.{}.yaml", name(), file_word(solver));
  write_file(directory + "/" + artifact.file, to_yaml(job_of(solution).network));
  return artifact;
}

TaskDescription AdaptTask::describe(std::span<const Solved> solved) const {
  const std::unique_ptr<Environment> begun = environment();
  begun->reset(0);
  const JobState first = adapting(*begun).job();
  TaskDescription said;
  std::vector<std::string> decisions, parameters, epochs;
  std::vector<Series> curves;
  for (const Solved& one : solved) {
    const JobState& job = job_of(*one.solution);
    decisions.push_back(decisions_text(job, spec().primary_actions() > 4));
    parameters.push_back(fmt::format("{}", job.network.parameters()));
    epochs.push_back(fmt::format("{}", job.curve.size()));
    said.details.push_back(
        {{"decisions", decisions.back()}, {"accuracy_of_epochs", accuracies(job)}});
    if (job.over) curves.push_back(curve_of(one.solver, job));
  }
  said.sentences = {
      fmt::format("{}: {} and {:.0f} % of the budget before the first decision; accuracy "
                  "{:.2f} % then, with {} parameters.",
                  name(), counted(first.curve.size(), "epoch"), 100 * first.spent,
                  begun->info().objective(spec()), first.network.parameters())};
  said.columns = {{"decisions", decisions}, {"parameters", parameters}, {"epochs", epochs}};
  said.plots = {line_chart("Accuracy of each solver's best run",
                           {.x_label = "share of the budget, %", .y_label = "accuracy, %"},
                           curves)};
  return said;
}

Result AdaptTask::result(const JobState& end, int64_t episodes, double seconds) const {
  Result result;
  result.solution = std::make_shared<AdaptSolution>(end);
  result.best = 100 * mean_accuracy(end.curve, final().final_epochs);
  result.metrics = {result.best, static_cast<double>(end.network.parameters()),
                    static_cast<double>(end.curve.size())};
  result.candidates = episodes;
  result.seconds = seconds;
  result.trace = {{seconds, result.best}};
  return result;
}

const AdaptTask& adapt_task(const Task& task) { return dynamic_cast<const AdaptTask&>(task); }

Result play_found(const AdaptTask& task, const AdaptSearch& find, const SearchOptions& limits) {
  const Stopwatch watch;
  const Decisions found = find(task.learning(), static_cast<int>(limits.budget), limits.seed);
  const auto job = task.final().source->start(limits.seed);
  follow(found, *task.final().source, *job);
  return task.result(job->state(), limits.budget, watch.seconds());
}

std::unique_ptr<Tasks> adapt_tasks(MadeEnvironment made, std::optional<AdaptStart> learning) {
  return std::make_unique<AdaptTasks>(std::move(made), learning);
}

}  // namespace reverie
