#include "core/exec/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/stopwatch.h"
#include "core/exec/cut.h"
#include "core/exec/draw.h"
#include "core/exec/reference/reference.h"
#include "core/ir/recycled_memory.h"
#include "core/ir/structural_hash.h"

namespace reverie {
namespace {

using Signature = std::map<std::string, TensorType>;

Signature inputs_of(const Graph& graph) {
  Signature types;
  for (const NodeId input : graph.inputs())
    types[graph.input_name(input)] = graph.type(graph.output(input));
  return types;
}

Signature outputs_of(const Graph& graph) {
  Signature types;
  for (const GraphOutput& output : graph.outputs()) types[output.name] = graph.type(output.value);
  return types;
}

/// The first difference, or nothing.
std::string difference(const Signature& a, const Signature& b, std::string_view what) {
  const auto show = [](const Signature& side, const std::string& name) {
    const auto at = side.find(name);
    return at == side.end() ? std::string("absent") : to_string(at->second);
  };
  for (const Signature* side : {&a, &b})
    for (const auto& entry : *side)
      if (show(a, entry.first) != show(b, entry.first))
        return fmt::format("{} '{}' is {} in the original and {} in the candidate", what,
                           entry.first, show(a, entry.first), show(b, entry.first));
  return {};
}

std::string difference(const CutGraph& a, const CutGraph& b) {
  std::vector<std::string> apart;
  std::set_symmetric_difference(a.seams.begin(), a.seams.end(), b.seams.begin(), b.seams.end(),
                                std::back_inserter(apart));
  if (!apart.empty())
    return fmt::format("what is carried through differs: {} in only one of the graphs", apart[0]);
  std::string found = difference(inputs_of(a.graph), inputs_of(b.graph), "input");
  if (found.empty()) found = difference(outputs_of(a.graph), outputs_of(b.graph), "output");
  return found;
}

using Outputs = std::map<std::string, Tensor>;

/// The original refuses what was drawn.
struct Refusal {
  NodeId node;  ///< invalid where no node is to blame
  std::string why;
};

/// How to run both sides once. With extremes, numbers are of the declared types, and weights the
/// model's own.
struct Round {
  int number = 0;
  Precision precision = Precision::kDouble;
  Extremes extremes = Extremes::kNone;
  bool is_rounded = false;  ///< numbers are as with extremes, but ordinary ones

  bool declared() const { return is_rounded || extremes != Extremes::kNone; }
};

Tensor input_of(const std::string& name, const TensorType& type, const DrawPlan& plan,
                const CompareOptions& options, const Rng& rng, const Round& round) {
  if (const auto given = options.given.find(name);
      given != options.given.end() && given->second.type() == type)
    return given->second;
  Tensor drawn =
      draw(type, plan.input(name), rng.fork(hash_combine(1, hash_string(name))), round.extremes);
  return round.declared() ? drawn.cast(type.dtype) : drawn;
}

/// The node whose turn comes after `done` of them did their work.
NodeId node_after(const Graph& graph, int64_t done) {
  for (const NodeId node : graph.topological_order())
    if (&graph.op(node) != &input_op() && graph.weight(node) == nullptr && done-- == 0) return node;
  return {};
}

/// Runs one side on the inputs and weights of a round. InputError as `run_graph`.
Outputs run_by(const RunGraph& run_graph, const Graph& graph, const DrawPlan& plan,
               const CompareOptions& options, const Round& round) {
  const Rng rng = Rng(options.seed).fork(static_cast<uint64_t>(round.number));
  std::vector<Tensor> inputs;
  for (const NodeId input : graph.inputs())
    inputs.push_back(input_of(graph.input_name(input), graph.type(graph.output(input)), plan,
                              options, rng, round));
  const bool redraw = options.redraw_weights;
  const bool declared = round.declared();
  const auto weights = [&](const Weight& weight) {
    if (weight.is_small() || !redraw || (declared && !weight.is_fill()))
      return weight.materialize();
    return draw_weight(weight.type(), plan.weight(weight.identity()),
                       rng.fork(hash_combine(2, weight.identity())));
  };
  std::vector<Tensor> results = run_graph(graph, inputs, weights);
  Outputs outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs[graph.outputs()[i].name] = std::move(results[i]);
  return outputs;
}

RunGraph by(Executor& executor) {
  return [&executor](const Graph& graph, std::span<const Tensor> inputs,
                     const WeightSource& weights) { return executor.run(graph, inputs, weights); };
}

/// By the reference kernels. Throws Refusal.
Outputs run(const Graph& graph, const DrawPlan& plan, const CompareOptions& options,
            const Round& round, const ReferenceExecutor::Observer& observer = {}) {
  ReferenceExecutor executor({.precision = round.precision, .cast_back = false});
  int64_t done = 0;
  executor.observe([&](NodeId node, std::vector<Tensor>& results) {
    ++done;
    if (observer) observer(node, results);
  });
  try {
    return run_by(by(executor), graph, plan, options, round);
  } catch (const InputError& error) {
    throw Refusal{node_after(graph, done), error.what()};
  }
}

bool all_finite(const Outputs& outputs) {
  for (const auto& [name, tensor] : outputs)
    for (const double x : tensor.to_doubles())
      if (!std::isfinite(x)) return false;
  return true;
}

/// The reference. What is divided by has both signs in every other round, as long as the numbers
/// stay finite; where they leave the range of doubles, weights are made smaller.
Outputs run_original(const Graph& graph, DrawPlan& plan, const CompareOptions& options,
                     int number) {
  const Round round{.number = number};
  plan.mix_signs(number % 2 == 1);
  Outputs outputs = run(graph, plan, options, round);
  if (all_finite(outputs)) return outputs;
  if (plan.mixes_signs()) {
    plan.mix_signs(false);
    outputs = run(graph, plan, options, round);
  }
  if (!options.redraw_weights || all_finite(outputs)) return outputs;
  run(graph, plan, options, round,
      [&](NodeId node, std::vector<Tensor>& results) { plan.calibrate(graph, node, results); });
  return run(graph, plan, options, round);
}

/// Nothing, and a reason, where it refuses what the original takes.
std::optional<Outputs> run_candidate(const Graph& graph, const DrawPlan& plan,
                                     const CompareOptions& options, const Round& round,
                                     Agreement& result) {
  try {
    return run(graph, plan, options, round);
  } catch (const Refusal& refusal) {
    result.reason = fmt::format("the candidate cannot be run: {}", refusal.why);
    return std::nullopt;
  }
}

struct Error {
  double absolute = 0;
  double relative = 0;
  bool checked = false;  // some element of the reference is finite
};

constexpr char kNothingChecked[] = "nothing was checked: ";
constexpr char kNoTime[] = "no time was left";

Error error_between(const Tensor& reference, const Tensor& other) {
  Error error;
  double scale = 0;     // largest of the elements that are no masks
  double unmasked = 0;  // largest difference among them
  const std::vector<double> a = reference.to_doubles();
  const std::vector<double> b = other.to_doubles();
  for (size_t i = 0; i < a.size(); ++i) {
    const double size = std::fabs(a[i]);
    const bool mask = !(size < CompareOptions::kMask);
    error.checked = error.checked || std::isfinite(a[i]);
    if (!mask) scale = std::max(scale, size);
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    double apart = std::fabs(a[i] - b[i]);
    if (!std::isfinite(apart)) apart = std::numeric_limits<double>::infinity();
    error.absolute = std::max(error.absolute, apart);
    if (!mask)
      unmasked = std::max(unmasked, apart);
    else
      error.relative = std::max(error.relative, std::isfinite(size) ? apart / size : apart);
  }
  if (unmasked > 0) error.relative = std::max(error.relative, unmasked / scale);
  return error;
}

double largest_error(const Outputs& reference, const Outputs& other) {
  double largest = 0;
  for (const auto& [name, tensor] : reference)
    if (is_floating(tensor.type().dtype))
      largest = std::max(largest, error_between(tensor, other.at(name)).relative);
  return largest;
}

/// By output that has elements: whether one of them was finite in some set of inputs.
using Checked = std::map<std::string, bool>;

/// Adds what one set of inputs shows; false as soon as the graphs disagree.
bool judge(const Outputs& reference, const Outputs& other, double tolerance, Agreement& result,
           Checked& checked) {
  for (const auto& [name, tensor] : reference) {
    const Error error = error_between(tensor, other.at(name));
    result.max_abs_error = std::max(result.max_abs_error, error.absolute);
    result.max_rel_error = std::max(result.max_rel_error, error.relative);
    result.compared = result.compared || error.checked;
    if (tensor.elements() > 0) checked[name] |= error.checked;
    const bool is_number = is_floating(tensor.type().dtype);
    if (!is_number && !std::ranges::equal(tensor.bytes(), other.at(name).bytes()))
      result.reason = fmt::format("'{}' holds other integers", name);
    else if (error.relative > tolerance)
      result.reason =
          fmt::format("'{}' differs by {:.3g} of its largest element (tolerance {:.3g})", name,
                      error.relative, tolerance);
    if (!result.reason.empty()) return false;
  }
  return true;
}

/// The nodes that compute one output, with that output alone.
Graph part_for(const Graph& graph, const std::string& output) {
  const ValueId wanted = std::ranges::find(graph.outputs(), output, [](const GraphOutput& known) {
                           return known.name;
                         })->value;
  Graph part;
  std::vector<ValueId> moved(static_cast<size_t>(graph.value_capacity()));
  const auto at = [&](ValueId value) -> ValueId& {
    return moved[static_cast<size_t>(value.index)];
  };
  for (const NodeId node : graph.topological_order({&wanted, 1})) {
    if (&graph.op(node) == &input_op()) {
      at(graph.output(node)) =
          part.add_input(graph.input_name(node), graph.type(graph.output(node)));
    } else if (graph.weight(node) != nullptr) {
      at(graph.output(node)) = part.add_constant(graph.weight(node));
    } else {
      std::vector<ValueId> inputs;
      for (const ValueId input : graph.inputs(node))
        inputs.push_back(input.valid() ? at(input) : ValueId{});
      const NodeId added = part.add_node(graph.op(node), inputs, graph.shared_attributes(node),
                                         output_types(graph, node));
      for (size_t i = 0; i < graph.outputs(node).size(); ++i)
        at(graph.outputs(node)[i]) = part.output(added, static_cast<int>(i));
    }
  }
  part.add_output(output, at(wanted));
  return part;
}

/// What cannot be compared has to be computed as it was.
void judge_unchecked(const Graph& original, const Graph& candidate, const Checked& checked,
                     Agreement& result) {
  for (const auto& [name, is_checked] : checked) {
    if (is_checked) continue;
    result.left_out.push_back(fmt::format("output '{}' holds no finite number", name));
    if (!result.compared) {
      result.reason = kNothingChecked + result.left_out.front();
    } else if (!isomorphic(part_for(original, name), part_for(candidate, name))) {
      result.reason = fmt::format(
          "'{}' holds no finite number, so that what was rewritten there can't be checked", name);
    }
  }
}

/// Whether rounding may decide what comes out.
bool has_steps(const Graph& graph) {
  return std::ranges::any_of(
      graph.nodes(), [&](NodeId node) { return graph.is_work(node) && is_step(graph, node); });
}

bool has_narrow_values(const Graph& graph) {
  const auto is_narrow = [](const TensorType& type) {
    return is_floating(type.dtype) && size_of(type.dtype) == 2;
  };
  return std::ranges::any_of(graph.nodes(), [&](NodeId node) {
    return std::ranges::any_of(output_types(graph, node), is_narrow);
  });
}

/// The largest size among elements that are no masks.
double scale_of(const std::vector<double>& elements) {
  double scale = 0;
  for (const double x : elements)
    if (const double size = std::fabs(x); size < CompareOptions::kMask)
      scale = std::max(scale, size);
  return scale;
}

std::string_view name_of(Extremes extremes) {
  return extremes == Extremes::kZeros ? "zeros" : "large numbers";
}

/// What is wrong with one output where the original is finite; empty: nothing. `exact` is what
/// double precision makes of it, where the original's own is no reference.
std::string extreme_difference(const Tensor& reference, const Tensor& other, double tolerance,
                               const Tensor* exact) {
  const std::vector<double> a = reference.to_doubles(), b = other.to_doubles();
  const std::vector<double> e = exact == nullptr ? std::vector<double>() : exact->to_doubles();
  const double scale = scale_of(a);
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::fabs(a[i]) < CompareOptions::kMask)) continue;
    if (!std::isfinite(b[i]))
      return fmt::format("is {} at element {}, where the original is {:.6g}",
                         std::isnan(b[i]) ? "NaN" : "infinite", i, a[i]);
    const double apart = std::fabs(a[i] - b[i]);
    const bool is_closer = exact != nullptr && std::fabs(b[i] - e[i]) <= std::fabs(a[i] - e[i]);
    if (!is_closer) worst = std::max(worst, apart);
  }
  return worst <= tolerance * scale
             ? ""
             : fmt::format("differs by {:.3g} of its largest element", worst / scale);
}

/// Whether a number is too large for the type that the graph declares, though it is computed from
/// finite ones.
bool overflows(const Graph& graph, const DrawPlan& plan, const CompareOptions& options,
               const Round& round) {
  bool found = false;
  run(graph, plan, options, round, [&](NodeId node, std::vector<Tensor>& results) {
    for (size_t i = 0; i < results.size() && !found; ++i) {
      const DType declared = graph.type(graph.outputs(node)[i]).dtype;
      if (!is_floating(declared) || declared == results[i].type().dtype) continue;
      const std::vector<double> computed = results[i].to_doubles(),
                                held = results[i].cast(declared).to_doubles();
      for (size_t at = 0; at < held.size(); ++at)
        found |= std::isfinite(computed[at]) && !std::isfinite(held[at]);
    }
  });
  return found;
}

double total_flops(const Graph& graph) {
  double total = 0;
  for (const NodeId node : graph.nodes())
    if (graph.is_work(node)) total += static_cast<double>(flops(graph, node));
  return total;
}

/// The first output that differs, and how; empty: none does.
std::string extreme_difference(const Outputs& reference, const Outputs& other, double tolerance,
                               const Outputs* exact) {
  for (const auto& [name, tensor] : reference) {
    if (!is_floating(tensor.type().dtype)) continue;
    const std::string difference = extreme_difference(
        tensor, other.at(name), tolerance, exact == nullptr ? nullptr : &exact->at(name));
    if (!difference.empty())
      return fmt::format("computed in {}, '{}' {}", name_of(tensor.type().dtype), name, difference);
  }
  return {};
}

/// Both in their declared types, on zeros or large numbers. False where the graphs disagree.
bool agree_on(Extremes extremes, const Graph& original, const Graph& candidate,
              const DrawPlan& plan, const CompareOptions& options, Agreement& result) {
  const double tolerance = std::max(options.tolerance, has_narrow_values(original) ? 0.25 : 0.01);
  const Round round{options.inputs, Precision::kDeclared, extremes};
  const Outputs reference = run(original, plan, options, round);
  const auto other = run_candidate(candidate, plan, options, round, result);
  if (!other) return false;
  std::string difference = extreme_difference(reference, *other, tolerance, nullptr);
  if (!difference.empty() && overflows(original, plan, options, round)) {
    const Outputs exact =
        run(original, plan, options, {options.inputs, Precision::kDouble, extremes});
    difference = extreme_difference(reference, *other, tolerance, &exact);
  }
  if (difference.empty()) return true;
  result.reason = fmt::format("on {}, {}", name_of(extremes), difference);
  return false;
}

std::string description(const Graph& graph, NodeId node) {
  if (&graph.op(node) == &input_op()) return fmt::format("input '{}'", graph.input_name(node));
  if (graph.weight(node)) return fmt::format("weight '{}'", graph.weight(node)->name());
  return fmt::format("what {} gives", graph.op(node).name);
}

/// InputError where a single value is larger than the machine's memory.
void require_memory(const Graph& graph) {
  constexpr double kGiB = 1 << 30;
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<double>(sysconf(_SC_PAGE_SIZE)) / kGiB;
  for (const NodeId node : graph.topological_order())
    for (const TensorType& type : output_types(graph, node)) {
      const double needed = static_cast<double>(type.elements()) * sizeof(double) / kGiB;
      if (needed > memory)
        throw InputError(
            "{} ({}) needs {:.0f} GiB in double precision, and this machine has {:.0f}: "
            "bind smaller extents",
            description(graph, node), to_string(type), needed, memory);
    }
}

std::string nothing_to_check(const CutGraph& original, const CompareOptions& options) {
  const auto has_elements = [&](const GraphOutput& output) {
    return original.graph.type(output.value).elements() > 0;
  };
  if (options.inputs < 1) return fmt::format("{}no inputs were asked for", kNothingChecked);
  if (std::ranges::none_of(original.graph.outputs(), has_elements))
    return fmt::format("{}the original has no output that holds numbers", kNothingChecked);
  return {};
}

/// "Gather at lookup (output 'rows', computed from 'ids'): index 7 is out of range".
std::string described(const Graph& graph, const Refusal& refusal) {
  std::vector<ValueId> inputs;
  for (const ValueId input : graph.inputs(refusal.node))
    if (input.valid()) inputs.push_back(input);
  std::vector<std::string> sources;
  for (const NodeId from : graph.topological_order(inputs))
    if (&graph.op(from) == &input_op())
      sources.push_back(fmt::format("'{}'", graph.input_name(from)));
  std::vector<std::string> facts;
  const auto& names = graph.names(refusal.node);
  if (names != nullptr && !names->outputs.empty() && !names->outputs[0].empty())
    facts.push_back(fmt::format("output '{}'", names->outputs[0]));
  if (!sources.empty()) facts.push_back(fmt::format("computed from {}", fmt::join(sources, ", ")));
  const std::string prefix = graph.op(refusal.node).name + ": ";
  const std::string why =
      refusal.why.starts_with(prefix) ? refusal.why.substr(prefix.size()) : refusal.why;
  const std::string node = described(graph, refusal.node);
  return facts.empty() ? fmt::format("{}: {}", node, why)
                       : fmt::format("{} ({}): {}", node, fmt::join(facts, ", "), why);
}

/// Seconds that are left for a comparison.
class TimeLeft {
 public:
  explicit TimeLeft(double seconds) : seconds_(seconds) {}
  /// Whether what takes as long as the longest yet can still be done; the first always can.
  bool has_turn() {
    const double now = watch_.seconds();
    longest_ = std::max(longest_, now - last_);
    last_ = now;
    return seconds_ <= 0 || turns_++ == 0 || now + longest_ <= seconds_;
  }

 private:
  double seconds_;
  double last_ = 0, longest_ = 0;
  int turns_ = 0;
  Stopwatch watch_;
};

/// On random inputs in double precision. False where the graphs disagree.
bool agree_on_random(const CutGraph& a, const CutGraph& b, DrawPlan& plan,
                     const CompareOptions& options, TimeLeft& time, Agreement& result) {
  Checked checked;
  for (int round = 0; round < options.inputs; ++round) {
    if (!time.has_turn()) {
      result.left_out.push_back(fmt::format("{} of {} sets of random inputs ({})",
                                            options.inputs - round, options.inputs, kNoTime));
      break;
    }
    const Outputs reference = run_original(a.graph, plan, options, round);
    const auto other = run_candidate(b.graph, plan, options, {.number = round}, result);
    ++result.inputs;
    result.compared = result.compared || !other;
    if (!other || !judge(reference, *other, options.tolerance, result, checked)) return false;
  }
  judge_unchecked(a.graph, b.graph, checked, result);
  return result.reason.empty();
}

/// On zeros and large numbers in the declared types. False where the graphs disagree.
bool agree_at_extremes(const CutGraph& a, const CutGraph& b, DrawPlan& plan,
                       const CompareOptions& options, TimeLeft& time, Agreement& result) {
  if (!options.extremes || has_steps(a.graph)) return true;
  plan.mix_signs(false);
  for (const Extremes extremes : {Extremes::kZeros, Extremes::kLarge}) {
    const bool is_long =
        extremes == Extremes::kLarge && total_flops(a.graph) > CompareOptions::kMuchWork;
    if (is_long || !time.has_turn())
      result.left_out.push_back(
          fmt::format("{} ({})", name_of(extremes), is_long ? "a run takes much work" : kNoTime));
    else if (!agree_on(extremes, a.graph, b.graph, plan, options, result))
      return false;
  }
  return true;
}

/// Runs the parts on both sides that are left between cuts.
void compare_cut(const CutGraph& a, const CutGraph& b, const CompareOptions& options,
                 TimeLeft& time, Agreement& result) {
  const std::array<const Graph*, 2> sides = {&a.graph, &b.graph};
  for (const Graph* side : sides) require_memory(*side);
  DrawPlan plan(sides);
  for (const auto& [name, range] : options.ranges) plan.give(name, range);
  result.agree = agree_on_random(a, b, plan, options, time, result) &&
                 agree_at_extremes(a, b, plan, options, time, result);
}

}  // namespace

Agreement compare(const Graph& original, const Graph& candidate, const CompareOptions& options) {
  const RecycledMemory recycled;
  std::set<uint64_t> refused;
  std::string first_refusal;
  while (true) {
    const CutGraph a = cut_at_opaque(original.sample(0), refused);
    const CutGraph b = cut_at_opaque(candidate.sample(0), refused);
    Agreement result;
    result.unverified_nodes = a.opaque_nodes;
    result.not_run = first_refusal;
    result.reason = difference(a, b);
    result.compared = !result.reason.empty();
    if (result.reason.empty()) result.reason = nothing_to_check(a, options);
    if (!result.reason.empty()) return result;
    try {
      TimeLeft time(options.seconds);
      compare_cut(a, b, options, time, result);
      return result;
    } catch (const Refusal& refusal) {
      const bool known = refusal.node.valid();
      if (first_refusal.empty()) first_refusal = known ? described(a.graph, refusal) : refusal.why;
      if (known && refused.insert(kind_of(a.graph, refusal.node)).second) continue;
      result.agree = result.compared = false;
      result.inputs = 0;
      result.not_run = first_refusal;
      result.reason = "not verified: " + first_refusal;
      return result;
    }
  }
}

std::vector<double> rounding_errors(const RunGraph& run_graph, const Graph& original,
                                    std::span<const Graph> graphs, uint64_t seed) {
  std::vector<const Graph*> all = {&original};
  for (const Graph& graph : graphs) all.push_back(&graph);
  const DrawPlan plan(all);
  const CompareOptions options{.seed = seed};
  const Round round{.is_rounded = true};
  ReferenceExecutor reference({.precision = Precision::kDouble, .cast_back = false});
  const Outputs exact = run_by(by(reference), original, plan, options, round);
  std::vector<double> errors;
  for (const Graph& graph : graphs)
    errors.push_back(largest_error(exact, run_by(run_graph, graph, plan, options, round)));
  return errors;
}

}  // namespace reverie
