#include "tools/python/module/collect.h"

#include <pybind11/stl.h>

#include <mutex>
#include <optional>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/run_directory.h"
#include "core/base/stopwatch.h"
#include "core/base/version.h"
#include "core/base/words.h"
#include "datasets/collect.h"
#include "datasets/history.h"
#include "datasets/shard.h"
#include "env/named_files.h"
#include "tools/collect_config.h"
#include "tools/python/module/environment.h"

namespace reverie::python {
namespace {

/// Ctrl-C ends a collection; whole shards are kept.
void throw_signals() {
  const py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// What makes shards, here or on another machine.
class ShardMaker {
 public:
  /// `text`: the configuration that is kept in `directory`, from which its paths are.
  ShardMaker(const std::string& text, const std::string& directory) : text_(text) {
    ConfigFields(config_).load_text(text, "the configuration of a collection");
    agent_ = make_collect_agent(config_.collect);
    made_ = make_environment(found_from(directory, "", config_.env));
  }

  const CollectConfig& config() const { return config_.collect; }
  const Environment& environment() const { return *made_.environment; }
  const CollectAgent& agent() const { return *agent_; }
  const std::vector<std::string>& warnings() const { return made_.warnings; }
  CollectRun run() const {
    CollectRun run;
    run.seed = config_.seed;
    run.config = text_;
    return run;
  }

  std::string bytes(int shard) const {
    std::unique_ptr<Environment> own;
    {
      const std::lock_guard lock(mutex_);
      own = made_.environment->fork();
    }
    return collect_shard(*own, *agent_, config_.collect, run(), shard);
  }

 private:
  std::string text_;
  CollectStepConfig config_;
  std::unique_ptr<CollectAgent> agent_;
  MadeEnvironment made_;
  mutable std::mutex mutex_;
};

CollectStepConfig step_config(const std::string& kind, const std::vector<Setting>& environment,
                              const std::vector<Setting>& collection, uint64_t seed,
                              const std::string& directory) {
  CollectStepConfig config;
  config.seed = seed;
  ConfigFields fields(config.collect);
  apply_settings(fields, "", collection);
  config.env = relative_to(directory, config_of(kind, environment));
  return config;
}

/// A collection under way, in its directory.
class Collection {
 public:
  Collection(const std::string& kind, const std::vector<Setting>& environment,
             const std::vector<Setting>& collection, uint64_t seed, std::string directory,
             bool resume)
      : directory_(std::move(directory)),
        text_(dump_config(step_config(kind, environment, collection, seed, directory_))),
        maker_(text_, directory_),
        held_(std::in_place, directory_, text_, resume) {}

  /// Lets others write the directory.
  void release() { held_.reset(); }

  const std::string& text() const { return text_; }
  const std::vector<std::string>& warnings() const { return maker_.warnings(); }

  std::vector<int> missing() const {
    std::vector<int> shards;
    for (int shard = 0; shard < shards_of(maker_.config()); ++shard)
      if (!file_exists(path(shard))) shards.push_back(shard);
    return shards;
  }
  void write(int shard, const std::string& bytes) const { write_file(path(shard), bytes); }

  /// Makes what is missing, and the metrics of all.
  std::string finish(int workers) const {
    CollectRun run = maker_.run();
    run.directory = directory_;
    run.workers = workers;
    run.after_episode = [](int) { throw_signals(); };
    const Stopwatch watch;
    const CollectResult result =
        collect(maker_.environment(), maker_.agent(), maker_.config(), run);
    EnvCounters work = result.counters;
    work.resets = result.episodes;
    work.steps = result.steps;
    write_history(directory_, {},
                  {.step = "collect",
                   .done = counted(result.episodes, "episode"),
                   .seed = run.seed,
                   .seconds = watch.seconds(),
                   .version = kVersion,
                   .learning = work});
    return Json{{"episodes", result.episodes},
                {"resumed_episodes", result.resumed},
                {"steps", result.steps},
                {"mean_improvement_percent", result.mean_improvement_percent},
                {"best_improvement_percent", result.best_improvement_percent}}
        .dump();
  }

 private:
  std::string path(int shard) const { return directory_ + "/" + shard_name(shard); }

  std::string directory_;
  std::string text_;
  ShardMaker maker_;
  std::optional<RunDirectory> held_;
};

}  // namespace

void bind_collect(py::module_& module) {
  using Unlocked = py::call_guard<py::gil_scoped_release>;
  module.def(
      "collect_settings",
      [] {
        CollectConfig config;
        std::vector<std::string> keys;
        for (const KnownSetting& one : known_settings(ConfigFields(config), ""))
          keys.push_back(one.key);
        return keys;
      },
      "Keys of the settings of a collection.");

  py::class_<ShardMaker>(module, "ShardMaker", "Makes shards of a collection.")
      .def(py::init<const std::string&, const std::string&>(), py::arg("config"),
           py::arg("directory"), Unlocked())
      .def(
          "make",
          [](const ShardMaker& maker, int shard) {
            std::string bytes;
            {
              const py::gil_scoped_release release;
              bytes = maker.bytes(shard);
            }
            return py::bytes(bytes);
          },
          py::arg("shard"));

  py::class_<Collection>(module, "Collection", "A collection under way, in its directory.")
      .def(py::init<const std::string&, const std::vector<Setting>&, const std::vector<Setting>&,
                    uint64_t, std::string, bool>(),
           py::arg("kind"), py::arg("environment"), py::arg("collection"), py::arg("seed"),
           py::arg("directory"), py::arg("resume"), Unlocked())
      .def_property_readonly("config", &Collection::text)
      .def_property_readonly("warnings", &Collection::warnings)
      .def("missing", &Collection::missing)
      .def("release", &Collection::release)
      .def(
          "write",
          [](const Collection& one, int shard, const py::bytes& bytes) {
            one.write(shard, std::string(bytes));
          },
          py::arg("shard"), py::arg("content"))
      .def("finish", &Collection::finish, py::arg("workers"), Unlocked());
}

}  // namespace reverie::python
