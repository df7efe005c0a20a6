#include "core/rulekit/verify/write_proofs.h"

#include "core/base/error.h"
#include "core/rules/parser.h"

namespace reverie {

std::string with_proofs(std::string_view text, const std::string& name,
                        const std::map<std::string, RuleProof>& proofs) {
  std::string result;
  size_t at = 0;
  for (const RulePattern& rule : parse_rules(text, name)) {
    const auto proof = proofs.find(rule.name);
    if (proof == proofs.end()) continue;
    const size_t begin = text.find(rule.text, at);
    REVERIE_CHECK(begin != std::string_view::npos);
    result.append(text, at, begin + rule.proof_begin - at);
    const std::string section = text_of(proof->second);
    if (!section.empty()) result.append(1, '\n').append(section);
    at = begin + rule.proof_end;
  }
  return result.append(text, at, text.size() - at);
}

}  // namespace reverie
