#include "core/exec/compare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/exec/cut.h"
#include "core/exec/draw.h"
#include "core/exec/reference/reference.h"

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

/// Runs one side on the inputs and weights of draw `round`.
Outputs run(const Graph& graph, const DrawPlan& plan, const CompareOptions& options, int round,
            ReferenceExecutor::Observer observer = {}) {
  const Rng rng = Rng(options.seed).fork(static_cast<uint64_t>(round));
  std::vector<Tensor> inputs;
  for (const NodeId input : graph.inputs()) {
    const std::string& name = graph.input_name(input);
    inputs.push_back(draw(graph.type(graph.output(input)), plan.input(name),
                          rng.fork(hash_combine(1, hash_string(name)))));
  }
  const auto weights = [&](const Weight& weight) {
    if (weight.is_small() || !options.redraw_weights) return weight.materialize();
    return draw(weight.type(), plan.weight(weight.identity()),
                rng.fork(hash_combine(2, weight.identity())));
  };
  ReferenceExecutor executor({.precision = Precision::kDouble, .cast_back = false});
  executor.observe(std::move(observer));
  std::vector<Tensor> results = executor.run(graph, inputs, weights);
  Outputs outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs[graph.outputs()[i].name] = std::move(results[i]);
  return outputs;
}

bool all_finite(const Outputs& outputs) {
  for (const auto& [name, tensor] : outputs)
    for (const double x : tensor.to_doubles())
      if (!std::isfinite(x)) return false;
  return true;
}

/// The reference. What is divided by has both signs in every other round, as long as the numbers
/// stay finite; where they leave the range of doubles, weights are made smaller.
Outputs run_original(const Graph& graph, DrawPlan& plan, const CompareOptions& options, int round) {
  plan.mix_signs(round % 2 == 1);
  Outputs outputs = run(graph, plan, options, round);
  if (all_finite(outputs)) return outputs;
  if (plan.mixes_signs()) {
    plan.mix_signs(false);
    outputs = run(graph, plan, options, round);
  }
  if (!options.redraw_weights || all_finite(outputs)) return outputs;
  run(graph, plan, options, round, [&](NodeId node, std::vector<Tensor>& results) {
    plan.calibrate(graph, node, results);
  });
  return run(graph, plan, options, round);
}

struct Error {
  double absolute = 0;
  double relative = 0;
  bool checked = false;  // some element of the reference is finite
};

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
    if (!mask) unmasked = std::max(unmasked, apart);
    else error.relative = std::max(error.relative, std::isfinite(size) ? apart / size : apart);
  }
  if (unmasked > 0) error.relative = std::max(error.relative, unmasked / scale);
  return error;
}

/// Adds what one set of inputs shows; false as soon as the graphs disagree.
bool judge(const Outputs& reference, const Outputs& other, double tolerance, Agreement& result) {
  for (const auto& [name, tensor] : reference) {
    const Error error = error_between(tensor, other.at(name));
    result.max_abs_error = std::max(result.max_abs_error, error.absolute);
    result.max_rel_error = std::max(result.max_rel_error, error.relative);
    const bool is_number = is_floating(tensor.type().dtype);
    if (!is_number && !std::ranges::equal(tensor.bytes(), other.at(name).bytes()))
      result.reason = fmt::format("'{}' holds other integers", name);
    else if (!error.checked && tensor.elements() > 0)
      result.reason = fmt::format("'{}' holds no finite number, so nothing was checked", name);
    else if (error.relative > tolerance)
      result.reason = fmt::format("'{}' differs by {:.3g} of its largest element (tolerance {:.3g})",
                                  name, error.relative, tolerance);
    if (!result.reason.empty()) return false;
  }
  return true;
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
        throw InputError("{} ({}) needs {:.0f} GiB in double precision, and this machine has {:.0f}: "
                         "bind smaller extents", description(graph, node), to_string(type), needed,
                         memory);
    }
}

std::string nothing_to_check(const CutGraph& original, const CompareOptions& options) {
  if (options.inputs < 1) return "no inputs were asked for, so nothing was checked";
  const auto& outputs = original.graph.outputs();
  const auto has_elements = [&](const GraphOutput& output) {
    return original.graph.type(output.value).elements() > 0;
  };
  if (std::none_of(outputs.begin(), outputs.end(), has_elements))
    return "the original has no output that holds numbers, so nothing was checked";
  return {};
}

}  // namespace

Agreement compare(const Graph& original, const Graph& candidate, const CompareOptions& options) {
  const CutGraph a = cut_at_opaque(original);
  const CutGraph b = cut_at_opaque(candidate);
  Agreement result;
  result.unverified_nodes = a.opaque_nodes;
  result.reason = difference(a, b);
  if (result.reason.empty()) result.reason = nothing_to_check(a, options);
  if (!result.reason.empty()) return result;
  const std::array<const Graph*, 2> sides = {&a.graph, &b.graph};
  for (const Graph* side : sides) require_memory(*side);
  DrawPlan plan(sides);
  try {
    for (int round = 0; round < options.inputs; ++round) {
      const Outputs reference = run_original(a.graph, plan, options, round);
      const Outputs other = run(b.graph, plan, options, round);
      ++result.inputs;
      if (!judge(reference, other, options.tolerance, result)) return result;
    }
  } catch (const InputError& error) {
    result.reason = fmt::format("cannot be run on random inputs: {}", error.what());
    return result;
  }
  result.agree = true;
  return result;
}

}  // namespace reverie
