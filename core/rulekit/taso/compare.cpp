#include "core/rulekit/taso/compare.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/rulekit/taso/export.h"
#include "core/rulekit/taso/translate.h"
#include "core/rules/example.h"
#include "core/rules/no_cost.h"
#include "core/rules/pattern.h"
#include "core/rules/rewrite_state.h"

namespace reverie {
namespace {

TasoRule turned(const TasoRule& rule) {
  TasoRule result{rule.target, rule.source, {}};
  for (const TasoOutput& output : rule.outputs)
    result.outputs.push_back({output.target, output.source});
  return result;
}

/// Source and target of a rule for one assignment of shapes.
struct Ends {
  Graph source, target;
};

/// How much can be mistaken for something else: extents that are equal or 1.
int64_t coincidences(const RuleExample& example) {
  std::set<int64_t> seen;
  int64_t extents = 0, ones = 0;
  for (const auto& entry : example.tensors)
    for (const ExampleTensor& tensor : entry.second)
      for (const int64_t extent : tensor.type.shape) {
        ++extents;
        ones += extent == 1;
        seen.insert(extent);
      }
  return extents - static_cast<int64_t>(seen.size()) + 4 * ones;
}

bool has_groups(const RuleExample& example) {
  for (const auto& entry : example.attributes)
    for (const auto& [name, value] : entry.second)
      if (name == "group" && std::get<int64_t>(value) > 1) return true;
  return false;
}

/// For two assignments with few coincidences, the first with grouped convolutions and the second
/// without, if both are possible.
std::vector<Ends> ends_of(const Rule& rule) {
  constexpr size_t kAssignments = 2;
  std::vector<const RuleExample*> examples;
  for (const RuleExample& example : rule.pattern().examples) examples.push_back(&example);
  const auto rank = [](const RuleExample* example) {
    return std::pair(!has_groups(*example), coincidences(*example));
  };
  std::stable_sort(examples.begin(), examples.end(),
                   [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  const auto other = std::find_if(examples.begin(), examples.end(), [&](const auto* example) {
    return has_groups(*example) != has_groups(*examples[0]);
  });
  if (other != examples.end()) std::rotate(examples.begin() + 1, other, other + 1);
  auto alone = std::make_shared<RuleSet>();
  alone->add(rule);
  std::vector<Ends> result;
  for (const RuleExample* example : examples) {
    if (result.size() == kAssignments) break;
    Graph source = build_example(rule.pattern(), *example, 1);
    const RewriteState before(source, alone, std::make_shared<NoCost>());
    if (before.locations(0).empty()) continue;
    RewriteState after = before;
    after.commit(after.propose(before.locations(0)[0]));
    result.push_back({before.graph(), after.graph()});
  }
  return result;
}

class Comparer {
 public:
  Comparer(const std::shared_ptr<const RuleSet>& library, const CompareRulesOptions& options)
      : library_(library), options_(options) {
    const TasoExport exported = export_taso_rules(*library);
    for (size_t i = 0; i < exported.rules.size(); ++i) {
      contained_.emplace(taso::canonical_form(exported.rules[i]),
                         std::pair(exported.names[i], false));
      contained_.emplace(taso::canonical_form(turned(exported.rules[i])),
                         std::pair(exported.names[i], true));
    }
  }

  CompareOutcome compare(const TasoRule& rule, const TasoOutcome& imported) const {
    CompareOutcome outcome;
    outcome.name = imported.name;
    outcome.condition = imported.narrowing;
    outcome.remark = imported.remark;
    outcome.refusal = imported.refusal;
    if (!imported.accepted()) {
      outcome.status = CompareStatus::kRefused;
      if (!imported.counterexample.empty()) outcome.refusal += ": " + imported.counterexample;
      return outcome;
    }
    if (const auto at = contained_.find(taso::canonical_form(rule)); at != contained_.end()) {
      outcome.status = CompareStatus::kContained;
      std::tie(outcome.library_rule, outcome.reversed) = at->second;
      return outcome;
    }
    search(RuleSet::parse(imported.text, imported.name)[0], outcome);
    return outcome;
  }

 private:
  void search(const Rule& rule, CompareOutcome& outcome) const {
    const std::vector<Ends> ends = ends_of(rule);
    if (ends.size() < 2) return;  // nothing to confirm a chain on
    taso::Derivation found =
        taso::derive(ends[0].source, ends[0].target, library_, options_.limits);
    outcome.states = found.states;
    if (!found.chain || !taso::confirms(*found.chain, ends[1].source, ends[1].target, *library_))
      return;
    outcome.status = CompareStatus::kDerived;
    outcome.chain = std::move(*found.chain);
  }

  std::shared_ptr<const RuleSet> library_;
  const CompareRulesOptions& options_;
  std::map<std::string, std::pair<std::string, bool>> contained_;
};

}  // namespace

const char* name_of(CompareStatus status) {
  switch (status) {
    case CompareStatus::kContained:
      return "contained";
    case CompareStatus::kDerived:
      return "derived";
    case CompareStatus::kMissing:
      return "missing";
    case CompareStatus::kRefused:
      break;
  }
  return "refused";
}

std::vector<CompareOutcome> compare_rules(const std::vector<TasoRule>& rules,
                                          const std::shared_ptr<const RuleSet>& library,
                                          const CompareRulesOptions& options,
                                          const std::function<void(size_t)>& progress) {
  TasoImportOptions import = options.import;
  import.examples = import.shapes;
  const std::vector<TasoOutcome> imported = import_taso_rules(rules, import);
  const Comparer comparer(library, options);
  std::vector<CompareOutcome> outcomes(rules.size());
  std::map<std::string, size_t> first;
  std::vector<size_t> fresh, same_as(rules.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::string form =
        imported[i].accepted() ? taso::canonical_form(rules[i]) : fmt::format("refused {}", i);
    const auto [at, is_new] = first.emplace(form, i);
    same_as[i] = at->second;
    if (is_new) fresh.push_back(i);
  }
  std::atomic<size_t> done = 0;
  WorkerPool(options.workers).run(fresh.size(), [&](size_t at, int worker) {
    outcomes[fresh[at]] = comparer.compare(rules[fresh[at]], imported[fresh[at]]);
    ++done;
    if (worker == 0) progress(done);
  });
  for (size_t i = 0; i < rules.size(); ++i) {
    if (same_as[i] == i) continue;
    outcomes[i] = outcomes[same_as[i]];
    outcomes[i].name = imported[i].name;
    outcomes[i].remark = imported[i].remark;
  }
  return outcomes;
}

}  // namespace reverie
