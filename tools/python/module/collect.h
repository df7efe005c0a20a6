#pragma once

#include <pybind11/pybind11.h>

namespace reverie::python {

void bind_collect(pybind11::module_& module);

}  // namespace reverie::python
