#include "core/rulekit/prove/prove.h"

#include "core/base/error.h"
#include "core/rulekit/verify/write_proofs.h"

namespace reverie {

ProofReport prove_rule(const Rule& rule, const ProofOptions& options) {
  ProofReport report;
  report.field = prove_over_field(rule, options.field);
  if (report.field.proved())
    report.proof.field = {static_cast<int>(report.field.assignments.size()), report.field.ranks,
                          report.field.degree, report.field.error};
  if (options.with_axioms && report.refutation().empty())
    report.axioms = prove_by_axioms(rule, report.field.assignments, options.axioms);
  if (report.axioms.proved()) report.proof.axioms = {report.axioms.ranks, report.axioms.used};
  return report;
}

std::string proved_file(const std::string& text, const std::string& name,
                        const ProofOptions& options) {
  const RuleSet rules = RuleSet::parse(text, name);
  std::map<std::string, RuleProof> proofs;
  for (int i = 0; i < rules.size(); ++i) {
    const ProofReport report = prove_rule(rules[i], options);
    if (!report.refutation().empty())
      throw InputError("{}: rule '{}' does not hold: {}", rules[i].origin(), rules.name(i),
                       report.refutation());
    proofs[rules.name(i)] = report.proof;
  }
  return with_proofs(text, name, proofs);
}

}  // namespace reverie
