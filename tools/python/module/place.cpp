#include "tools/python/module/place.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/report/svg.h"
#include "env/placement/machine/on_devices.h"
#include "env/placement/placement_solver.h"
#include "env/placement/placement_task.h"
#include "env/placement/report/charts.h"
#include "env/placement/report/place_report.h"
#include "tools/python/module/long_call.h"
#include "tools/python/module/settings.h"

namespace reverie::python {
namespace {

namespace py = pybind11;

/// What to place, where, and how.
struct PlaceRequest {
  std::string graph, devices;
  std::vector<std::string> methods;
  std::vector<Setting> settings;
  PlacementInputConfig input;
  double time_limit = 0;
  int64_t evaluations = 0;
  uint64_t seed = 1;
  bool memory = false, fuse = false, measure = false;
};

class PlacedGraph {
 public:
  explicit PlacedGraph(const PlaceRequest& request);

  void run(const PlaceRequest& request, const StopToken& stop);
  void set_interrupted() { interrupted_ = true; }

  const PlaceResult& result() const { return result_; }
  const PlacedBy& winner() const { return result_.methods[result_.winner]; }
  std::string json() const { return placement_json(placed(), topology_, result_).dump(1) + "\n"; }
  std::string svg() const {
    return svg_file(gantt_chart(placed(), topology_, result_.timeline, result_.bound).svg);
  }
  void save(const std::string& folder) const {
    write_place_outputs(folder, placed(), topology_, result_);
  }
  std::map<std::string, std::string> device_of() const {
    return devices_of(placed(), topology_, result_);
  }
  void save_model(const std::string& file) const {
    write_placed_model(path_, *read_, topology_, result_, file);
  }
  const std::vector<std::string>& warnings() const { return read_->warnings; }
  bool interrupted() const { return interrupted_; }

 private:
  const CostGraph& placed() const { return result_.placed(read_->graph); }

  std::string path_;
  Topology topology_;
  std::optional<OnDevices> on_own_;
  std::optional<PlacementInput> read_;
  PlaceResult result_;
  bool interrupted_ = false;
};

/// Those that are named, or that the graph's file names.
Topology topology_of(const PlaceRequest& request) {
  if (!request.devices.empty()) return read_topology(request.devices);
  if (request.graph.ends_with(".json"))
    if (const std::optional<Topology> named = topology_in_graph(request.graph)) return *named;
  throw InputError("{}: name the devices: a YAML file, or {}, or {}", request.graph,
                   fmt::join(known_topologies(), ", "), kOwnDevices);
}

PlacedGraph::PlacedGraph(const PlaceRequest& request) : path_(request.graph) {
  if (names_own_devices(request.devices)) {
    const std::shared_ptr<OwnDevices> own = open_own_devices(request.devices);
    topology_ = own->topology();
    on_own_ = read_on_devices(request.graph, own, request.input);
    read_ = on_own_->input;
    return;
  }
  if (request.measure)
    throw InputError(
        "measure runs placements on this machine: it needs devices cores:N or "
        "streams:N");
  topology_ = topology_of(request);
  read_ = read_placement_input(request.graph, topology_, request.input);
}

PlacementObjective objective_of(const PlaceRequest& request) {
  return request.memory ? PlacementObjective::kPeakMemory : PlacementObjective::kMakespan;
}

std::vector<PlaceMethod> methods_of(const PlaceRequest& request, const CostGraph& graph) {
  SolverSettings settings(PlacementConfig::kKind);
  ConfigFields fields(settings);
  apply_settings(fields, "", request.settings);
  std::vector<const Solver*> used;
  for (const Solver* solver : solvers_for(PlacementConfig::kKind))
    if (std::ranges::count(request.methods, solver->name()) > 0) used.push_back(solver);
  settings.require_read_by(used, "place");
  if (request.methods.empty()) return usual_methods(graph, objective_of(request));
  const std::vector<PlaceMethod> all = placement_methods(settings);
  std::vector<PlaceMethod> methods;
  for (const std::string& name : request.methods) methods.push_back(place_method(all, name));
  return methods;
}

void PlacedGraph::run(const PlaceRequest& request, const StopToken& stop) {
  PlaceOptions options{
      .budget = {.evaluations = request.evaluations, .seconds = request.time_limit, .stop = stop},
      .seed = request.seed,
      .objective = objective_of(request),
      .fuse = request.fuse};
  if (request.measure) options.measure = measure_schedules(*on_own_);
  result_ = place(read_->graph, topology_, methods_of(request, read_->graph), options);
  result_.folded = read_->folded;
}

std::unique_ptr<PlacedGraph> place_graph(const PlaceRequest& request) {
  std::unique_ptr<PlacedGraph> made;
  const StopToken stop;
  const bool interrupted = run_interruptibly(stop, [&] {
    made = std::make_unique<PlacedGraph>(request);
    made->run(request, stop);
  });
  if (interrupted) made->set_interrupted();
  return made;
}

}  // namespace

void bind_place(py::module_& module) {
  module.def(
      "place_settings",
      [] {
        SolverSettings settings(PlacementConfig::kKind);
        std::vector<std::tuple<std::string, std::string, std::string, std::string>> all;
        for (const KnownSetting& one : known_settings(ConfigFields(settings), ""))
          all.emplace_back(one.key, one.type, one.value, one.help);
        return all;
      },
      "Key, type, default and meaning of each option of a method of `place`.");
  module.def(
      "place",
      [](std::string graph, std::string devices, std::vector<std::string> methods,
         std::vector<Setting> settings, std::vector<std::string> shapes,
         std::vector<std::string> dims, bool training, double time_limit, int64_t evaluations,
         uint64_t seed, bool memory, bool fuse, bool measure) {
        return place_graph({std::move(graph),
                            std::move(devices),
                            std::move(methods),
                            std::move(settings),
                            {std::move(shapes), std::move(dims), training},
                            time_limit,
                            evaluations,
                            seed,
                            memory,
                            fuse,
                            measure});
      },
      py::arg("graph"), py::arg("devices"), py::arg("methods"), py::arg("settings"),
      py::arg("shapes"), py::arg("dims"), py::arg("training"), py::arg("time_limit"),
      py::arg("evaluations"), py::arg("seed"), py::arg("memory"), py::arg("fuse"),
      py::arg("measure"));
  using Placed = PlacedGraph;
  py::class_<Placed>(module, "PlacedGraph", "A placement and its schedule.")
      .def_property_readonly(
          "makespan_ms",
          [](const Placed& one) { return one.winner().outcome.makespan.milliseconds(); })
      .def_property_readonly("lower_bound_ms",
                             [](const Placed& one) { return one.result().bound.milliseconds(); })
      .def_property_readonly("peak_bytes",
                             [](const Placed& one) { return one.winner().outcome.peak_bytes; })
      .def_property_readonly("feasible",
                             [](const Placed& one) { return one.winner().outcome.feasible(); })
      .def_property_readonly("why_infeasible",
                             [](const Placed& one) { return why_infeasible(one.result()); })
      .def_property_readonly("method", [](const Placed& one) { return one.winner().method; })
      .def_property_readonly("makespans_ms",
                             [](const Placed& one) {
                               std::vector<std::pair<std::string, double>> all;
                               for (const PlacedBy& by : one.result().methods)
                                 all.emplace_back(by.method, by.outcome.makespan.milliseconds());
                               return all;
                             })
      .def_property_readonly("measured", [](const Placed& one) { return one.result().measured; })
      .def_property_readonly("interrupted", &Placed::interrupted)
      .def_property_readonly("json", &Placed::json)
      .def_property_readonly("device_of", &Placed::device_of)
      .def_property_readonly("warnings", &Placed::warnings)
      .def("svg", &Placed::svg)
      .def("save", &Placed::save, py::arg("folder"), py::call_guard<py::gil_scoped_release>())
      .def("save_model", &Placed::save_model, py::arg("file"),
           py::call_guard<py::gil_scoped_release>());
}

}  // namespace reverie::python
