#include "core/rulekit/verify/field_proof.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/exec/draw.h"
#include "core/rulekit/field/field_executor.h"
#include "core/rulekit/field/prime_field.h"
#include "core/rulekit/verify/assignments.h"
#include "core/rules/example.h"
#include "core/rules/no_cost.h"
#include "core/rules/rewrite_state.h"

namespace reverie {
namespace {

std::vector<FieldTensor> draw_inputs(const Graph& graph, const Graph& original, Rng rng) {
  std::vector<FieldTensor> inputs;
  for (const NodeId input : graph.inputs()) {
    const TensorType& type = graph.type(graph.output(input));
    const std::string& name = graph.input_name(input);
    const Rng own = rng.fork(hash_string(name));
    if (is_floating(type.dtype)) {
      inputs.push_back(draw_field_tensor(type, own));
    } else {
      const Graph* graphs[] = {&original};
      inputs.push_back(to_field(draw(type, DrawPlan(graphs).input(name), own)));
    }
  }
  return inputs;
}

FieldTensor weight_tensor(const Weight& weight, const std::set<uint64_t>& drawn, Rng rng) {
  if (drawn.contains(weight.identity()) && is_floating(weight.type().dtype))
    return draw_field_tensor(weight.type(), rng.fork(weight.identity()));
  if (!weight.is_fill()) return to_field(weight.materialize());
  Tensor filled({DType::kFloat64, weight.type().shape});
  std::ranges::fill(filled.data<double>(), weight.fill_value());
  return to_field(is_floating(weight.type().dtype) ? filled : filled.cast(weight.type().dtype));
}

/// What one point shows of an original and its replacement.
struct Point {
  double degree = 0;
  double error = 0;
  std::string difference;
};

std::string place_of(const Shape& shape, size_t element) {
  std::vector<int64_t> index(shape.size());
  auto rest = static_cast<int64_t>(element);
  for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
    index[axis] = rest % shape[axis];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string difference_of(const FieldTensor& a, const FieldTensor& b, const std::string& output) {
  const auto left = a.elements.bytes();
  const auto right = b.elements.bytes();
  const auto [at, other] = std::ranges::mismatch(left, right);
  if (at == left.end()) return {};
  const auto element = static_cast<size_t>(at - left.begin()) /
                       static_cast<size_t>(size_of(a.elements.type().dtype));
  return fmt::format("output '{}' differs at {}", output, place_of(a.elements.shape(), element));
}

/// What is drawn of integers is too little to bound an error by.
void refuse_integers(const Graph& original) {
  const Graph* graphs[] = {&original};
  const DrawPlan plan(graphs);
  for (const NodeId node : original.nodes()) {
    const WeightPtr& weight = original.weight(node);
    if ((weight != nullptr && plan.weight(weight->identity()).computed_with) ||
        (&original.op(node) == &input_op() && plan.input(original.input_name(node)).computed_with))
      throw InputError("it computes with integers, for which polynomials over a field say nothing");
  }
}

/// Nothing where something was divided by nought.
std::optional<Point> compare_at(const Graph& original, const Graph& candidate,
                                const std::set<uint64_t>& drawn, uint64_t key) {
  const Rng rng(key);
  FieldExecutor executor(rng.state());
  const auto weights = [&](const Weight& weight) {
    return weight_tensor(weight, drawn, rng.fork(1));
  };
  const auto run = [&](const Graph& graph) {
    return executor.run(graph, draw_inputs(graph, original, rng.fork(2)), weights);
  };
  const std::vector<FieldTensor> a = run(original);
  const std::vector<FieldTensor> b = run(candidate);
  if (executor.functions().divided_by_zero()) return {};
  Point point;
  for (size_t i = 0; i < a.size(); ++i) {
    point.degree = std::max(point.degree, degree_of_difference(a[i].degree, b[i].degree));
    if (point.difference.empty())
      point.difference = difference_of(a[i], b[i], original.outputs()[i].name);
  }
  point.error = std::min(1.0, point.degree / static_cast<double>(field::kPrime) +
                                  executor.functions().collision_bound());
  return point;
}

RewriteState state_of(const std::shared_ptr<RuleSet>& rules, const Graph& graph) {
  return RewriteState(graph, rules, std::make_shared<NoCost>());
}

class FieldProver {
 public:
  FieldProver(const Rule& rule, const FieldProofOptions& options)
      : rule_(rule), options_(options), rules_(std::make_shared<RuleSet>()) {
    rules_->add(rule);
  }

  FieldProof run() {
    try {
      prove();
    } catch (const InputError& error) {
      result_.not_covered = error.what();
    }
    result_.ranks.assign(ranks_.begin(), ranks_.end());
    return std::move(result_);
  }

 private:
  void prove() {
    const RulePattern& pattern = rule_.pattern();
    const auto applies = [&](const RuleExample& example) { return rule_applies(rule_, example); };
    for (const RuleExample& example : pattern.examples) {
      const Rng rng = Rng(options_.seed).fork(hash_string(verify::text_of(pattern, example)));
      if (!check(example)) return;
      for (const RuleExample& other :
           verify::vary(pattern, example, options_.variations, rng, applies))
        if (!check(other)) return;
    }
  }

  /// Adds what an assignment shows; false where it is a counterexample.
  bool check(const RuleExample& example) {
    constexpr size_t kMostMatches = 4;
    ExampleParts parts;
    const Graph original = build_example(rule_.pattern(), example, options_.seed, &parts);
    const RewriteState state = state_of(rules_, original);
    const std::vector<Match>& matches = state.locations(0);
    if (matches.empty()) return fail(example, "the rule does not apply");
    for (size_t i = 0; i < std::min(matches.size(), kMostMatches); ++i) {
      RewriteState next = state;
      next.commit(state.propose(matches[i]));
      try {
        refuse_integers(original);
        const std::string difference = compare(original, next.graph(), parts.drawn);
        if (!difference.empty()) return fail(example, difference);
      } catch (const InputError& error) {
        if (result_.not_covered.empty())
          result_.not_covered =
              fmt::format("{}: {}", verify::text_of(rule_.pattern(), example), error.what());
        return true;  // another assignment may be a counterexample
      }
      ranks_.insert(original.type(original.output(matches[i].root)).rank());
    }
    result_.assignments.push_back(example);
    return true;
  }

  bool fail(const RuleExample& example, const std::string& what) {
    result_.counterexample = fmt::format("{}: {}", verify::text_of(rule_.pattern(), example), what);
    return false;
  }

  std::string compare(const Graph& original, const Graph& candidate,
                      const std::set<uint64_t>& drawn) {
    constexpr int kMostTries = 8;
    double error = 1;
    for (int point = 0, tries = 0; point < options_.points; ++tries) {
      if (tries > options_.points + kMostTries)
        throw InputError("a divisor is 0 at every point tried");
      const uint64_t key = hash_combine(options_.seed, static_cast<uint64_t>(tries));
      const auto shown = compare_at(original, candidate, drawn, key);
      if (!shown) continue;
      ++point;
      if (!shown->difference.empty()) return shown->difference;
      error *= shown->error;
      result_.degree = std::max(result_.degree, shown->degree);
    }
    ++result_.compared;
    result_.error = std::max(result_.error, error);
    return {};
  }

  const Rule& rule_;
  const FieldProofOptions& options_;
  std::shared_ptr<RuleSet> rules_;
  std::set<int> ranks_;
  FieldProof result_;
};

}  // namespace

bool rule_applies(const Rule& rule, const RuleExample& example) {
  try {
    const Graph graph = build_example(rule.pattern(), example, 1);
    for (const NodeId node : graph.nodes())
      for (const ValueId value : graph.outputs(node))
        if (graph.type(value).elements() > verify::kMostTrialElements) return false;
    const auto alone = std::make_shared<RuleSet>();
    alone->add(rule);
    return state_of(alone, graph).location_count(0) > 0;
  } catch (const InputError&) {
    return false;
  }
}

FieldProof prove_over_field(const Rule& rule, const FieldProofOptions& options) {
  return FieldProver(rule, options).run();
}

}  // namespace reverie
