#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "env/adapt/adapt_config.h"
#include "env/environment.h"
#include "env/evaluation.h"
#include "env/placement/placement_config.h"
#include "env/rewrite/rewrite_config.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"

namespace reverie {

/// Which environment a run is about; the section "env" of every step's configuration. Each kind has
/// a section of its own.
struct EnvironmentConfig {
  std::string kind = "rewrite";
  std::vector<std::string> inputs;
  int horizon = 0;
  RewriteConfig rewrite;
  AdaptConfig adapt;
  PlacementConfig placement;
  ToyConfig toy;
  KnapsackConfig knapsack;

  template <class V>
  void fields(V& v) {
    v.field("kind", kind, "Which environment: rewrite, adapt, placement, toy or knapsack");
    v.field("inputs", inputs, "Files that it begins from, such as ONNX models");
    v.field("horizon", horizon,
            "Steps after which an episode ends; 0: as many as the environment finds right",
            at_least(0));
    v.section("rewrite", rewrite, "Rewriting of tensor graphs");
    v.section("adapt", adapt, "Adapting a network while it trains");
    v.section("placement", placement, "Placing graphs on devices");
    v.section("toy", toy, "A row of blocks with a known optimum, for tests");
    v.section("knapsack", knapsack, "The knapsack problem, for tests");
  }
};

/// What an evaluation takes that only one kind knows; each kind has a section of its own.
struct KindEvaluationConfig {
  RewriteEvaluationConfig rewrite;
  AdaptEvaluationConfig adapt;
  PlacementEvaluationConfig placement;

  template <class V>
  void fields(V& v) {
    v.section("rewrite", rewrite, "Searches to compare with, and checks, in rewriting");
    v.section("adapt", adapt, "What to compare with in adaptation");
    v.section("placement", placement, "What to compare with in placement");
  }
};

struct MadeEnvironment {
  std::unique_ptr<Environment> environment;
  std::vector<std::string> warnings;  ///< each one line for a person
};

/// An option of the command line that stands for a key of the configuration.
struct CommandOption {
  std::string flag;  ///< "--cost"
  std::string key;   ///< "env.rewrite.cost"
  std::string type;  ///< "FILE"
  std::string help;
  bool list = false;  ///< may be given several times
};

/// An environment as the registry knows it. A new one is a folder under env/, a section of
/// EnvironmentConfig and an entry in registry.cpp.
class EnvironmentKind {
 public:
  virtual ~EnvironmentKind() = default;
  virtual std::string_view name() const = 0;
  /// What its inputs are, for the command line; empty where it takes none.
  virtual std::string_view inputs() const { return ""; }
  virtual std::vector<CommandOption> options() const { return {}; }

  /// InputError says which input or setting is wrong.
  virtual MadeEnvironment make(const EnvironmentConfig& config) const = 0;
  /// The same, its metrics and rewards by another source, such as a measuring one for validation.
  /// InputError where the environment knows no other.
  virtual MadeEnvironment make_by(const EnvironmentConfig& config, const std::string& source) const;
  /// The same transitions, rewards of `source`, which costs nothing to ask: for the surrogate
  /// dream. InputError where the environment knows none, or `source` is empty or measures.
  virtual MadeEnvironment make_surrogate(const EnvironmentConfig& config,
                                         const std::string& source) const;
  /// Start states to compare a policy on, with the kind's baselines and what becomes of solutions.
  /// InputError as by `make`, and where results are to be measured and cannot be.
  virtual std::unique_ptr<EvaluationCases> evaluation(const EnvironmentConfig& config,
                                                      const KindEvaluationConfig& how,
                                                      const EvaluationPlan& plan) const;
  /// Where `measured_gain` measures, for a person: "cpu". Empty where the environment does not.
  virtual std::string measured_on(const EnvironmentConfig&, const std::string& /*source*/) const {
    return "";
  }
};

/// All kinds, in the order that help shows them.
const std::vector<const EnvironmentKind*>& environment_kinds();
/// By its name; InputError lists the names.
const EnvironmentKind& environment_kind(const std::string& name);

/// Of YAML, as dump_config writes it; defaults where it is empty. InputError where a key is
/// unknown.
EnvironmentConfig environment_from(const std::string& yaml);

/// That of the configuration's kind.
MadeEnvironment make_environment(const EnvironmentConfig& config);

/// What a method is called in names of files: "policy (greedy)" is "policy-greedy".
std::string file_word(const std::string& method);

/// The file's name without directory and ending, made unique among those that are `taken`.
std::string graph_name(const std::string& path, const std::vector<std::string>& taken);

}  // namespace reverie
