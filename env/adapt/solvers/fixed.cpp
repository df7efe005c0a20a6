#include <fmt/ranges.h>

#include <charconv>
#include <tuple>

#include "core/base/error.h"
#include "env/adapt/solvers/episodes.h"

namespace reverie {
namespace {

constexpr char kFixed[] = "fixed", kGoOn[] = "go on";

struct FixedOptions {
  std::vector<std::string> decisions;

  template <class V>
  void fields(V& v) {
    v.field("decisions", decisions,
            "A decision each: 'go on', or 'deepen conv1', with ' at 0.003' behind it where rates "
            "are offered (without, the lowest)");
  }
};

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
  const JobState& job = job_in(environment);
  if (job.decisions.size() >= fixed.size()) return {environment.spec().no_op(), 0, 0};
  const NamedDecision& decision = fixed[job.decisions.size()];
  if (decision.block.empty()) return {0, 0, 0};
  const Action action{decision.primary, job.network.origin_of(decision.block) + 1, 0};
  if (!environment.mask().allows(action))
    throw InputError("{}: '{}' is not offered at decision {}",
                     environment.spec().starts.front().name, decision.text,
                     job.decisions.size() + 1);
  return action;
}

/// A sequence of decisions that a person gives. InputError for one that names no action, and for
/// one that the scenario does not offer.
class Fixed : public AdaptSolver {
 public:
  Fixed() : AdaptSolver(kFixed, "a given sequence, such as 'deepen conv1,go on,widen conv2'") {}

  std::string section() const override { return kFixed; }
  void declare(SolverSettings& settings) const override {
    settings.add<FixedOptions>(kFixed, what());
  }
  void check(const Task& task, const SolverSettings& settings) const override {
    decisions_of(adapt_task(task), settings);
  }
  Result run(const Task& task, const SearchOptions& limits,
             const SolverSettings& settings) const override {
    const std::vector<NamedDecision> decisions = decisions_of(adapt_task(task), settings);
    return play_episode(task, limits.seed,
                        [&](const Environment& here) { return fixed_choice(here, decisions); });
  }

 private:
  static std::vector<NamedDecision> decisions_of(const AdaptTask& task,
                                                 const SolverSettings& settings) {
    std::vector<NamedDecision> decisions;
    for (const std::string& text : settings.of<FixedOptions>(kFixed).decisions)
      decisions.push_back(named_decision(text, task.spec(), task.final().source->rates()));
    return decisions;
  }
};

const bool kRegistered = register_solver<Fixed>();

}  // namespace
}  // namespace reverie
