#include <pybind11/pybind11.h>

#include "core/base/error.h"
#include "core/cost/machine.h"
#include "core/ort/ort_machine.h"
#include "tools/python/module/collect.h"
#include "tools/python/module/environment.h"
#include "tools/python/module/optimize.h"
#include "tools/python/module/place.h"
#include "tools/python/module/rollouts.h"
#include "tools/python/module/tables.h"
#include "tools/python/module/vector.h"

namespace reverie::python {

PYBIND11_MODULE(_core, module) {
  module.doc() = "Reverie without LibTorch; see the package reverie.";
  register_machine(ort::ort_machines());
  auto& error = py::register_exception<InputError>(module, "InputError", PyExc_ValueError);
  error.attr("__doc__") = "A file, a setting or an action is wrong. One line says which and why.";
  error.attr("__module__") = "reverie";
  bind_environment(module);
  bind_vector(module);
  bind_rollouts(module);
  bind_collect(module);
  bind_optimize(module);
  bind_place(module);
  bind_tables(module);
}

}  // namespace reverie::python
