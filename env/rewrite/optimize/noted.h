#pragma once

#include <span>

#include "core/cost/cost_model.h"
#include "env/rewrite/search/search.h"

namespace reverie {

/// Whose rules and costs a file that is written tells (core/onnx/note_keys.h).
struct NoteSources {
  const RuleSet& rules;
  CostModel& cost;
};

/// `best` in a form that is written as the same file, in which each operator tells what it costs
/// and, where `path` leads from `start` to `best`, by which rule it came. A node that this program
/// cannot run tells no cost. `cost` is asked about every other one.
Graph noted(const Graph& best, const Graph& start, std::span<const RewriteStep> path,
            const NoteSources& sources);

}  // namespace reverie
