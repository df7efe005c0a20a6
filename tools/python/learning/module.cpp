#include <pybind11/pybind11.h>

#include <tuple>

#include "env/spec_json.h"
#include "tools/python/learning/policy.h"

namespace reverie::python {

PYBIND11_MODULE(_learning, module) {
  using Unlocked = py::call_guard<py::gil_scoped_release>;
  module.doc() = "The part of Reverie that needs LibTorch; see the package reverie.";
  py::module_::import("reverie._core");  // which has Environment and InputError
  py::class_<LoadedPolicy>(module, "Policy", "A trained policy.")
      .def(py::init<const std::string&, uint64_t>(), py::arg("path"), py::arg("seed"), Unlocked())
      .def_property_readonly(
          "spec_json",
          [](const LoadedPolicy& one) { return spec_to_json(one.trained().spec()).dump(); })
      .def_property_readonly("environment",
                             [](const LoadedPolicy& one) { return one.trained().environment; })
      .def(
          "act",
          [](LoadedPolicy& one, const NumberedEnvironment& environment, bool greedy) {
            const Action action = one.act(environment, greedy);
            return std::make_tuple(action.primary, action.entity, action.index);
          },
          py::arg("environment"), py::arg("greedy"), Unlocked());
}

}  // namespace reverie::python
