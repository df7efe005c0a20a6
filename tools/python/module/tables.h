#pragma once

#include <pybind11/pybind11.h>

namespace reverie::python {

/// Tables of measurements and of recorded trainings that several machines made, as one.
void bind_tables(pybind11::module_& module);

}  // namespace reverie::python
