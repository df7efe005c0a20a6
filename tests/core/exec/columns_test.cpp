#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "core/base/random.h"
#include "core/exec/reference/reference.h"
#include "core/ir/value_range.h"
#include "tests/core/exec/operator_cases.h"

/// Whether columns of the operator table tell the truth, of every row: the reference kernels say.
namespace reverie::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What is tried: a node with its attributes, and floats for its inputs.
struct Trial {
  std::string name;
  const OpSchema* op;
  Attributes attributes;
  std::vector<TensorType> types;
  std::vector<Tensor> fixed;  ///< by input: what does not vary; else unknown
  double low, high;
};

Trial trial_of(const OperatorCase& one) {
  const NodeId node = one.graph.producer(one.graph.outputs()[0].value);
  Trial trial{one.name, &one.graph.op(node), one.graph.attributes(node), {}, {}, one.low, one.high};
  Rng rng(3);
  for (const ValueId input : one.graph.inputs(node)) {
    trial.types.push_back(input.valid() ? one.graph.type(input) : TensorType{});
    const TensorType& type = trial.types.back();
    const bool is_fixed = type.known() && !is_floating(type.dtype);
    trial.fixed.push_back(is_fixed ? drawn(type, rng, one.low, one.high) : Tensor());
  }
  return trial;
}

/// By input, one of floats alone: what the fixed are is said by the trial.
using Floats = std::vector<std::vector<double>>;

template <typename Number>
Floats floats_of(const Trial& trial, Number&& number) {
  Floats floats(trial.types.size());
  for (size_t i = 0; i < floats.size(); ++i)
    if (trial.types[i].known() && !trial.fixed[i].type().known())
      for (int64_t at = 0; at < trial.types[i].elements(); ++at) floats[i].push_back(number());
  return floats;
}

std::vector<Tensor> results(const Trial& trial, const Floats& floats) {
  std::vector<Tensor> inputs = trial.fixed;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!floats[i].empty()) {
      inputs[i] = Tensor({DType::kFloat64, trial.types[i].shape});
      std::ranges::copy(floats[i], inputs[i].data<double>().begin());
    }
  return evaluate_node(*trial.op, trial.attributes, inputs,
                       {.precision = Precision::kDouble, .cast_back = false});
}

/// The largest difference of two results; between numbers and what are none there is no distance.
double distance(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape() != b[i].shape()) return kInfinity;
    const std::vector<double> x = a[i].to_doubles(), y = b[i].to_doubles();
    for (size_t at = 0; at < x.size(); ++at)
      if (std::isfinite(x[at]) && std::isfinite(y[at]))
        largest = std::max(largest, std::fabs(x[at] - y[at]));
  }
  return largest;
}

Floats between(const Floats& a, const Floats& b) {
  Floats middle = a;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t at = 0; at < a[i].size(); ++at) middle[i][at] = (a[i][at] + b[i][at]) / 2;
  return middle;
}

/// What is left of the difference between two inputs' results when, again and again, the half is
/// taken in which more of it lies, as a share of the whole: nothing where the operator is
/// continuous.
double jump_between(const Trial& trial, Floats a, Floats b) {
  constexpr int kHalvings = 48;
  std::vector<Tensor> from = results(trial, a), to = results(trial, b);
  const double whole = distance(from, to);
  if (whole == 0) return 0;
  for (int i = 0; i < kHalvings; ++i) {
    Floats middle = between(a, b);
    std::vector<Tensor> at = results(trial, middle);
    const bool first = distance(from, at) >= distance(at, to);
    (first ? b : a) = std::move(middle);
    (first ? to : from) = std::move(at);
  }
  return distance(from, to) / (std::isfinite(whole) ? whole : 1);
}

/// The largest jump on some ways from one number for all inputs, and from random numbers, to
/// others.
double largest_jump(const Trial& trial) {
  double largest = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Rng rng(seed);
    const auto random = [&] { return rng.uniform(trial.low, trial.high); };
    const double one = seed % 2 == 0 ? (trial.low + trial.high) / 2 : random();
    const Floats same = floats_of(trial, [&] { return one; });
    const Floats a = floats_of(trial, random), b = floats_of(trial, random);
    largest = std::max({largest, jump_between(trial, a, b), jump_between(trial, same, b)});
  }
  return largest;
}

/// Whether infinity or NaN in the place of a number, as an overflow gives, changes a truth value.
bool asks_what_it_is(const Trial& trial) {
  Rng rng(1);
  const Floats number = floats_of(trial, [&] { return rng.uniform(trial.low, trial.high); });
  const std::vector<Tensor> answer = results(trial, number);
  if (answer[0].type().dtype != DType::kBool) return false;
  for (const double other : {kInfinity, std::numeric_limits<double>::quiet_NaN()})
    if (distance(answer, results(trial, floats_of(trial, [&] { return other; }))) > 0) return true;
  return false;
}

bool is_marked(const Trial& trial) {
  return trial.op->steps && trial.op->steps({trial.types, {}, trial.attributes});
}

/// Rows that are nodes of no graph, and what operator_cases() lacks.
std::vector<Trial> further_trials() {
  const TensorType row = f32({5}), scalar = f32({});
  const auto trial = [](const char* name, const char* op, Attributes attributes,
                        std::vector<TensorType> types) {
    std::vector<Tensor> fixed(types.size());
    return Trial{name, &op_named(op), std::move(attributes), std::move(types), fixed, -2.5, 2.5};
  };
  const auto program = [](const char* text) { return Attributes{{"program", std::string(text)}}; };
  std::vector<Trial> trials = {
      trial("NonZero", "NonZero", {}, {row}),
      trial("Equal", "Equal", {}, {row, row}),
      trial("Pointwise", "Pointwise", program("t = Mul(x0, x1); y = Sigmoid(t)"), {row, row}),
      trial("Pointwise_floor", "Pointwise", program("t = Mul(x0, x1); y = Floor(t)"), {row, row}),
      trial("Cast_double", "Cast", {{"to", std::string("float64")}}, {row}),
      trial("Cast_bool", "Cast", {{"to", std::string("bool")}}, {row}),
      trial("Pow_of_integers", "Pow", {}, {of(DType::kInt64, {5}), row}),
      trial("Range", "Range", {}, {scalar, scalar, scalar}),
      trial("Shape", "Shape", {}, {row}),
      trial("ConstantOfShape", "ConstantOfShape", {}, {of(DType::kInt64, {2})}),
  };
  trials[6].fixed[0] = Tensor::of<int64_t>({5}, {1, 2, 3, 4, 5});
  trials[7].fixed[2] = Tensor::of<double>({}, {0.5});
  trials[9].fixed[0] = Tensor::of<int64_t>({2}, {2, 3});
  return trials;
}

std::vector<Trial> all_trials() {
  std::vector<Trial> trials = further_trials();
  for (const OperatorCase& one : operator_cases()) trials.push_back(trial_of(one));
  return trials;
}

TEST(Steps, StandWhereResultsJumpAndNowhereElse) {
  constexpr double kStep = 1e-3;
  for (const Trial& trial : all_trials()) {
    const bool jumps = largest_jump(trial) > kStep || asks_what_it_is(trial);
    EXPECT_EQ(is_marked(trial), jumps) << trial.name << ", row '" << trial.op->name << "'";
  }
}

TEST(Steps, AreTriedOfEveryRow) {
  std::set<std::string> tried = {"Input", "Constant", "Opaque"};
  std::set<std::string> marked;
  for (const Trial& trial : all_trials()) {
    tried.insert(trial.op->name);
    if (is_marked(trial)) marked.insert(trial.op->name);
  }
  for (const OpSchema& row : all_ops()) {
    EXPECT_TRUE(tried.contains(row.name)) << row.name << " is in no case";
    EXPECT_EQ(static_cast<bool>(row.steps), marked.contains(row.name))
        << row.name << " has steps, but no case shows one";
  }
}

/// A number of a range, often 0 where it may be.
double number_in(ValueRange range, double reach, Rng& rng) {
  if (range != ValueRange::kPositive && rng.below(4) == 0) return 0;
  const double size = rng.uniform(1e-3, reach);
  return range == ValueRange::kFinite && rng.below(2) == 0 ? -size : size;
}

bool is_in(ValueRange range, double x) {
  if (range == ValueRange::kUnknown) return true;
  const double least = range == ValueRange::kFinite ? -kInfinity : 0;
  return std::isfinite(x) && (range == ValueRange::kPositive ? x > 0 : x >= least);
}

/// What range_of() says where the trial's floats are of one range.
ValueRange range_from(const Trial& trial, ValueRange range) {
  std::vector<ValueRange> inputs;
  for (const TensorType& type : trial.types)
    inputs.push_back(!type.known()             ? ValueRange::kPositive
                     : is_floating(type.dtype) ? range
                                               : ValueRange::kFinite);
  return range_of({.op = *trial.op, .attributes = trial.attributes, .inputs = inputs});
}

/// Floats of a range; a variance is not negative whatever the range.
Floats floats_in(const Trial& trial, ValueRange range, double reach, Rng& rng) {
  Floats floats = floats_of(trial, [&] { return number_in(range, reach, rng); });
  if (trial.op->is("BatchNormalization"))
    for (double& variance : floats[4]) variance = std::fabs(variance);
  return floats;
}

void expect_in(ValueRange said, const Tensor& result, const std::string& name) {
  if (!is_floating(result.type().dtype)) return;
  for (const double x : result.to_doubles()) EXPECT_TRUE(is_in(said, x)) << name << " gives " << x;
}

TEST(Ranges, HoldForWhatGoesIn) {
  std::set<std::string> checked;
  for (const Trial& trial : all_trials())
    for (const ValueRange range :
         {ValueRange::kFinite, ValueRange::kNonNegative, ValueRange::kPositive}) {
      const ValueRange said = range_from(trial, range);
      if (said == ValueRange::kUnknown) continue;
      checked.insert(trial.op->name);
      for (const double reach : {0.1, 10.0}) {
        Rng rng(5);
        for (const Tensor& result : results(trial, floats_in(trial, range, reach, rng)))
          expect_in(said, result, trial.name);
      }
    }
  EXPECT_GT(checked.size(), 80U);
}

/// Another number for each number, in no order.
double another(double x) { return x == 0 ? 0 : std::sin(1e6 * x) + 2; }

bool takes_floats(const Trial& trial) {
  return std::ranges::any_of(trial.types,
                             [](const TensorType& type) { return is_floating(type.dtype); });
}

/// Whether the results, if floats go in, are floats, and those of other floats are these in the
/// same places. Numbers that an attribute gives are the same whatever goes in.
bool hands_on(const Trial& trial) {
  Rng rng(9);
  const Floats floats = floats_of(trial, [&] { return rng.uniform(trial.low, trial.high); });
  Floats others = floats;
  for (std::vector<double>& numbers : others)
    for (double& x : numbers) x = another(x);
  const std::vector<Tensor> a = results(trial, floats), b = results(trial, others);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape() != b[i].shape()) return false;
    if (takes_floats(trial) && !is_floating(a[i].type().dtype)) return false;
    const std::vector<double> x = a[i].to_doubles(), y = b[i].to_doubles();
    for (size_t at = 0; at < x.size(); ++at)
      if (y[at] != another(x[at]) && y[at] != x[at]) return false;
  }
  return true;
}

/// Beside the rows that move, some hand floats on that are not their first input's, or only with
/// some attributes.
TEST(Moves, AreWhatHandsFloatsOn) {
  std::set<std::string> computing;
  for (const Trial& trial : all_trials()) {
    const bool handed = hands_on(trial);
    EXPECT_TRUE(handed || !trial.op->moves) << trial.name;
    if (!handed) computing.insert(trial.op->name);
  }
  const std::set<std::string> others = {"Where", "OneHot", "ScatterElements"};
  for (const Trial& trial : all_trials()) {
    const bool known = !takes_floats(trial) || trial.op->moves || others.contains(trial.op->name);
    EXPECT_TRUE(known || computing.contains(trial.op->name)) << trial.name << " is not marked";
  }
}

}  // namespace
}  // namespace reverie::testing
