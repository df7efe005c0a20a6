#include "core/exec/npz.h"
#include "tests/fuzz/target.h"

void reverie::fuzz::read_arrays(std::string_view bytes) { read_npz(as_file("arrays.npz", bytes)); }
