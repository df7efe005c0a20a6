#pragma once

#include <pybind11/pybind11.h>

namespace reverie::python {

/// `reverie optimize`: a faster model.
void bind_optimize(pybind11::module_& module);

}  // namespace reverie::python
