#pragma once

#include <vector>

#include "core/cost/contest.h"
#include "core/cost/machine.h"
#include "core/search/search.h"

namespace reverie {

/// A graph that a search passed through.
struct Contender {
  Graph graph;
  Cost cost;
  std::vector<RewriteStep> rewrites;
};

/// At most `count` distinct graphs of a search: its best first, then those of its trace, spread evenly
/// over what was gained from the start (which is none of them) to the best.
std::vector<Contender> contenders_of(const RewriteState& start, const SearchResult& result, int count);

/// A sum over operators can mislead: runs the original (contestant 0) and the contenders (from 1 on)
/// end to end on the machine. InputError when one cannot be run.
ContestResult confirm_end_to_end(const Graph& original, const std::vector<Contender>& contenders,
                                 Machine& machine, const ContestOptions& options);

/// Makes contestant `winner` the result of the search.
void take_winner(const Graph& original, const std::vector<Contender>& contenders, int winner,
                 SearchResult& result);

}  // namespace reverie
