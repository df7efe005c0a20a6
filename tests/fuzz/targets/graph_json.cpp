#include "env/placement/graph/cost_graph.h"
#include "tests/fuzz/target.h"

void reverie::fuzz::read_graph_json(std::string_view bytes) {
  read_cost_graph(as_file("graph.json", bytes));
}
