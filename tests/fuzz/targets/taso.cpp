#include "core/rulekit/taso/import.h"
#include "core/rulekit/taso/taso_rule.h"
#include "tests/fuzz/target.h"

void reverie::fuzz::read_taso(std::string_view bytes) {
  read_taso_rules(as_file("rules.pb", bytes));
}
