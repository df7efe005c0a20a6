#include "tools/python/module/optimize.h"

#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/onnx/import.h"
#include "env/rewrite/optimize/method.h"
#include "env/rewrite/optimize/write_result.h"
#include "env/rewrite/optimize/written_costs.h"
#include "tools/python/module/long_call.h"
#include "tools/python/module/settings.h"

namespace reverie::python {
namespace {

namespace py = pybind11;

/// What was made of the model in a file, which must stay there.
class OptimizedModel {
 public:
  OptimizedModel(std::string path, const std::vector<Setting>& settings, ImportOptions extents,
                 const std::vector<std::string>& rules, const std::vector<std::string>& without,
                 bool fix_shapes, bool metadata);

  void run(const StopToken& stop);
  void set_interrupted() { interrupted_ = true; }
  std::vector<std::string> save(const std::string& out) const;

  double gain_percent() const;
  /// With 95 %; nothing where nothing was measured.
  std::optional<std::pair<double, double>> gain_interval() const;
  /// Where the gain comes from.
  std::string source() const;
  bool verified() const { return result_.changed && result_.verified.agree; }
  std::map<std::string, double> agreement() const;
  std::map<std::string, int> rules() const;
  const OptimizeConfig& config() const { return config_; }
  const Optimized& result() const { return result_; }
  const ImportedModel& model() const { return model_; }
  bool interrupted() const { return interrupted_; }

 private:
  const ContestantResult* measured() const;

  std::string path_;
  OptimizeConfig config_;
  std::shared_ptr<const RuleSet> rules_;
  bool metadata_;
  std::shared_ptr<CostModel> cost_;  ///< null where nothing has a cost
  ImportedModel model_;
  Optimized result_;
  bool interrupted_ = false;
};

std::shared_ptr<const RuleSet> rules_of(const std::vector<std::string>& files,
                                        const std::vector<std::string>& without) {
  std::vector<std::string> unused;
  const RuleSet kept = RuleSet::load_all(files).without(without, &unused);
  if (!unused.empty()) throw InputError("without: there is no rule '{}'", unused.front());
  return std::make_shared<const RuleSet>(kept);
}

OptimizedModel::OptimizedModel(std::string path, const std::vector<Setting>& settings,
                               ImportOptions extents, const std::vector<std::string>& rules,
                               const std::vector<std::string>& without, bool fix_shapes,
                               bool metadata)
    : path_(std::move(path)), rules_(rules_of(rules, without)), metadata_(metadata) {
  ConfigFields fields(config_);
  apply_settings(fields, "", settings);
  config_.fix_shapes = fix_shapes;
  settle_automatic(config_);
  require_options_read(config_);
  model_ = import_to_rewrite(path_, std::move(extents), config_.fix_shapes);
}

void OptimizedModel::run(const StopToken& stop) {
  if (config_.method == kSimplify) {
    result_.search.best = model_.graph;
    result_.changed = true;
    return;
  }
  config_.search.stop = stop;
  cost_ = costs_as_written(make_cost_model(config_.cost, seconds_for_costs(config_)),
                           newest_opset(model_));
  SearchMethod method;
  if (is_measured(config_))
    method = measured_method(config_);
  else if (config_.method != kAutomatic)
    method = method_named(config_.method, config_.solvers);
  result_ = optimize_by(Subject(model_, path_), rules_, cost_, method, config_);
}

std::vector<std::string> OptimizedModel::save(const std::string& out) const {
  if (config_.verify.inputs == 0)
    throw InputError("{}: with verify_inputs=0 nothing is proved, so that nothing can be written",
                     out);
  if (!metadata_ || cost_ == nullptr) return write_optimized(path_, model_, result_, config_, out);
  const NoteSources notes{*rules_, *cost_};
  return write_optimized(path_, model_, result_, config_, out, &notes);
}

const ContestantResult* OptimizedModel::measured() const {
  const BenchmarkResult& all = result_.benchmark;
  return all.contestants.empty() ? nullptr : &all.contestants[static_cast<size_t>(all.winner)];
}

double OptimizedModel::gain_percent() const {
  if (measured() == nullptr) return result_.changed ? result_.file_improvement_percent() : 0;
  return result_.benchmark.winner > 0 ? 100 * (1 - measured()->ratio.median) : 0;
}

std::optional<std::pair<double, double>> OptimizedModel::gain_interval() const {
  if (measured() == nullptr || result_.benchmark.winner == 0) return std::nullopt;
  return std::pair(100 * (1 - measured()->ratio.high), 100 * (1 - measured()->ratio.low));
}

std::string OptimizedModel::source() const {
  if (measured() == nullptr) return result_.cost_source;
  return fmt::format("measured on {} ({})", result_.machine.device, result_.machine.library);
}

std::map<std::string, double> OptimizedModel::agreement() const {
  const Agreement& verified = result_.verified;
  return {{"inputs", verified.inputs},
          {"max_abs_error", verified.max_abs_error},
          {"max_rel_error", verified.max_rel_error},
          {"unverified_nodes", verified.unverified_nodes}};
}

std::map<std::string, int> OptimizedModel::rules() const {
  std::map<std::string, int> used;
  for (const RewriteStep& step : result_.search.rewrites) ++used[rules_->name(step.rule)];
  return used;
}

std::unique_ptr<OptimizedModel> optimize_model(
    std::string path, const std::vector<Setting>& settings, std::vector<std::string> shapes,
    std::vector<std::string> dims, const std::vector<std::string>& rules,
    const std::vector<std::string>& without, bool fix_shapes, bool metadata) {
  std::unique_ptr<OptimizedModel> made;
  const StopToken stop;
  const bool interrupted = run_interruptibly(stop, [&] {
    made = std::make_unique<OptimizedModel>(
        std::move(path), settings,
        ImportOptions{.shapes = std::move(shapes), .dims = std::move(dims)}, rules, without,
        fix_shapes, metadata);
    made->run(stop);
  });
  if (interrupted) made->set_interrupted();
  return made;
}

std::vector<std::tuple<std::string, std::string, std::string, std::string>> settings() {
  OptimizeConfig config;
  std::vector<std::tuple<std::string, std::string, std::string, std::string>> all;
  for (const KnownSetting& one : known_settings(ConfigFields(config), ""))
    all.emplace_back(one.key, one.type, one.value, one.help);
  return all;
}

std::vector<std::tuple<std::string, std::string, std::string>> untouched_of(
    const OptimizedModel& one) {
  std::vector<std::tuple<std::string, std::string, std::string>> all;
  for (const UntouchedNode& node : one.model().untouched)
    all.emplace_back(node.name, node.op, node.reason);
  return all;
}

}  // namespace

void bind_optimize(py::module_& module) {
  using Model = OptimizedModel;
  module.def("optimize_settings", &settings,
             "Key, type, default and meaning of each setting of `optimize`.");
  module.def("optimize", &optimize_model, py::arg("path"), py::arg("settings"), py::arg("shapes"),
             py::arg("dims"), py::arg("rules"), py::arg("without"), py::arg("fix_shapes"),
             py::arg("metadata"));
  py::class_<Model>(module, "OptimizedModel", "What was made of a model.")
      .def("save", &Model::save, py::arg("path"), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("gain_percent", &Model::gain_percent)
      .def_property_readonly("gain_interval", &Model::gain_interval)
      .def_property_readonly("source", &Model::source)
      .def_property_readonly("verified", &Model::verified)
      .def_property_readonly("agreement", &Model::agreement)
      .def_property_readonly("rules", &Model::rules)
      .def_property_readonly("untouched", &untouched_of)
      .def_property_readonly("changed", [](const Model& one) { return one.result().changed; })
      .def_property_readonly("interrupted", &Model::interrupted)
      .def_property_readonly("method", [](const Model& one) { return one.config().method; })
      .def_property_readonly("objections", [](const Model& one) { return one.result().objections; })
      .def_property_readonly("seconds",
                             [](const Model& one) { return one.result().search.seconds; })
      .def_property_readonly("warnings", [](const Model& one) { return one.model().warnings; });
}

}  // namespace reverie::python
