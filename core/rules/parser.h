#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/rules/pattern.h"

namespace reverie {

/// The rules of a text in the language of LANGUAGE.md. InputError "NAME:LINE:COLUMN: ..." says what
/// was found and what is expected there.
std::vector<RulePattern> parse_rules(std::string_view text, const std::string& name);

/// What a parsed or imported pattern must fulfil beyond its grammar: its source operators hang
/// together, outputs are mapped, no target step is idle. InputError "ORIGIN: rule 'NAME': ...".
void check_pattern(const RulePattern& pattern);

}  // namespace reverie
