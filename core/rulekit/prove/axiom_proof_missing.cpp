#include "core/base/error.h"
#include "core/rulekit/prove/axiom_proof.h"

namespace reverie {

AxiomProof prove_by_axioms(const Rule&, const std::vector<RuleExample>&, const AxiomProofOptions&) {
  throw InputError(
      "proofs by axioms need Z3, which this program was built without; leave them out "
      "(--no-axioms)");
}

}  // namespace reverie
