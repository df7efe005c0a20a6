#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/exec/draw.h"
#include "core/exec/executor.h"
#include "core/ir/graph.h"
#include "core/ir/tensor.h"

namespace reverie {

struct CompareOptions {
  int inputs = 2;  ///< sets of random inputs
  uint64_t seed = 1;
  double tolerance = 1e-6;  ///< on max|a-b| / max|reference| of each output of floats
  /// Elements of at least this size (masks, as in attention) are measured by themselves: they must
  /// not make everything else seem small.
  static constexpr double kMask = 1e30;
  /// Floating-point operations from which a graph is not run on large numbers, which takes time.
  static constexpr double kMuchWork = 4e9;
  /// Draw every large weight anew, for every set of inputs. Otherwise weights are as they are.
  bool redraw_weights = true;
  /// Run both in their declared types too, on inputs with zeros and with large numbers.
  bool extremes = true;
  /// What would take longer than so many seconds in all is left out, the first set of inputs
  /// excepted; 0: nothing is.
  double seconds = 0;
  std::map<std::string, InputRange> ranges = {};  ///< of inputs, by name
  /// Inputs as they are, by name, in every set of inputs; where the type is that of the graph's.
  std::map<std::string, Tensor> given = {};
};

struct Agreement {
  bool agree = false;
  int inputs = 0;            ///< sets of inputs on which both graphs ran
  double max_abs_error = 0;  ///< max|a-b| over all outputs
  double max_rel_error = 0;  ///< largest max|a-b| / max|reference| of an output
  int unverified_nodes = 0;  ///< opaque nodes and others whose own work cannot be run
  /// Why those others cannot, of the first one: "Gather: index 7 is out of range ...". Empty: none.
  std::string not_run;
  /// What of the comparison was left out, and why, each one line: sets of inputs that there was no
  /// time for, outputs without a number to compare.
  std::vector<std::string> left_out = {};
  bool compared =
      false;  ///< some element of an output was compared, or the graphs differ in what they declare
  std::string reason;  ///< why not; empty when they agree
  /// Whether the graphs were compared and differ, rather than that there was nothing to compare.
  bool disagree() const { return !agree && compared; }
};

/// Runs both graphs in double precision on the same random inputs and compares every output.
///
/// Weights: one that is small, integral or known by a formula (Weight::is_small) keeps its value. A
/// large one is drawn by its identity, hence equal on both sides exactly where the identities are:
/// the content of a stored one, the name of a large fill (Weight::identity). What was folded from
/// drawn weights is another weight, so that a graph has to be compared before that. Drawn uniform
/// with variance 2 / fan-in where it is a filter, 1 / fan-in where it is a matrix, 1 otherwise; in
/// [0.5, 1.5] where the original takes its root or logarithm, or divides by it, then in every other
/// set of inputs with both signs; smaller where the original would otherwise leave the range of
/// numbers. They are numbers of the weight's type. The candidate has no say in that: it must hold
/// wherever the original does. Graph
/// inputs: floats as weights without a role; integers below the extent of the table that they
/// index, {0, 1} where they are masks or only moved, else as they are computed with.
///
/// By default both are run twice more, in their declared types and with the model's own weights
/// (large fills are drawn): on inputs of which one element in eight is 0, and on some of which one
/// in eight is large. What the original makes finite there the candidate must make finite too, and
/// equal within 1 % of the largest (25 % with 16 bits). So infinities and cancellation show, which
/// the policy on values speaks of (core/rules/LANGUAGE.md, "Values that are kept"). Where a value
/// of the original overflows its type on the way, as squares do in float16, what comes out is no
/// reference: an element is right as well when it is as close to what double precision makes of the
/// same numbers as the original's. Graphs with steps, at which rounding may decide everything, are
/// not run so.
///
/// Opaque nodes cannot be run. Both graphs are cut there: the nodes are paired by their attributes,
/// in topological order among equal ones; the inputs of a pair must agree, its outputs are drawn
/// equal for both sides. The same is done with nodes of the original that refuse random inputs (an
/// index out of range), and those that do the same. Values of unknown type, and strings, are
/// compared by the pairing.
///
/// The graphs disagree when their inputs or outputs differ in name or type, when an opaque node of
/// one has no partner, when an output of integers or truth values is not the same, or when one
/// holds NaN or infinity where the other does not. An output of which no element is finite can't be
/// compared: both graphs have to compute it by the same nodes. They do not agree either when
/// nothing was checked: no outputs, no sets of inputs, or no output with a finite element.
///
/// InputError when a value of either is larger than the memory of the machine.
Agreement compare(const Graph& original, const Graph& candidate,
                  const CompareOptions& options = {});

/// As Executor::run.
using RunGraph = std::function<std::vector<Tensor>(
    const Graph& graph, std::span<const Tensor> inputs, const WeightSource& weights)>;

/// What `run_graph` loses because it rounds: by graph, the largest max|a-b| / max|reference| of an
/// output of floats, the reference being `original` in double precision. The graphs mean the same
/// as the original. One set of inputs is drawn as for compare(); stored weights are as they are,
/// and large fills are drawn; all are rounded to their declared types on both sides. InputError
/// where a graph cannot be run.
std::vector<double> rounding_errors(const RunGraph& run_graph, const Graph& original,
                                    std::span<const Graph> graphs, uint64_t seed = 1);

}  // namespace reverie
