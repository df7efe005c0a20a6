#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "env/rewrite/optimize/confirm.h"
#include "env/rewrite/search/search.h"

namespace reverie {

/// Rules that can make a model slower in a runtime with an optimizer of its own, though a sum of
/// operators gains.
struct Hindrance {
  std::string_view what;           ///< they do
  std::vector<std::string> rules;  ///< names, or NAME* for all that begin so
};

/// The groups, with what ONNX Runtime makes of them (experiments/runtimes/README.md):
///  - those that move and combine constant factors hide Gelu and layer normalization from it;
///  - those that merge convolutions put Splits into its blocked layout of channels;
///  - those that merge groups multiply the work of depthwise convolutions, for which it has
///    kernels.
const std::vector<Hindrance>& hindering_rules();

/// Those of `rules` that no group names; none of the patterns has to fit.
RuleSet careful_rules(const RuleSet& rules);

/// What a search found with some of the rules.
struct Candidate {
  std::string rules;    ///< which, for a person: "careful rules", "all rules"
  SearchResult result;  ///< its steps name rules of the whole set
};

/// Greedy search with the careful rules of `start` and, where `all` is set: random rule lists of
/// them, greedy search for few kernels, rule lists with each of the groups beside them and with all
/// rules, a greedy search from where groups of convolutions are merged in pairs, whatever that
/// costs, and rule lists of the careful and of all rules by the costs of a roofline. The time limit
/// of `options` holds for all of them together. Equal ends count once.
std::vector<Candidate> automatic_candidates(const RewriteState& start,
                                            const RewriteSearchOptions& options, bool all);

}  // namespace reverie
