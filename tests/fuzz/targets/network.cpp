#include "env/adapt/network.h"

#include "tests/fuzz/target.h"

void reverie::fuzz::read_network(std::string_view bytes) {
  parse_network(std::string(bytes), "network.yaml");
}
