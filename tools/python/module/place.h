#pragma once

#include <pybind11/pybind11.h>

namespace reverie::python {

/// `reverie place`: a placement and schedule.
void bind_place(pybind11::module_& module);

}  // namespace reverie::python
