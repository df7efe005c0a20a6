#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"

namespace reverie {

/// A graph as text, one statement a line in topological order; values are numbered in that order,
/// so that the text depends on the structure alone:
///
///     x = Input : float32 2x3
///     %0 = Constant {value=[1, 2, 3]} : float32 3
///     %1 = Constant {fill=0.5, name="w"} : float32 3x100
///     %2 = Add(x, %0) : float32 2x3
///     %3, %4 = Split(%2) {axis=0, split=[1, 1]} : float32 1x3, float32 1x3
///     output y = %3
///
/// Names that are no plain words stand in double quotes; an absent optional input is "-". A
/// constant of at most Weight::kSmallWeight elements shows these. A larger one is `{constant=0.5}`
/// or `{formula="identity kernel"}` where that is part of what the graph means, `{fill=0.5,
/// name="w"}` for a fill that is known by its name, and else shows its identity only
/// (`{weight=0123456789abcdef, name="w"}`).
std::string to_text(const Graph& graph);

/// Reads what to_text writes, and gives an isomorphic graph. Blank lines and lines that begin with
/// '#' are skipped; types of nodes that the operator table describes and attributes with defaults
/// may be left out; any names may stand for the numbers. InputError names the line and what is
/// wrong there. A weight that is known by its identity has type, name and identity, but no
/// elements: asking for them is an InputError.
Graph parse_graph(std::string_view text);

/// An operator by what decides its cost: what it takes, of which inputs are constant (bit i: input
/// i).
struct OperatorText {
  const OpSchema* op = nullptr;
  Attributes attributes;
  std::vector<TensorType> inputs;
  uint32_t constant_inputs = 0;
};

/// Reads "Conv(float32 1x3x8x8, const float32 4x3x3x3) {group=1, pads=[0, 0, 0, 0]}", an absent
/// optional input being "unknown". InputError says what is wrong.
OperatorText parse_operator(std::string_view text);

}  // namespace reverie
