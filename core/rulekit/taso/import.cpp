#include "core/rulekit/taso/import.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/rulekit/taso/translate.h"
#include "core/rulekit/verify/example_check.h"

namespace reverie {
namespace {

using taso::TasoNarrowing;

int least_rank(int least) { return std::max(least, 2); }

class Importer {
 public:
  Importer(const TasoRule& rule, std::string name, const TasoImportOptions& options)
      : rule_(rule), options_(options), layout_(lay_out(rule, least_rank)) {
    outcome_.name = std::move(name);
  }

  TasoOutcome run(const std::string& remark) {
    outcome_.remark = remark;
    if (!groups_known(TasoNarrowing::kNone))
      outcome_.counterexample =
          "the groups of the target's convolution do not follow from those of the source's";
    for (const TasoNarrowing narrowing :
         {TasoNarrowing::kNone, TasoNarrowing::kUngrouped, TasoNarrowing::kEqualFilters,
          TasoNarrowing::kBoth, TasoNarrowing::kMatrices, TasoNarrowing::kEqualParts})
      if (narrowing == TasoNarrowing::kNone || (!options_.strict && applies(narrowing)))
        if (groups_known(narrowing) && attempt(narrowing)) return std::move(outcome_);
    outcome_.refusal = "the two sides disagree";
    return std::move(outcome_);
  }

 private:
  bool groups_known(TasoNarrowing narrowing) const {
    return !options_.derived_groups || taso::is_ungrouped(narrowing) ||
           layout_.keeps_groups(rule_) ||
           std::none_of(layout_.convolutions.begin(), layout_.convolutions.end(),
                        [](const auto& convolution) { return convolution.open; });
  }

  bool applies(TasoNarrowing narrowing) const {
    if (narrowing == TasoNarrowing::kMatrices)
      return layout_.fixed_ranks.size() < layout_.inputs.size();
    const int needed = narrowing == TasoNarrowing::kEqualParts ? taso_op::kConcat : taso_op::kConv;
    return std::any_of(rule_.source.begin(), rule_.source.end(),
                       [&](const TasoOp& op) { return op.type == needed; });
  }

  /// Whether the rule passes with that narrowing. What speaks against it without any is noted.
  bool attempt(TasoNarrowing narrowing) {
    std::vector<std::string> examples;
    try {
      examples = draw_examples(narrowing);
    } catch (const InputError& error) {
      // Well-formed with some ranks only.
      if (narrowing == TasoNarrowing::kNone && !applies(TasoNarrowing::kMatrices)) throw;
      if (narrowing == TasoNarrowing::kNone) outcome_.counterexample = error.what();
      return false;
    }
    if (examples.empty()) {
      if (narrowing != TasoNarrowing::kNone) return false;
      throw InputError("no small shapes fit both sides");
    }
    const RuleSet rules = RuleSet::parse(
        taso::translate(rule_, layout_, outcome_.name, narrowing, {}, examples), outcome_.name);
    const RuleCheck check = check_examples(rules[0], options_.draws, options_.seed);
    if (!check.passed()) {
      if (narrowing == TasoNarrowing::kNone)
        outcome_.counterexample =
            fmt::format("{}, seed {}: {}", examples[static_cast<size_t>(check.examples - 1)],
                        options_.seed, reason(check));
      return false;
    }
    outcome_.narrowing = text_of(narrowing);
    outcome_.shapes = check.examples;
    outcome_.compared = check.compared;
    outcome_.max_error = check.max_error;
    outcome_.text =
        taso::translate(rule_, layout_, outcome_.name, narrowing, remarks(), kept(examples));
    return true;
  }

  /// The failure without the number of the example in front.
  static std::string reason(const RuleCheck& check) {
    const size_t colon = check.failure.find(": ");
    return colon == std::string::npos ? check.failure : check.failure.substr(colon + 2);
  }

  /// Fewer where 5000 draws in a row, each 100 of them of other ranks, bring nothing new: some
  /// rules have a few dozen small shapes in all.
  std::vector<std::string> draw_examples(TasoNarrowing narrowing) const {
    constexpr int kTries = 100000;
    constexpr int kTriesForNew = 5000;
    Rng rng(options_.seed);
    std::vector<std::string> examples;
    std::set<std::string> seen;
    const auto new_layout = [&] {
      const auto rank = [&](int least) {
        if (narrowing == TasoNarrowing::kMatrices) return least_rank(least);
        return least + static_cast<int>(rng.below(3));
      };
      return taso::narrowed(lay_out(rule_, rank), rule_, narrowing);
    };
    TasoLayout layout = new_layout();
    int last = kTries;
    for (int at = 0; at < last && static_cast<int>(examples.size()) < options_.shapes; ++at) {
      constexpr int kTriesPerLayout = 100;
      if (at % kTriesPerLayout == 0) layout = new_layout();
      const auto values = draw_extents(layout, rng);
      if (!values) continue;
      std::string example = taso::example_text(rule_, layout, *values);
      if (!seen.insert(example).second) continue;
      examples.push_back(std::move(example));
      last = std::min(kTries, at + kTriesForNew);
      layout = new_layout();
    }
    return examples;
  }

  std::vector<std::string> remarks() const {
    std::vector<std::string> lines;
    if (!outcome_.remark.empty()) lines.push_back(outcome_.remark);
    if (!outcome_.narrowing.empty()) {
      lines.push_back("Holds for " + outcome_.narrowing + "; without that condition, which its");
      lines.push_back("source does not state, not: " + outcome_.counterexample);
    }
    return lines;
  }

  std::vector<std::string> kept(const std::vector<std::string>& examples) const {
    const auto count = std::min(examples.size(), static_cast<size_t>(options_.examples));
    return {examples.begin(), examples.begin() + static_cast<int64_t>(count)};
  }

  const TasoRule& rule_;
  const TasoImportOptions& options_;
  TasoLayout layout_;
  TasoOutcome outcome_;
};

}  // namespace

std::vector<TasoOutcome> import_taso_rules(const std::vector<TasoRule>& rules,
                                           const TasoImportOptions& options) {
  std::vector<TasoOutcome> outcomes;
  std::map<std::string, std::string> known;
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::string name = fmt::format("{}_{:03}", options.prefix, options.first + i);
    std::string remark;
    try {
      const auto [first, fresh] = known.emplace(taso::canonical_form(rules[i]), name);
      if (taso::is_trivial(rules[i]))
        remark = "both sides are the same";
      else if (!fresh)
        remark = "the same as " + first->second + ", but for names and order";
      outcomes.push_back(Importer(rules[i], name, options).run(remark));
    } catch (const InputError& error) {
      TasoOutcome refused;
      refused.name = name;
      refused.refusal = error.what();
      refused.remark = remark;
      outcomes.push_back(std::move(refused));
    }
  }
  return outcomes;
}

std::string rule_file_text(const std::vector<TasoOutcome>& outcomes, const std::string& source) {
  std::string text = fmt::format("# Imported from {}.\n", source);
  for (const TasoOutcome& outcome : outcomes)
    if (!outcome.accepted())
      text += fmt::format("# Refused: {}: {}{}\n", outcome.name, outcome.refusal,
                          outcome.counterexample.empty() ? "" : ": " + outcome.counterexample);
  for (const TasoOutcome& outcome : outcomes)
    if (outcome.accepted()) text += "\n" + outcome.text;
  return text;
}

}  // namespace reverie
