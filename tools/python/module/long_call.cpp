#include "tools/python/module/long_call.h"

#include <pybind11/pybind11.h>

#include <chrono>
#include <future>
#include <optional>

namespace reverie::python {

namespace py = pybind11;

bool run_interruptibly(const StopToken& stop, const std::function<void()>& work) {
  constexpr std::chrono::milliseconds kPatience{50};
  std::future<void> ended = std::async(std::launch::async, work);
  std::optional<py::error_already_set> raised;
  const auto is_running = [&] {
    const py::gil_scoped_release release;
    return ended.wait_for(kPatience) != std::future_status::ready;
  };
  bool interrupted = false;
  while (is_running()) {
    if (PyErr_CheckSignals() == 0) continue;
    py::error_already_set error;  // takes it from the interpreter
    stop.request();
    if (interrupted || !error.matches(PyExc_KeyboardInterrupt)) raised.emplace(error);
    interrupted = true;
  }
  ended.get();
  if (raised) throw *raised;
  return interrupted;
}

}  // namespace reverie::python
