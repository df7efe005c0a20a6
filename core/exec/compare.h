#pragma once

#include <cstdint>
#include <string>

#include "core/ir/graph.h"

namespace reverie {

struct CompareOptions {
  int inputs = 2;          ///< sets of random inputs
  uint64_t seed = 1;
  double tolerance = 1e-6; ///< on max|a-b| / max|reference| of each output of floats
  /// Elements of at least this size (masks, as in attention) are measured by themselves: they must
  /// not make everything else seem small.
  static constexpr double kMask = 1e30;
  /// Draw every large weight anew, for every set of inputs. Otherwise weights are as they are.
  bool redraw_weights = true;
};

struct Agreement {
  bool agree = false;
  int inputs = 0;              ///< sets of inputs on which both graphs ran
  double max_abs_error = 0;    ///< max|a-b| over all outputs
  double max_rel_error = 0;    ///< largest max|a-b| / max|reference| of an output
  int unverified_nodes = 0;    ///< opaque nodes, whose own work cannot be run
  std::string reason;          ///< why not; empty when they agree
};

/// Runs both graphs in double precision on the same random inputs and compares every output.
///
/// Weights: one that is small, integral or known by a formula (Weight::is_small) keeps its value. A
/// large one is drawn by its identity, hence equal on both sides exactly where the identities are: the
/// content of a stored one, the name of a large fill (Weight::identity). What was folded from drawn
/// weights is another weight, so that a graph has to be compared before that. Drawn uniform with
/// variance 2 / fan-in where it is a filter, 1 / fan-in where it is a matrix, 1 otherwise; in [0.5, 1.5]
/// where the original takes its root or logarithm, or divides by it, then in every other set of inputs
/// with both signs; smaller where the original would otherwise leave the range of numbers. The candidate
/// has no say in that: it must hold wherever the original does. Graph inputs: floats as weights without
/// a role; integers in {0, 1}, or below the extent of the table that they index.
///
/// Opaque nodes cannot be run. Both graphs are cut there: the nodes are paired by their attributes,
/// in topological order among equal ones; the inputs of a pair must agree, its outputs are drawn
/// equal for both sides. Values of unknown type, and strings, are compared by the pairing.
///
/// The graphs disagree when their inputs or outputs differ in name or type, when an opaque node of
/// one has no partner, when an output of integers or truth values is not the same, when one holds NaN
/// or infinity where the other does not, or when nothing was checked: no outputs, no sets of inputs, or
/// an output without a single finite element.
///
/// InputError when a value of either is larger than the memory of the machine.
Agreement compare(const Graph& original, const Graph& candidate,
                  const CompareOptions& options = {});

}  // namespace reverie
