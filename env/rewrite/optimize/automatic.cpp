#include "env/rewrite/optimize/automatic.h"

#include <algorithm>

#include "core/base/stopwatch.h"
#include "env/rewrite/optimize/accepted_path.h"
#include "env/rewrite/optimize/file_cost.h"
#include "env/rewrite/search/rewrite_problem.h"

namespace reverie {
namespace {

/// Costs by which starting a kernel is dear, so that what can be merged is.
constexpr char kFewKernels[] = "roofline:t4";
/// Costs that know of work and traffic alone, not of what a library happens to be slow at.
constexpr char kRoofline[] = "roofline:cpu";

/// All rules but those of the groups for which `left_out` holds.
template <typename Predicate>
RuleSet without_groups(const RuleSet& rules, const Predicate& left_out) {
  std::vector<std::string> patterns;
  const std::vector<Hindrance>& groups = hindering_rules();
  for (size_t i = 0; i < groups.size(); ++i)
    if (left_out(i))
      patterns.insert(patterns.end(), groups[i].rules.begin(), groups[i].rules.end());
  return rules.without(patterns);
}

constexpr char kMergeGroups[] = "conv_merge_groups";

/// Merges pairs of groups once wherever there are some, whatever the costs say, and descends
/// greedily from there: what groups of few channels take differs more between libraries than
/// anything else.
SearchResult merge_groups_search(const RewriteState& start, const RewriteSearchOptions& options) {
  RewriteRun run(start, options);
  Walk walk(run);
  const int rule = start.rules().find(kMergeGroups);
  for (int location = 0; rule >= 0 && location < walk.state().moves(rule) && !run.out_of_time();) {
    const int before = walk.state().moves(rule);
    const bool is_gone = walk.take({rule, location}) && walk.state().moves(rule) < before;
    if (!is_gone) ++location;
  }
  descend(walk, run);
  SearchResult result = run.finish();
  result.best = rewrite_state(walk.state()).graph();
  result.best_cost = rewrite_state(walk.state()).cost();
  result.rewrites = steps_of(walk.path());
  return result;
}

struct Variant {
  std::string name;
  RuleSet rules;
  SearchMethod search;
  std::shared_ptr<CostModel> cost;
};

std::vector<Variant> variants_of(const RewriteState& start, bool all) {
  const RuleSet& rules = start.rules();
  const RuleSet careful = careful_rules(rules);
  const std::shared_ptr<CostModel> cost = start.shared_cost_model();
  const SearchMethod greedy = on_rewrites(search::Greedy());
  const SearchMethod lists = on_rewrites(search::RuleLists());
  std::vector<Variant> variants = {{"careful rules", careful, greedy, cost}};
  if (!all) return variants;
  variants.push_back({"careful rules in other orders", careful, lists, cost});
  variants.push_back(
      {"careful rules for few kernels", careful, greedy, make_cost_model(kFewKernels)});
  const std::vector<Hindrance>& groups = hindering_rules();
  for (size_t group = 0; group < groups.size(); ++group)
    variants.push_back({fmt::format("also rules that {}", groups[group].what),
                        without_groups(rules, [&](size_t other) { return other != group; }), lists,
                        cost});
  if (rules.find(kMergeGroups) >= 0)
    variants.push_back(
        {"careful rules with merged groups",
         without_groups(rules,
                        [&](size_t group) { return groups[group].rules[0] != kMergeGroups; }),
         merge_groups_search, cost});
  variants.push_back({"all rules", rules, lists, cost});
  if (cost->name() != kRoofline) {
    const std::shared_ptr<CostModel> roofline = make_cost_model(kRoofline);
    variants.push_back({"careful rules by a roofline", careful, lists, roofline});
    variants.push_back({"all rules by a roofline", rules, lists, roofline});
  }
  return variants;
}

bool is_new(const std::vector<Candidate>& known, const Graph& graph) {
  return std::ranges::none_of(known, [&](const Candidate& candidate) {
    return same_in_a_file(candidate.result.best, graph);
  });
}

}  // namespace

const std::vector<Hindrance>& hindering_rules() {
  static const std::vector<Hindrance> groups = {
      {"move constant factors",
       {"matmul_scale_*", "transpose_scale", "reshape_scale", "div_constant", "sub_constant",
        "mul_constant_outwards", "mul_mul_constant", "mul_associate", "mul_distribute", "pow_two"}},
      {"merge convolutions", {"conv_merge", "conv_merge_grouped", "conv_enlarge"}},
      {"merge groups", {kMergeGroups}},
  };
  return groups;
}

RuleSet careful_rules(const RuleSet& rules) {
  return without_groups(rules, [](size_t) { return true; });
}

std::vector<Candidate> automatic_candidates(const RewriteState& start,
                                            const RewriteSearchOptions& options, bool all) {
  const Stopwatch watch;
  std::vector<Candidate> candidates;
  const std::vector<Variant> variants = variants_of(start, all);
  for (size_t i = 0; i < variants.size(); ++i) {
    RewriteSearchOptions own = options;
    if (options.time_limit > 0) {
      const double left = std::max(options.time_limit - watch.seconds(), 1e-9);
      own.time_limit = left / static_cast<double>(variants.size() - i);
    }
    const auto rules = std::make_shared<const RuleSet>(variants[i].rules);
    SearchResult result = variants[i].search({start.graph(), rules, variants[i].cost}, own);
    rename_rules(result.rewrites, *rules, start.rules());
    result.improvements.clear();  // their steps name rules of the variant
    result.initial_cost = start.cost();
    result.best_cost = graph_cost(start.cost_model(), result.best);
    if (candidates.empty() || is_new(candidates, result.best))
      candidates.push_back({variants[i].name, std::move(result)});
    if (options.stop.requested()) break;
  }
  return candidates;
}

}  // namespace reverie
