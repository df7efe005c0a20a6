#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/rules/proof.h"

namespace reverie {

/// The text of a rule file with the `proof` sections of the named rules replaced, put in, or, where
/// the proof is empty, taken out; all else as it was. `name` is the file's for errors.
std::string with_proofs(std::string_view text, const std::string& name,
                        const std::map<std::string, RuleProof>& proofs);

}  // namespace reverie
