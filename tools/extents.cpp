#include "tools/extents.h"

#include "tools/help.h"

namespace reverie {

void add_extent_options(CLI::App& command, ImportOptions& extents) {
  add_repeated(command, "--shape", extents.shapes, "NAME=DIMS",
               "Extents of an input: NAME=1,3,224,224");
  add_repeated(command, "--dim", extents.dims, "NAME=N,...",
               "Extents of dimensions by name: batch=1,seq=128");
}

}  // namespace reverie
