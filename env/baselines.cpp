#include "env/baselines.h"

#include <utility>

#include "core/base/random.h"
#include "core/base/stopwatch.h"
#include "env/selected_starts.h"

namespace reverie {
namespace {

/// One run under way: its clock and the best state so far.
class Run {
 public:
  explicit Run(Environment& environment) : environment_(environment) {
    result_.best = environment.spec().worst();
    before_ = environment.counters();
  }

  double seconds() const { return watch_.seconds(); }
  void look() {
    const StepInfo info = environment_.info();
    const EnvSpec& spec = environment_.spec();
    if (!info.feasible || !spec.better(info.objective(spec), result_.best)) return;
    result_.best = info.objective(spec);
    result_.metrics = info.metrics;
    result_.trace.push_back({seconds(), result_.best});
  }
  void count_candidates(size_t count) { result_.candidates += static_cast<int64_t>(count); }
  void count_work(const EnvCounters& elsewhere) { result_.work += elsewhere; }

  MethodResult finish() {
    const EnvCounters& now = environment_.counters();
    result_.work.steps += now.steps - before_.steps;
    result_.work.resets += now.resets - before_.resets;
    result_.work.cost_lookups += now.cost_lookups - before_.cost_lookups;
    result_.work.measurements += now.measurements - before_.measurements;
    result_.seconds = seconds();
    return std::move(result_);
  }

 private:
  Environment& environment_;
  Stopwatch watch_;
  EnvCounters before_;
  MethodResult result_;
};

/// What each choice of a primary action gains.
std::vector<double> gains_of(const Environment& environment, const ActionMask& mask, int primary,
                             Run& run) {
  std::vector<double> gains;
  if (environment.spec().looks_ahead) {
    gains = environment.gains(primary);
  } else {
    for (int n = 0; n < mask.total(primary); ++n) {
      const std::unique_ptr<Environment> tried = environment.fork();
      gains.push_back(tried->step(mask.choice(primary, n)).reward);
      run.count_work(tried->counters());
    }
  }
  run.count_candidates(gains.size());
  return gains;
}

/// The choice that gains most, the first of equals; NO-OP where none gains.
Action best_choice(const Environment& environment, Run& run) {
  const ActionMask mask = environment.mask();
  const int no_op = environment.spec().no_op();
  Action best{no_op, 0, 0};
  double most = 0;
  for (int primary = 0; primary < no_op; ++primary) {
    if (mask.total(primary) == 0) continue;
    const std::vector<double> gains = gains_of(environment, mask, primary, run);
    for (size_t n = 0; n < gains.size(); ++n) {
      if (gains[n] <= most) continue;
      most = gains[n];
      best = mask.choice(primary, static_cast<int>(n));
    }
  }
  return best;
}

Action random_choice(const ActionMask& mask, Rng& rng) {
  const int no_op = mask.primary_actions() - 1;
  std::vector<int> open;
  for (int primary = 0; primary < no_op; ++primary)
    if (mask.total(primary) > 0) open.push_back(primary);
  if (open.empty()) return {no_op, 0, 0};
  const int primary = open[rng.below(open.size())];
  return mask.choice(primary,
                     static_cast<int>(rng.below(static_cast<uint64_t>(mask.total(primary)))));
}

template <class Choose>
void play_episode(Environment& environment, uint64_t seed, Run& run, const Choose& choose) {
  environment.reset(seed);
  run.look();
  for (bool over = false; !over;) {
    const StepResult step = environment.step(choose());
    run.look();
    over = step.terminated || step.truncated;
  }
}

/// A start state of a prototype.
class PlainCase : public EvaluationCase {
 public:
  PlainCase(const Environment& prototype, int start) : prototype_(prototype), start_(start) {}

  std::unique_ptr<Environment> make() const override {
    return select_starts(prototype_.fork(), {start_});
  }
  std::vector<EvaluationMethod> baselines() const override {
    const auto on_fresh = [this](auto play) {
      return [this, play](const MethodLimits& limits) { return play(*make(), limits); };
    };
    return {{.name = "random",
             .budget = kEqualTime,
             .draws = true,
             .equal_time = true,
             .run = on_fresh(play_at_random)},
            {.name = "greedy",
             .budget = "",
             .draws = false,
             .equal_time = false,
             .run = on_fresh(play_greedily)}};
  }

 private:
  const Environment& prototype_;
  int start_;
};

class PlainCases : public EvaluationCases {
 public:
  PlainCases(std::unique_ptr<Environment> environment, std::vector<std::string> warnings)
      : environment_(std::move(environment)), warnings_(std::move(warnings)) {
    for (int start = 0; start < spec().start_states(); ++start)
      cases_.push_back(std::make_unique<PlainCase>(*environment_, start));
  }

  const EnvSpec& spec() const override { return environment_->spec(); }
  std::vector<std::string> warnings() const override { return warnings_; }
  const std::vector<std::unique_ptr<EvaluationCase>>& cases() const override { return cases_; }
  std::vector<std::string> sentences() const override {
    if (spec().source == "none") return {};
    return {"Metrics are by " + spec().source + "."};
  }

 private:
  std::unique_ptr<Environment> environment_;
  std::vector<std::string> warnings_;
  std::vector<std::unique_ptr<EvaluationCase>> cases_;
};

}  // namespace

MethodResult play_greedily(Environment& environment, const MethodLimits& limits) {
  Run run(environment);
  play_episode(environment, limits.seed, run, [&] { return best_choice(environment, run); });
  return run.finish();
}

MethodResult play_at_random(Environment& environment, const MethodLimits& limits) {
  Run run(environment);
  Rng rng(limits.seed);
  do {
    play_episode(environment, rng.bits() >> 1, run,
                 [&] { return random_choice(environment.mask(), rng); });
  } while (run.seconds() < limits.seconds);
  return run.finish();
}

std::unique_ptr<EvaluationCases> plain_cases(std::unique_ptr<Environment> environment,
                                             std::vector<std::string> warnings) {
  return std::make_unique<PlainCases>(std::move(environment), std::move(warnings));
}

}  // namespace reverie
