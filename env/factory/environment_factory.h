#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/cost/machine.h"
#include "env/environment.h"
#include "env/rewrite/rewrite_environment.h"
#include "env/toy/toy_environment.h"

namespace reverie {

/// How whole graphs are timed, end to end.
struct MeasureConfig {
  int repeats = 15;
  double min_seconds = 0.2;
  std::string machine;

  template <class V>
  void fields(V& v) {
    v.field("repeats", repeats,
            "Pairs of runs, of a graph and its original, of which the median ratio counts", at_least(1));
    v.field("min_seconds", min_seconds, "And at least for so long", at_least(0));
    v.field("machine", machine,
            "Where: " + known_machines() + "; empty: where costs are measured, else cpu");
  }
};

/// Which environment a run is about; the section "env" of every step's configuration.
struct EnvironmentConfig {
  std::vector<std::string> models;
  std::vector<std::string> shapes;
  std::vector<std::string> dims;
  std::vector<std::string> rules;
  std::string cost = "roofline:t4";
  RewriteEnvConfig rewrite;
  MeasureConfig measure;
  ToyConfig toy;

  template <class V>
  void fields(V& v) {
    v.field("models", models, "ONNX files, each a start graph; or toy, the environment for tests");
    v.field("shapes", shapes, "Extents of inputs with symbolic dimensions: name=1,3,224,224");
    v.field("dims", dims, "Extents of symbolic dimensions by name: batch=1,seq=128");
    v.field("rules", rules, "Rule files; empty for the library that ships");
    v.field("cost", cost, "Where costs come from: " + known_cost_sources());
    rewrite.fields(v);
    v.section("measure", measure, "Measurements of whole graphs: the reward measured_every_k, and validation");
    v.section("toy", toy, "The toy environment");
  }
};

struct MadeEnvironment {
  std::unique_ptr<Environment> environment;
  std::vector<std::string> graphs;       ///< names of the start states
  std::vector<std::string> graph_texts;  ///< text form of each start graph; none for toy
  std::vector<std::string> warnings;     ///< each one line for a person
};

/// Whether `toy` is named as a model.
bool is_toy(const EnvironmentConfig& config);

/// The file's name without directory and ending, made unique among those that are `taken`.
std::string graph_name(const std::string& path, const std::vector<std::string>& taken);

/// Times whole graphs beside costs from `cost_source` (machine_beside), one at a time however many threads
/// ask, and each once (RelativeTimes). The machine is looked for when it is first needed.
MeasureGraph measure_graphs(const MeasureConfig& config, const std::string& cost_source);

/// InputError says which model, rule file or setting is wrong. `measure`: measure_graphs where none is
/// given. Costs are those of what can be written
/// (core/search/written_costs.h); of several models, at the oldest opset that one of them is held to.
MadeEnvironment make_environment(const EnvironmentConfig& config, MeasureGraph measure = nullptr);

/// The environment of `config` with rewards that cost nothing to ask for: all its costs come from the source
/// `cost`, which must not measure. Where whole graphs are measured (measured_every_k) their times alone are
/// replaced, by sums of `cost`, and after every step; the costs that states show stay those of `config`,
/// unless they are measured too. InputError as make_environment, where `cost` is empty or measures, and for
/// an environment without costs.
MadeEnvironment make_symbolic_environment(EnvironmentConfig config, const std::string& cost);

}  // namespace reverie
