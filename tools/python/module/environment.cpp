#include "tools/python/module/environment.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/base/scratch_folder.h"
#include "core/report/svg.h"
#include "env/spec_json.h"

namespace reverie::python {
namespace {

namespace fs = std::filesystem;

constexpr char kSolver[] = "episode";

/// What an environment of this kind may be given.
struct Settings {
  EnvironmentConfig& config;
  template <class V>
  void fields(V& v) {
    v.field("inputs", config.inputs, "What it begins from");
    v.field("horizon", config.horizon,
            "Steps after which an episode ends; 0: as many as the environment finds right",
            at_least(0));
    config.sections.fields(v);
  }
};

std::vector<KnownSetting> settings_of(const std::string& kind) {
  EnvironmentConfig config;
  Settings settings{config};
  return known_settings(ConfigFields(settings), environment_kind(kind).name().data());
}

uint64_t new_moment() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

int most_entities(const Environment& prototype) {
  const auto environment = prototype.fork();
  int most = 1;
  for (int start = 0; start < prototype.spec().start_states(); ++start) {
    environment->reset(static_cast<uint64_t>(start));
    most = std::max(most, environment->mask().entities);
  }
  return most;
}

/// Moves a file and what lies beside it, such as the weights of a model, to where `path` says.
void move_files(const fs::path& file, const fs::path& path) {
  for (const auto& entry : fs::directory_iterator(file.parent_path())) {
    const fs::path to = entry.path() == file ? path : path.parent_path() / entry.path().filename();
    const fs::path aside = to.string() + ".part";
    std::error_code error;
    fs::copy_file(entry.path(), aside, fs::copy_options::overwrite_existing, error);
    if (!error) fs::rename(aside, to, error);
    if (error) throw InputError("{}: cannot be written: {}", to.string(), error.message());
  }
}

using Triple = std::tuple<int, int, int>;

py::dict info_dict(const NumberedEnvironment& one) {
  using namespace py::literals;
  const StepInfo info = one.environment().info();
  return py::dict("start"_a = one.spec().starts[static_cast<size_t>(one.start())].name,
                  "objective"_a = info.objective(one.spec()), "best"_a = info.best,
                  "feasible"_a = info.feasible,
                  "metrics"_a = py::array_t<double>(std::ssize(info.metrics), info.metrics.data()));
}

Observation observed(const NumberedEnvironment& one) {
  const py::gil_scoped_release release;
  return one.observe();
}

py::dict graph_of(const NumberedEnvironment& one) {
  const Observation observation = observed(one);
  const Observation* const alone = &observation;
  GraphArrays arrays(one.layout(), one.numbers(), {&alone, 1}, false);
  arrays.write(0);
  return arrays.dict();
}

py::tuple padded_of(const NumberedEnvironment& one) {
  const Observation observation = observed(one);
  PaddedArrays arrays(one.layout(), one.numbers(), 0);
  const int cut = arrays.write(0, observation);
  return py::make_tuple(arrays.dict(), cut);
}

}  // namespace

EnvironmentConfig config_of(const std::string& kind, const std::vector<Setting>& given) {
  environment_kind(kind);
  EnvironmentConfig config;
  config.kind = kind;
  Settings settings{config};
  ConfigFields fields(settings);
  apply_settings(fields, kind, given);
  return config;
}

const Task& Origin::task(int start) {
  const std::lock_guard lock(mutex_);
  if (!tasks_) tasks_ = environment_kind(config_.kind).tasks(config_, TaskConfig(), TaskPlan());
  return *tasks_->tasks()[static_cast<size_t>(start)];
}

EpisodeSolution::EpisodeSolution(std::shared_ptr<Origin> origin, int start,
                                 const Environment& played)
    : origin_(std::move(origin)),
      start_(start),
      objective_(played.info().best),
      solution_(task().solution(played)) {}

std::string EpisodeSolution::save(const std::string& path) const {
  if (!solution_)
    throw InputError("{}: this environment has no solutions that can be written", path);
  const ScratchFolder folder;
  const Artifact artifact = task().write(*solution_, kSolver, folder.path());
  if (artifact.file.empty())
    throw InputError("{}: this environment has no solutions that can be written", path);
  move_files(folder.path() / artifact.file, path);
  return artifact.verified.dump();
}

std::string EpisodeSolution::svg() const {
  if (!solution_) return "";
  const Solved solved{kSolver, solution_, {}};
  const TaskDescription said = task().describe({&solved, 1});
  return said.plots.empty() ? "" : svg_file(said.plots.front().svg);
}

NumberedEnvironment::NumberedEnvironment(const std::string& kind,
                                         const std::vector<Setting>& settings, int max_choices)
    : origin_(std::make_shared<Origin>(config_of(kind, settings))),
      entities_(1),
      numbers_(EnvSpec(), 1, 1),
      layout_(EnvSpec()) {
  if (max_choices < 1) throw InputError("max_choices is {}; it must be at least 1", max_choices);
  MadeEnvironment made = make_environment(config_of(kind, settings));
  environment_ = std::move(made.environment);
  warnings_ = std::move(made.warnings);
  entities_ = most_entities(*environment_);
  numbers_ = ActionNumbers(spec(), entities_, max_choices);
  layout_ = ArrayLayout(spec());
}

NumberedEnvironment::NumberedEnvironment(const NumberedEnvironment& other)
    : origin_(other.origin_),
      environment_(other.environment_->fork()),
      entities_(other.entities_),
      numbers_(other.numbers_),
      layout_(other.layout_),
      start_(other.start_),
      moment_(other.moment_) {}

void NumberedEnvironment::use_usual_sizes() {
  const auto environment = environment_->fork();
  for (int start = 0; start < spec().start_states(); ++start) {
    environment->reset(static_cast<uint64_t>(start));
    const GraphFeatures graph = environment->observe().graph;
    layout_.max_nodes = std::max(layout_.max_nodes, 2 * graph.node_count());
    layout_.max_edges = std::max(layout_.max_edges, 2 * graph.edge_count());
  }
}

void NumberedEnvironment::set_sizes(int max_nodes, int max_edges) {
  if (max_nodes < 1 || max_edges < 1)
    throw InputError("max_nodes is {} and max_edges {}; both must be at least 1", max_nodes,
                     max_edges);
  layout_.max_nodes = max_nodes;
  layout_.max_edges = max_edges;
}

void NumberedEnvironment::reset(uint64_t seed) {
  environment_->reset(seed);
  start_ = static_cast<int>(seed % static_cast<uint64_t>(spec().start_states()));
  moment_ = {.id = new_moment()};
}

NumberedEnvironment::Stepped NumberedEnvironment::step(int64_t number) {
  const auto action = numbers_.action(environment_->mask(), number);
  if (!action) return {.valid = false};
  const Stepped stepped = {.result = environment_->step(*action)};
  moment_ = {new_moment(), moment_.id, *action, moment_.steps + 1};
  return stepped;
}

Action NumberedEnvironment::action(int64_t number) const {
  const ActionMask now = mask();
  const auto action = numbers_.action(now, number);
  if (action) return *action;
  if (number < 0 || number >= numbers_.size())
    throw InputError("there is no action {}; actions are 0 to {}", number, numbers_.size() - 1);
  throw InputError("action {} ({}) is not valid in this state; see the action mask", number,
                   spec().actions[static_cast<size_t>(number / numbers_.slots())]);
}

int NumberedEnvironment::number(const Action& action) const {
  const ActionMask now = mask();
  require_allowed(spec(), now, action);
  const auto number = numbers_.number(now, action);
  if (!number)
    throw InputError("{} has more than max_choices = {} choices; this one is behind them",
                     spec().actions[static_cast<size_t>(action.primary)], numbers_.slots());
  return *number;
}

void bind_environment(py::module_& module) {
  using Env = NumberedEnvironment;
  using Unlocked = py::call_guard<py::gil_scoped_release>;
  module.def(
      "kinds",
      [] {
        std::vector<std::string> names;
        for (const EnvironmentKind* kind : environment_kinds()) names.emplace_back(kind->name());
        return names;
      },
      "Names of the kinds of environments.");
  module.def(
      "environment_settings",
      [](const std::string& kind) {
        std::vector<std::tuple<std::string, std::string, std::string, std::string>> all;
        for (const KnownSetting& one : settings_of(kind))
          all.emplace_back(one.key, one.type, one.value, one.help);
        return all;
      },
      py::arg("kind"), "Key, type, default and meaning of each setting of a kind.");

  py::class_<EpisodeSolution>(module, "Solution", "The best state of an episode.")
      .def_property_readonly("objective", &EpisodeSolution::objective)
      .def("save", &EpisodeSolution::save, py::arg("path"), Unlocked())
      .def("svg", &EpisodeSolution::svg, Unlocked());

  py::class_<Env>(module, "Environment", "An environment whose actions are numbers.")
      .def(py::init<const std::string&, const std::vector<Setting>&, int>(), py::arg("kind"),
           py::arg("settings"), py::arg("max_choices"), Unlocked())
      .def(
          "fork", [](const Env& one) { return std::make_unique<Env>(one); }, Unlocked())
      .def_property_readonly("spec_json",
                             [](const Env& one) { return spec_to_json(one.spec()).dump(); })
      .def_property_readonly("warnings", &Env::warnings)
      .def_property_readonly("actions", [](const Env& one) { return one.numbers().size(); })
      .def_property_readonly("slots", [](const Env& one) { return one.numbers().slots(); })
      .def_property_readonly("entities", &Env::entities)
      .def_property_readonly("max_nodes", [](const Env& one) { return one.layout().max_nodes; })
      .def_property_readonly("max_edges", [](const Env& one) { return one.layout().max_edges; })
      .def("use_usual_sizes", &Env::use_usual_sizes, Unlocked())
      .def("set_sizes", &Env::set_sizes, py::arg("max_nodes"), py::arg("max_edges"))
      .def("reset", &Env::reset, py::arg("seed"), Unlocked())
      .def(
          "step",
          [](Env& one, int64_t number) {
            Env::Stepped stepped;
            {
              const py::gil_scoped_release release;
              stepped = one.step(number);
            }
            return std::make_tuple(stepped.valid, stepped.result.reward, stepped.result.terminated,
                                   stepped.result.truncated);
          },
          py::arg("number"))
      .def("graph", &graph_of)
      .def("padded", &padded_of)
      .def("info", &info_dict)
      .def(
          "action",
          [](const Env& one, int64_t number) {
            const Action action = one.action(number);
            return Triple(action.primary, action.entity, action.index);
          },
          py::arg("number"))
      .def(
          "number",
          [](const Env& one, int primary, int entity, int index) {
            return one.number({primary, entity, index});
          },
          py::arg("primary"), py::arg("entity"), py::arg("index"))
      .def("describe", [](const Env& one) { return one.environment().describe(); })
      .def(
          "describe_action",
          [](const Env& one, int64_t number) {
            return one.environment().describe(one.action(number));
          },
          py::arg("number"))
      .def("solution", &Env::solution, Unlocked());
}

}  // namespace reverie::python
