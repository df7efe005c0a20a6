#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/rules/parser.h"

namespace reverie {
namespace {

class Checker {
 public:
  explicit Checker(const RulePattern& pattern) : pattern_(pattern) {}

  void run() const {
    if (pattern_.source.empty()) fail("'match' holds no operator");
    check_arity();
    if (!pattern_.apart) check_connected();
    check_outputs();
    check_idle_steps();
    check_uses();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError("{}: rule '{}': {}", pattern_.origin, pattern_.name, what);
  }

  void check_arity() const {
    for (const SourceOp& op : pattern_.source) {
      check_list(op, op.inputs, op.op->min_inputs, op.op->max_inputs, "inputs");
      check_list(op, op.outputs, op.op->min_outputs, op.op->max_outputs, "outputs");
    }
    for (const TargetStep& step : pattern_.target)
      if (step.kind == TargetStep::Kind::kOperator && step.op->max_inputs != OpSchema::kVariadic &&
          static_cast<int>(step.inputs.size()) > step.op->max_inputs)
        fail(fmt::format("{} takes at most {} inputs", step.op->name, step.op->max_inputs));
  }

  void check_list(const SourceOp& op, const std::vector<int>& values, int min, int max,
                  const char* what) const {
    const auto sequences = std::count_if(values.begin(), values.end(), [&](int value) {
      return pattern_.values[static_cast<size_t>(value)].sequence;
    });
    const int count = static_cast<int>(values.size() - static_cast<size_t>(sequences));
    if (sequences > 2)
      fail(fmt::format("{} has {} sequences among its {}; at most two can be told apart",
                       op.op->name, sequences, what));
    if (count > max || (sequences == 0 && count < min))
      fail(
          fmt::format("{} has {} {} here, and takes {} to {}", op.op->name, count, what, min, max));
  }

  void check_connected() const {
    std::vector<int> group(pattern_.source.size());
    for (size_t i = 0; i < group.size(); ++i) group[i] = static_cast<int>(i);
    const auto touches = [&](size_t op, int value) {
      const SourceOp& o = pattern_.source[op];
      return std::find(o.inputs.begin(), o.inputs.end(), value) != o.inputs.end() ||
             std::find(o.outputs.begin(), o.outputs.end(), value) != o.outputs.end();
    };
    for (size_t value = 0; value < pattern_.values.size(); ++value) {
      int joined = -1;
      for (size_t op = 0; op < group.size(); ++op) {
        if (!touches(op, static_cast<int>(value))) continue;
        if (joined < 0) joined = group[op];
        const int other = group[op];
        std::replace(group.begin(), group.end(), other, joined);
      }
    }
    if (std::any_of(group.begin(), group.end(), [&](int g) { return g != group[0]; }))
      fail(
          "the operators of 'match' fall apart; they must share values, if only an input, or the "
          "rule must say 'apart'");
  }

  void check_outputs() const {
    if (pattern_.outputs.empty()) fail("nothing is replaced");
    const auto mapped = [&](int value) {
      return std::any_of(pattern_.outputs.begin(), pattern_.outputs.end(),
                         [&](const MappedOutput& output) { return output.source == value; });
    };
    const auto check = [&](const TargetValue& value) {
      if (value.source && mapped(value.index))
        fail(fmt::format("'{}' is used in 'replace' before it has its new meaning",
                         pattern_.values[static_cast<size_t>(value.index)].name));
    };
    for (const TargetStep& step : pattern_.target)
      std::for_each(step.inputs.begin(), step.inputs.end(), check);
    for (const MappedOutput& output : pattern_.outputs) check(output.target);
  }

  void check_idle_steps() const {
    std::vector<bool> used(static_cast<size_t>(pattern_.target_values), false);
    const auto use = [&](const TargetValue& value) {
      if (!value.source) used[static_cast<size_t>(value.index)] = true;
    };
    for (const TargetStep& step : pattern_.target)
      std::for_each(step.inputs.begin(), step.inputs.end(), use);
    for (const MappedOutput& output : pattern_.outputs) use(output.target);
    for (const TargetStep& step : pattern_.target)
      if (std::none_of(step.outputs.begin(), step.outputs.end(),
                       [&](int output) { return used[static_cast<size_t>(output)]; }))
        fail(fmt::format("{} in 'replace' is used by nothing",
                         step.op != nullptr ? step.op->name : "a value"));
  }

  /// Replacements are shared by matches that differ in uses alone.
  void check_uses() const {
    const auto check = [&](const Expr& expr) {
      if (reads_uses(expr)) fail("uses() can stand in 'where' only, and there in conditions");
    };
    for (const TargetStep& step : pattern_.target) {
      for (const auto& attribute : step.attributes) check(attribute.second);
      std::for_each(step.arguments.begin(), step.arguments.end(), check);
    }
    for (const Condition& condition : pattern_.conditions)
      if (condition.variable >= 0) check(condition.expr);
  }

  const RulePattern& pattern_;
};

}  // namespace

void check_pattern(const RulePattern& pattern) { Checker(pattern).run(); }

}  // namespace reverie
