#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/rulekit/taso/derive.h"
#include "core/rulekit/taso/import.h"
#include "core/rules/rule.h"

namespace reverie {

enum class CompareStatus {
  kContained,  ///< the library holds the rule, but for names and order, perhaps the other way round
  kDerived,    ///< a chain of library rules leads from its source to its target
  kMissing,    ///< neither, within the limits of the search
  kRefused,    ///< the rule is unsound, or cannot be said in the rule language
};
const char* name_of(CompareStatus status);

/// How one rule of a file stands to a library.
struct CompareOutcome {
  std::string name;
  CompareStatus status = CompareStatus::kMissing;
  std::string library_rule;                 ///< that contains it
  bool reversed = false;                    ///< whose target is this rule's source
  std::vector<taso::DerivationStep> chain;  ///< empty where both sides are the same
  int states = 0;         ///< graphs that the search visited, whether or not it found a chain
  std::string condition;  ///< without which the rule does not hold, and which the file lacks
  std::string remark;     ///< as in TasoOutcome; a repetition has the status of the first
  std::string refusal;
};

struct CompareRulesOptions {
  TasoImportOptions import;
  taso::DerivationLimits limits;
  int workers = 1;
};

/// Every rule is read and checked as `import_taso_rules` does. Chains are searched on one of the
/// drawn assignments of shapes and confirmed on another one. Equal for any number of workers.
std::vector<CompareOutcome> compare_rules(
    const std::vector<TasoRule>& rules, const std::shared_ptr<const RuleSet>& library,
    const CompareRulesOptions& options = {},
    const std::function<void(size_t done)>& progress = [](size_t) {});

}  // namespace reverie
