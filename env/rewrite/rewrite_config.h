#pragma once

#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/cost/machine.h"
#include "env/rewrite/rewrite_environment.h"

namespace reverie {

/// How whole graphs are timed, end to end.
struct MeasureConfig {
  int repeats = 15;
  double min_seconds = 0.2;
  std::string machine;

  template <class V>
  void fields(V& v) {
    v.field("repeats", repeats,
            "Pairs of runs, of a graph and its original, of which the median ratio counts",
            at_least(1));
    v.field("min_seconds", min_seconds, "And at least for so long", at_least(0));
    v.field("machine", machine,
            "Where: " + known_machines() + "; empty: where costs are measured, else cpu");
  }
};

/// How results are checked.
struct RewriteTaskConfig {
  static constexpr char kKind[] = "rewrite";

  std::string machine;
  int64_t verify_inputs = 2;

  template <class V>
  void fields(V& v) {
    v.field("machine", machine,
            "Where results are measured: " + known_machines() +
                "; empty: where costs are measured, else cpu");
    v.field("verify_inputs", verify_inputs, "Random inputs on which results must agree",
            at_least(1));
  }
};

/// Settings of the environment `rewrite`.
struct RewriteConfig {
  static constexpr char kKind[] = "rewrite";

  std::vector<std::string> shapes;
  std::vector<std::string> dims;
  std::vector<std::string> rules;
  std::string cost = "roofline:t4";
  RewriteEnvConfig environment;
  MeasureConfig measure;

  template <class V>
  void fields(V& v) {
    v.field("shapes", shapes, "Extents of inputs with symbolic dimensions: name=1,3,224,224");
    v.field("dims", dims, "Extents of symbolic dimensions by name: batch=1,seq=128");
    v.field("rules", rules, "Rule files; empty for the library that ships");
    v.field("cost", cost, "Where costs come from: " + known_cost_sources());
    environment.fields(v);
    v.section("measure", measure,
              "Measurements of whole graphs: the reward measured_every_k, and validation");
  }
};

}  // namespace reverie
