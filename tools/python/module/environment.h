#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "env/kind.h"
#include "tools/python/module/action_numbers.h"
#include "tools/python/module/arrays.h"
#include "tools/python/module/settings.h"

namespace reverie::python {

/// An environment of a kind; `given`: its inputs and keys of its section.
EnvironmentConfig config_of(const std::string& kind, const std::vector<Setting>& given);

/// How an environment was made, and its tasks, which write what episodes end with.
class Origin {
 public:
  explicit Origin(EnvironmentConfig config) : config_(std::move(config)) {}
  /// Of a start state. Made when first asked for.
  const Task& task(int start);

 private:
  EnvironmentConfig config_;
  std::mutex mutex_;
  std::unique_ptr<Tasks> tasks_;
};

/// The best state of an episode.
class EpisodeSolution {
 public:
  EpisodeSolution(std::shared_ptr<Origin> origin, int start, const Environment& played);
  double objective() const { return objective_; }
  /// Verified, where the environment can; as JSON. InputError where nothing can be written.
  std::string save(const std::string& path) const;
  /// A chart as a file; empty where the environment draws none.
  std::string svg() const;

 private:
  const Task& task() const { return origin_->task(start_); }

  std::shared_ptr<Origin> origin_;
  int start_;
  double objective_;
  std::shared_ptr<const Solution> solution_;
};

/// An Environment as Python steps it: its actions are numbers, its states arrays.
class NumberedEnvironment {
 public:
  NumberedEnvironment(const std::string& kind, const std::vector<Setting>& settings,
                      int max_choices);
  NumberedEnvironment(const NumberedEnvironment& other);

  const std::shared_ptr<Origin>& origin() const { return origin_; }
  const Environment& environment() const { return *environment_; }
  const EnvSpec& spec() const { return environment_->spec(); }
  const std::vector<std::string>& warnings() const { return warnings_; }
  const ActionNumbers& numbers() const { return numbers_; }
  const ArrayLayout& layout() const { return layout_; }
  int entities() const { return entities_; }  ///< the most that a start state has
  int start() const { return start_; }

  /// Who follows an episode knows by these that one step leads from a state that he saw to this.
  struct Moment {
    uint64_t id = 0;      ///< of this state in this episode; forks share it until they step
    uint64_t before = 0;  ///< the id before the last step; 0 at a start state
    Action last = {};     ///< what that step took
    int steps = 0;        ///< of the episode so far
  };
  const Moment& moment() const { return moment_; }

  /// The most nodes and edges of a start state, twice: graphs may grow.
  void use_usual_sizes();
  void set_sizes(int max_nodes, int max_edges);

  void reset(uint64_t seed);
  struct Stepped {
    bool valid = true;
    StepResult result = {};  ///< nothing happened where the action is not valid
  };
  Stepped step(int64_t number);
  ActionMask mask() const { return environment_->mask(); }
  Observation observe() const { return environment_->observe(); }
  /// InputError where the mask does not allow it.
  Action action(int64_t number) const;
  int number(const Action& action) const;
  EpisodeSolution solution() const { return {origin_, start_, *environment_}; }

 private:
  std::shared_ptr<Origin> origin_;
  std::unique_ptr<Environment> environment_;
  std::vector<std::string> warnings_;
  int entities_;
  ActionNumbers numbers_;
  ArrayLayout layout_;
  int start_ = -1;  ///< none before the first reset
  Moment moment_;
};

void bind_environment(py::module_& module);

}  // namespace reverie::python
