#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/exec/compare.h"
#include "core/search/search.h"

namespace reverie {

struct OptimizeConfig {
  std::string method = "taso";
  std::string cost = "roofline:cpu";
  SearchOptions search;
  CompareOptions verify;

  template <class V>
  void fields(V& v) {
    v.field("method", method, "How to search");
    v.field("cost", cost, "Where costs come from");
    search.fields(v);
    v.field("verify_inputs", verify.inputs, "Random inputs on which both graphs are compared",
            at_least(1));
    v.field("verify_tolerance", verify.tolerance,
            "Largest difference allowed, relative to an output's largest element", above(0));
  }
};

/// A graph rewritten, and the proof that it computes the same.
struct Optimized {
  SearchResult search;
  std::string cost_source;
  int64_t weight_bytes_before = 0;
  int64_t weight_bytes_after = 0;
  int64_t cost_lookups = 0;
  int64_t measurements = 0;
  int64_t estimates = 0;  ///< signatures that a measuring or recorded source had to estimate
  Agreement verified;

  double improvement_percent() const;
};

/// Rewrites `graph` by `method` and compares the result with the original. The time limit holds for
/// finding the rewrites of the start and for the search. A result that disagrees is returned too:
/// look at `verified.agree` before using it.
Optimized optimize(const Graph& graph, std::shared_ptr<const RuleSet> rules,
                   std::shared_ptr<CostModel> cost, const SearchMethod& method,
                   const OptimizeConfig& config);

}  // namespace reverie
