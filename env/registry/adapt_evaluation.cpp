#include "env/registry/adapt_evaluation.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/random.h"
#include "core/base/stopwatch.h"
#include "core/base/words.h"
#include "core/report/svg.h"
#include "env/selected_starts.h"

namespace reverie {
namespace {

constexpr char kGoOn[] = "go on";

const AdaptEnvironment& adapting(const Environment& environment) {
  return dynamic_cast<const AdaptEnvironment&>(environment.unwrapped());
}

const JobState& job_of(const Solution& solution) {
  return dynamic_cast<const AdaptSolution&>(solution).job;
}

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
    result_.solution = std::make_shared<AdaptSolution>(adapting(environment).job());
    result_.trace.push_back({watch_.seconds(), info.best});
  }
  void worked(const EnvCounters& counters) { result_.work += counters; }
  MethodResult finish() {
    result_.seconds = watch_.seconds();
    return std::move(result_);
  }

 private:
  Stopwatch watch_;
  MethodResult result_;
};

using Choose = std::function<Action(const Environment&)>;

MethodResult play_episode(std::unique_ptr<Environment> environment, uint64_t seed,
                          const Choose& choose) {
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

Action no_op(const Environment& environment) { return {environment.spec().no_op(), 0, 0}; }

/// The next of all changes of the blocks that the network began with, block by block, at the lowest
/// rate.
Action early_choice(const Environment& environment) {
  const ActionMask mask = environment.mask();
  const JobState& job = adapting(environment).job();
  const int rates = (environment.spec().no_op() - 1) / 2;
  std::vector<Action> changes;
  for (int entity = 1; entity < mask.entities; ++entity)
    for (const int primary : {1, 1 + rates})
      if (mask.at(primary, entity) > 0) changes.push_back({primary, entity, 0});
  if (changes.empty()) return {0, 0, 0};
  return changes[job.decisions.size() % changes.size()];
}

MethodResult play_all(std::unique_ptr<Environment> environment, uint64_t seed) {
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

/// A decision as a person names it.
struct NamedDecision {
  std::string text;   ///< "deepen conv1 at 0.003", "deepen conv1" (at the lowest rate), "deepen at
                      ///< 0.003: conv1", "go on"
  int primary = 0;    ///< of the action
  std::string block;  ///< that it changes; empty for "go on"
};

constexpr char kAt[] = " at ";

/// Between an action and its block, or a block and the rate.
std::pair<std::string, std::string> split_at(const std::string& text, size_t place, size_t length) {
  if (place == std::string::npos) return {text, ""};
  return {text.substr(0, place), text.substr(place + length)};
}

/// Whether that is how a person writes it.
bool is_written(const std::string& text, double number) {
  double read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  return error == std::errc() && end == text.data() + text.size() && read == number;
}

/// The number of an action by its kind ("deepen") and a rate, in numbers or words; without one the
/// lowest is meant. NO-OP's where there is none such.
int action_named(const std::string& kind, const std::string& rate, const EnvSpec& spec,
                 const std::vector<double>& rates) {
  size_t number = 0;  // of those of this kind
  for (int primary = 0; primary < spec.no_op(); ++primary) {
    const std::string& name = spec.actions[static_cast<size_t>(primary)];
    if (name != kind && !name.starts_with(kind + kAt)) continue;
    if (rate.empty() || name == kind + kAt + rate) return primary;
    if (number < rates.size() && is_written(rate, rates[number++])) return primary;
  }
  return spec.no_op();
}

[[noreturn]] void refuse(const std::string& text, const std::vector<double>& rates) {
  throw InputError(
      "'{}' is no decision; give '{}', or 'deepen' or 'widen' with a block{}", text, kGoOn,
      rates.size() < 2 ? ": 'deepen conv1'"
                       : fmt::format(", and a rate of {} where it shall not be the lowest: "
                                     "'deepen conv1 at {}'",
                                     fmt::join(rates, ", "), rates[1]));
}

NamedDecision named_decision(const std::string& text, const EnvSpec& spec,
                             const std::vector<double>& rates) {
  NamedDecision decision;
  decision.text = text;
  if (text == kGoOn) return decision;
  std::string action = text, rate;
  if (const size_t colon = text.find(": "); colon != std::string::npos) {
    std::tie(action, decision.block) = split_at(text, colon, 2);
    std::tie(action, rate) = split_at(action, action.find(kAt), sizeof(kAt) - 1);
  } else {
    std::tie(action, decision.block) = split_at(text, text.find(' '), 1);
    std::tie(decision.block, rate) =
        split_at(decision.block, decision.block.rfind(kAt), sizeof(kAt) - 1);
  }
  decision.primary = action_named(action, rate, spec, rates);
  if (decision.primary == spec.no_op() || action == kGoOn || decision.block.empty())
    refuse(text, rates);
  return decision;
}

Action fixed_choice(const Environment& environment, const std::vector<NamedDecision>& fixed) {
  const JobState& job = adapting(environment).job();
  if (job.decisions.size() >= fixed.size()) return no_op(environment);
  const NamedDecision& decision = fixed[job.decisions.size()];
  if (decision.block.empty()) return {0, 0, 0};
  const Action action{decision.primary, job.network.origin_of(decision.block) + 1, 0};
  if (!environment.mask().allows(action))
    throw InputError("{}: '{}' is not offered at decision {}",
                     environment.spec().starts.front().name, decision.text,
                     job.decisions.size() + 1);
  return action;
}

class AdaptCase : public EvaluationCase {
 public:
  AdaptCase(const Environment& prototype, int start, const std::vector<NamedDecision>& fixed)
      : prototype_(prototype), start_(start), fixed_(fixed) {}

  std::unique_ptr<Environment> make() const override {
    return select_starts(prototype_.fork(), {start_});
  }

  std::vector<EvaluationMethod> baselines() const override {
    std::vector<EvaluationMethod> all = {
        random(), episode("nothing", "no change", no_op),
        episode("early", "a change at every decision", early_choice)};
    if (!fixed_.empty())
      all.push_back(
          episode("fixed", "the sequence of the configuration",
                  [this](const Environment& here) { return fixed_choice(here, fixed_); }));
    if (spec().source == "table")
      all.push_back(
          {.name = "exhaustive",
           .budget = "all sequences once",
           .draws = true,
           .equal_time = false,
           .run = [this](const MethodLimits& limits) { return play_all(make(), limits.seed); }});
    return all;
  }

  std::shared_ptr<const Solution> solution(const Environment& played) const override {
    return std::make_shared<AdaptSolution>(adapting(played).job());
  }
  bool equal(const Solution& a, const Solution& b) const override {
    return job_of(a).decisions == job_of(b).decisions && job_of(a).curve == job_of(b).curve;
  }

  Artifact write(const Solution& solution, const std::string& method,
                 const std::string& directory) const override {
    create_directory(directory + "/networks");
    Artifact artifact;
    artifact.file = fmt::format("networks/{}.{}.yaml", name(), file_word(method));
    write_file(directory + "/" + artifact.file, to_yaml(job_of(solution).network));
    return artifact;
  }

  CaseDescription describe(std::span<const FinishedMethod> methods) const override {
    const std::unique_ptr<Environment> begun = make();
    begun->reset(0);
    const JobState first = adapting(*begun).job();
    CaseDescription said;
    std::vector<std::string> decisions, parameters, epochs;
    std::vector<Series> curves;
    for (const FinishedMethod& method : methods) {
      const JobState& job = job_of(*method.solution);
      decisions.push_back(decisions_text(job, spec().primary_actions() > 4));
      parameters.push_back(fmt::format("{}", job.network.parameters()));
      epochs.push_back(fmt::format("{}", job.curve.size()));
      said.details.push_back(
          {{"decisions", decisions.back()}, {"accuracy_of_epochs", accuracies(job)}});
      if (job.over) curves.push_back(curve_of(method.method, job));
    }
    said.sentences = {
        fmt::format("{}: {} and {:.0f} % of the budget before the first decision; accuracy "
                    "{:.2f} % then, with {} parameters.",
                    name(), counted(first.curve.size(), "epoch"), 100 * first.spent,
                    begun->info().objective(spec()), first.network.parameters())};
    said.columns = {{"decisions", decisions}, {"parameters", parameters}, {"epochs", epochs}};
    said.plots = {line_chart("Accuracy of each method's best run",
                             {.x_label = "share of the budget, %", .y_label = "accuracy, %"},
                             curves)};
    return said;
  }

 private:
  const EnvSpec& spec() const { return prototype_.spec(); }
  const std::string& name() const { return spec().starts[static_cast<size_t>(start_)].name; }

  EvaluationMethod episode(const std::string& method, const std::string& budget,
                           Choose choose) const {
    return {.name = method,
            .budget = budget,
            .draws = true,
            .equal_time = false,
            .run = [this, choose = std::move(choose)](const MethodLimits& limits) {
              return play_episode(make(), limits.seed, choose);
            }};
  }

  EvaluationMethod random() const {
    EvaluationMethod method = episode("random", "one episode", nullptr);
    method.run = [this](const MethodLimits& limits) {
      Rng rng(limits.seed);
      return play_episode(make(), limits.seed, [&rng](const Environment& here) {
        const std::vector<Action> choices = choices_of(here.mask());
        return choices[rng.below(choices.size())];
      });
    };
    return method;
  }

  static std::vector<double> accuracies(const JobState& job) {
    std::vector<double> all;
    for (const EpochRecord& epoch : job.curve) all.push_back(epoch.accuracy);
    return all;
  }
  static Series curve_of(const std::string& method, const JobState& job) {
    Series curve;
    curve.name = method;
    for (const EpochRecord& epoch : job.curve)
      curve.points.emplace_back(100 * epoch.spent, 100 * epoch.accuracy);
    return curve;
  }

  const Environment& prototype_;
  int start_;
  const std::vector<NamedDecision>& fixed_;
};

class AdaptCases : public EvaluationCases {
 public:
  AdaptCases(MadeEnvironment made, const AdaptEvaluationConfig& how) : made_(std::move(made)) {
    const std::vector<double>& rates =
        adapting(*made_.environment).starts().front().source->rates();
    for (const std::string& decision : how.fixed)
      fixed_.push_back(named_decision(decision, spec(), rates));
    for (int start = 0; start < spec().start_states(); ++start)
      cases_.push_back(std::make_unique<AdaptCase>(*made_.environment, start, fixed_));
  }

  const EnvSpec& spec() const override { return made_.environment->spec(); }
  std::vector<std::string> warnings() const override { return made_.warnings; }
  const std::vector<std::unique_ptr<EvaluationCase>>& cases() const override { return cases_; }
  std::vector<std::string> sentences() const override {
    return {
        fmt::format("Accuracies are by {}, at the end of the budget.", spec().source),
        "An episode without an end has no result; `no-op` is the network at the first decision."};
  }

 private:
  MadeEnvironment made_;
  std::vector<NamedDecision> fixed_;
  std::vector<std::unique_ptr<EvaluationCase>> cases_;
};

}  // namespace

std::unique_ptr<EvaluationCases> adapt_cases(MadeEnvironment made,
                                             const AdaptEvaluationConfig& how) {
  return std::make_unique<AdaptCases>(std::move(made), how);
}

}  // namespace reverie
