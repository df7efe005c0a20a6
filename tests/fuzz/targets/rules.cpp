#include "core/rules/rule.h"
#include "tests/fuzz/target.h"

void reverie::fuzz::read_rules(std::string_view bytes) { RuleSet::parse(bytes, "rules"); }
