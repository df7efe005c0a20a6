#include "controller/evaluate.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/search/optimize.h"

namespace reverie {
namespace {

/// A method as the evaluation runs it.
struct Contender {
  std::string name;
  SearchMethod run;
  bool draws = false;       ///< another seed may give another result
  int64_t budget = 1;
  bool equal_time = false;  ///< as long as the sampled policy took
};

constexpr char kSampled[] = "policy (sampled)";

SearchResult do_nothing(const RewriteState& start, const SearchOptions&) {
  SearchResult result;
  result.best = start.graph();
  result.initial_cost = result.best_cost = start.cost();
  return result;
}

std::vector<Contender> contenders(const EvaluationInputs& inputs, const EvaluationConfig& config) {
  const auto policy = [&](PolicySearchKind kind, bool greedy = true, int64_t episodes = 0) {
    PolicySearchConfig how{inputs.env, greedy, episodes};
    how.guided = config.guide;
    how.guided.search = kind;
    return policy_method(inputs.policy, inputs.rules, inputs.cost, how);
  };
  constexpr int64_t kUnlimited = int64_t{1} << 40;
  std::vector<Contender> all = {{"no-op", do_nothing},
                                {"policy (greedy)", policy(PolicySearchKind::kEpisodes)},
                                {kSampled, policy(PolicySearchKind::kEpisodes, false, config.samples), true}};
  if (config.guided) {
    all.push_back({"policy beam", policy(PolicySearchKind::kBeam), false, config.taso_budget});
    all.push_back({"policy mcts", policy(PolicySearchKind::kMcts), false, config.taso_budget});
  }
  all.push_back({"random", random_search, true, kUnlimited, true});
  all.push_back({"greedy", greedy_search});
  all.push_back({"rule list", rule_list_search, true, config.rule_orders});
  all.push_back({"taso", taso_search, false, config.taso_budget});
  return all;
}

/// One model's evaluation under way.
class ModelEvaluation {
 public:
  ModelEvaluation(const EvaluationInputs& inputs, const EvaluationConfig& config)
      : inputs_(inputs), config_(config), start_(inputs.model.graph, inputs.rules, inputs.cost) {
    report_.name = inputs.name;
    report_.path = inputs.path;
    report_.nodes = static_cast<int64_t>(inputs.model.graph.topological_order().size());
    report_.initial = start_.cost();
    report_.weight_bytes = inputs.model.graph.weight_bytes();
  }

  ModelReport run() {
    for (const Contender& contender : contenders(inputs_, config_)) compete(contender);
    for (const Graph& graph : graphs_) hashes_.push_back(StructuralHash(graph).value());
    for (MethodBest& best : report_.best) verify_and_write(best);
    const std::string machine = machine_name_beside(config_.machine, inputs_.cost->name());
    if (config_.measure && has_opaque_node(inputs_.model.graph) && !machine_runs_files(machine))
      inputs_.say(fmt::format("{}: not measured: {} cannot run operators that are carried through untouched",
                              report_.name, machine));
    else if (config_.measure) measure();
    return std::move(report_);
  }

 private:
  void compete(const Contender& contender) {
    MethodBest best;
    const int64_t seeds = contender.draws ? config_.seeds : 1;
    for (int64_t i = 0; i < seeds; ++i) {
      const uint64_t seed = inputs_.seed + static_cast<uint64_t>(i);
      inputs_.say(fmt::format("{}: {}, seed {}", report_.name, contender.name, seed));
      SearchResult result = run_once(contender, seed);
      if (i == 0 || result.best_cost.runtime < best.cost.runtime) {
        best = {.method = contender.name, .seed = seed, .rewrites = std::move(result.rewrites),
                .cost_ms = {}, .cost = result.best_cost, .weight_bytes = 0, .verified = {},
                .file = {}, .measured = {}, .ratio = {}};
        if (graphs_.size() == report_.best.size()) graphs_.emplace_back();
        graphs_.back() = std::move(result.best);
      }
    }
    best.cost_ms = costs_along(best.rewrites);
    best.weight_bytes = graphs_.back().weight_bytes();
    report_.best.push_back(std::move(best));
  }

  SearchResult run_once(const Contender& contender, uint64_t seed) {
    SearchOptions options;
    options.alpha = config_.alpha;
    options.budget = contender.budget;
    options.seed = seed;
    if (contender.equal_time) options.time_limit = std::max(1e-3, policy_seconds_);
    // A state of its own: states share what they looked up, and the first would pay for all.
    const RewriteState start(inputs_.model.graph, inputs_.rules, inputs_.cost);
    const CostModel::Counters before = inputs_.cost->counters();
    SearchResult result = contender.run(start, options);
    const CostModel::Counters after = inputs_.cost->counters();
    if (contender.name == kSampled)
      policy_seconds_ = std::max(policy_seconds_, result.seconds);
    report_.runs.push_back({.method = contender.name,
                            .seed = seed,
                            .best_cost = result.best_cost,
                            .improvement_percent = improvement_percent(report_.initial, result.best_cost),
                            .seconds = result.seconds,
                            .steps = result.steps,
                            .candidates = result.candidates,
                            .cost_lookups = after.lookups - before.lookups,
                            .measurements = after.measurements - before.measurements,
                            .trace = result.trace});
    return result;
  }

  std::vector<double> costs_along(const std::vector<RewriteStep>& path) const {
    RewriteState state = start_;
    std::vector<double> costs = {state.cost().runtime.milliseconds()};
    for (const RewriteStep& step : path) {
      const Match match = state.locations(step.rule)[static_cast<size_t>(step.location)];
      state.commit(state.propose(match));
      costs.push_back(state.cost().runtime.milliseconds());
    }
    return costs;
  }

  void verify_and_write(MethodBest& best) {
    const size_t index = static_cast<size_t>(&best - report_.best.data());
    if (best.rewrites.empty()) return;
    if (const size_t twin = first_equal(index); twin < index) {
      best.verified = report_.best[twin].verified;
      best.file = report_.best[twin].file;
      return;
    }
    inputs_.say(fmt::format("{}: verify the result of {}", report_.name, best.method));
    CompareOptions options;
    options.inputs = static_cast<int>(config_.verify_inputs);
    options.seed = inputs_.seed + 1;
    best.verified = compare(inputs_.model.graph, graphs_[index], options);
    if (!best.verified.agree && !best.verified.disagree())
      throw InputError("{}: what {} made of it is not verified: {}", inputs_.path, best.method,
                       best.verified.not_run);
    if (!best.verified.agree)
      throw InputError("{}: what {} made of it disagrees with the original ({}); this is an error of "
                       "a rule, please report it", inputs_.path, best.method, best.verified.reason);
    best.file = fmt::format("models/{}.{}.onnx", report_.name, file_word(best.method));
    export_onnx(graphs_[index], inputs_.model.info, inputs_.directory + "/" + best.file);
  }

  static std::string file_word(const std::string& method) {
    std::string word;
    for (const char c : method)
      if (std::isalnum(static_cast<unsigned char>(c))) word += c;
      else if (c == ' ') word += '-';
    return word;
  }

  /// The first method that ended at an equal graph.
  size_t first_equal(size_t index) const {
    const auto found = std::find(hashes_.begin(), hashes_.end(), hashes_[index]);
    return static_cast<size_t>(found - hashes_.begin());
  }

  /// Original and results in turn; equal results are measured once.
  void measure() {
    inputs_.say(fmt::format("{}: measure {} rounds", report_.name, config_.repeats));
    std::vector<Graph> distinct;
    std::vector<size_t> place(graphs_.size());
    for (size_t i = 0; i < graphs_.size(); ++i) {
      place[i] = first_equal(i) < i ? place[first_equal(i)] : distinct.size();
      if (first_equal(i) == i) distinct.push_back(graphs_[i]);
    }
    EndToEndOptions options;
    options.repeats = static_cast<int>(config_.repeats);
    options.machine = machine_beside(config_.machine, inputs_.cost->name());
    const Interleaved times = measure_interleaved(distinct, options);
    for (size_t i = 0; i < graphs_.size(); ++i) {
      report_.best[i].measured = times.graphs[place[i]];
      report_.best[i].ratio = times.ratio_to_first[place[i]];
    }
  }

  const EvaluationInputs& inputs_;
  const EvaluationConfig& config_;
  RewriteState start_;
  double policy_seconds_ = 0;
  std::vector<Graph> graphs_;  // of report_.best
  std::vector<uint64_t> hashes_;
  ModelReport report_;
};

}  // namespace

ModelReport evaluate_model(const EvaluationInputs& inputs, const EvaluationConfig& config) {
  return ModelEvaluation(inputs, config).run();
}

}  // namespace reverie
