#include "env/placement/graph/topology.h"
#include "tests/fuzz/target.h"

void reverie::fuzz::read_devices(std::string_view bytes) {
  read_topology(as_file("devices.yaml", bytes));
}
