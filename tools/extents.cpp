#include "tools/extents.h"

namespace reverie {

void add_extent_options(CLI::App& command, ImportOptions& extents) {
  command.add_option("--shape", extents.shapes, "Extents of an input: NAME=1,3,224,224")
      ->type_name("NAME=DIMS")
      ->expected(1)
      ->take_all();
  command.add_option("--dim", extents.dims, "Extents of dimensions by name: batch=1,seq=128")
      ->type_name("NAME=N,...")
      ->expected(1)
      ->take_all();
}

}  // namespace reverie
