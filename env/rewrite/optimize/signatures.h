#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/cost/cost_model.h"
#include "core/onnx/import.h"
#include "core/rules/rule.h"
#include "core/search/options.h"

namespace reverie {

struct ReachOptions {
  /// Iterations of equality saturation, each of which applies all rules everywhere at once: what so
  /// many rewrites, one on top of the other, lead to. 0: the graph's own operators alone.
  int64_t depth = 3;
  int64_t node_limit = 20000;  ///< of the e-graph, at which it grows no more
  /// Expansions of backtracking search and rule lists that go deeper along few paths, where depth >
  /// 0.
  int64_t budget = 100;
  uint64_t seed = 1;
  /// Also the fused operators (core/exec/device/fuse.h) of the graph and of the best graphs that
  /// were found.
  bool fuses = false;
  StopToken stop;
};

/// The operators, by the text of their signatures, whose costs rewriting of the graph asks for:
/// those of an e-graph grown from it, and of all candidates of greedy search, backtracking search
/// and random rule lists; also those in which an operator would be written at an old opset. Costs
/// that guide these are estimates of `roofline`, a device of the roofline. Deterministic.
std::map<std::string, OpSignature> reachable_signatures(const ImportedModel& model,
                                                        std::shared_ptr<const RuleSet> rules,
                                                        const std::string& roofline,
                                                        const ReachOptions& options = {});

}  // namespace reverie
