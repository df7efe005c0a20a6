#pragma once

#include <pybind11/pybind11.h>

namespace reverie::python {

/// Episodes on disk.
void bind_rollouts(pybind11::module_& module);

}  // namespace reverie::python
