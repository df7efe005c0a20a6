#pragma once

#include <functional>
#include <string>
#include <vector>

#include "env/rewrite/search/search.h"

namespace reverie {

/// What speaks against a graph, in words for a person; empty: nothing.
using ObjectionTo = std::function<std::string(const Graph& graph)>;

/// Where a path of rewrites leads without those that are to blame for an objection.
struct AcceptedPath {
  std::vector<RewriteStep> rewrites;
  Graph graph;
  Cost cost;
  std::vector<std::string> left_out;  ///< one line for each rewrite, with the objection
};

/// One rewrite less is the answer to an objection: bisects `path` for the first rewrite with which
/// there is one, for which it takes for granted that what speaks against a graph speaks against all
/// that follow. Goes on from before it by greedy search with those rules of the rest that are not
/// to blame, and so on. Nothing speaks against the end, which is the start where nothing else was
/// accepted. Of the options the bound of the weights holds, and the time limit: once it is over, or
/// a stop is requested, what was accepted so far is the end.
AcceptedPath accepted_path(const RewriteState& start, std::vector<RewriteStep> path,
                           const ObjectionTo& objection_to, const RewriteSearchOptions& options);

/// Steps that name rules of `own` as steps of `whole`, which has rules of the same names. The index
/// of a location depends on its rule and the graph alone.
void rename_rules(std::vector<RewriteStep>& steps, const RuleSet& own, const RuleSet& whole);

}  // namespace reverie
