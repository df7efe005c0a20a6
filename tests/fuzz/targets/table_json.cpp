#include "env/adapt/table.h"
#include "tests/fuzz/target.h"

void reverie::fuzz::read_table_json(std::string_view bytes) {
  table_source(read_table(as_file("table.json", bytes)));
}
