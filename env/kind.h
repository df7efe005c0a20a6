#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/config_sections.h"
#include "env/environment.h"
#include "env/task.h"

namespace reverie {

/// Sections of a configuration by kind.
struct KindSections {
  ConfigSections sections;

  /// The section of the kind that C::kKind names.
  template <class C>
  C& of() {
    return sections.of<C>(C::kKind);
  }
  template <class C>
  const C& of() const {
    return sections.of<C>(C::kKind);
  }
};

/// Which environment a run is about; the section "env" of every step's configuration. Each kind has
/// a section of its own.
struct EnvironmentConfig : KindSections {
  std::string kind = "rewrite";
  std::vector<std::string> inputs;
  int horizon = 0;

  EnvironmentConfig();

  template <class V>
  void fields(V& v) {
    v.field("kind", kind, "Which environment: " + kind_names());
    v.field("inputs", inputs, "Files that it begins from, such as ONNX models");
    v.field("horizon", horizon,
            "Steps after which an episode ends; 0: as many as the environment finds right",
            at_least(0));
    sections.fields(v);
  }

  /// "adapt, knapsack, ...".
  static std::string kind_names();
};

/// What an evaluation takes that only one kind knows; a kind that has need of it has a section of
/// its own.
struct TaskConfig : KindSections {
  TaskConfig();

  template <class V>
  void fields(V& v) {
    sections.fields(v);
  }
};

struct MadeEnvironment {
  std::unique_ptr<Environment> environment;
  std::vector<std::string> warnings;  ///< each one line for a person
};

/// An option of the command line that stands for a key of the configuration.
struct CommandOption {
  std::string flag;  ///< "--cost"
  std::string key;   ///< "env.rewrite.cost"
  std::string type;  ///< "FILE"
  std::string help;
  bool list = false;  ///< may be given several times
};

/// An environment as the registry knows it. A new one is a folder under env/ with a file kind.cpp
/// that registers it.
class EnvironmentKind {
 public:
  virtual ~EnvironmentKind() = default;
  virtual std::string_view name() const = 0;
  /// What its inputs are, for the command line; empty where it takes none.
  virtual std::string_view inputs() const { return ""; }
  virtual std::vector<CommandOption> options() const { return {}; }
  /// Adds its sections to the configurations, a struct with its name as kKind each.
  virtual void declare(ConfigSections& environment, ConfigSections& task) const = 0;

  /// InputError says which input or setting is wrong.
  virtual MadeEnvironment make(const EnvironmentConfig& config) const = 0;
  /// The same, its metrics and rewards by another source, such as a measuring one for validation.
  /// InputError where the environment knows no other.
  virtual MadeEnvironment make_by(const EnvironmentConfig& config, const std::string& source) const;
  /// The same transitions, rewards of `source`, which computes them: for known dynamics. The
  /// environment itself where `source` is empty. InputError where it has no other source of
  /// rewards, or `source` measures.
  virtual MadeEnvironment make_known(const EnvironmentConfig& config,
                                     const std::string& source) const;
  /// Start states to be solved, and what becomes of solutions. InputError as by `make`, and where
  /// results are to be measured and cannot be.
  virtual std::unique_ptr<Tasks> tasks(const EnvironmentConfig& config, const TaskConfig& how,
                                       const TaskPlan& plan) const;
  /// Where `measured_gain` measures, for a person: "cpu". Empty where the environment does not.
  virtual std::string measured_on(const EnvironmentConfig&, const std::string& /*source*/) const {
    return "";
  }
  /// Changes each file that its section names.
  virtual void change_files(
      EnvironmentConfig&, const std::function<std::string(const std::string&)>& /*change*/) const {}
};

/// All kinds, by name.
std::vector<const EnvironmentKind*> environment_kinds();
/// By its name; InputError lists the names.
const EnvironmentKind& environment_kind(const std::string& name);

/// Adds a kind for good, in a static initializer of its kind.cpp.
bool register_kind(std::unique_ptr<EnvironmentKind> kind);

/// Of YAML, as dump_config writes it; defaults where it is empty. InputError where a key is
/// unknown.
EnvironmentConfig environment_from(const std::string& yaml);

/// That of the configuration's kind.
MadeEnvironment make_environment(const EnvironmentConfig& config);

/// InputError where the configuration names inputs: the kind takes none.
void require_no_inputs(const EnvironmentConfig& config);

/// What a solver is called in names of files: "policy (greedy)" is "policy-greedy".
std::string file_word(const std::string& solver);

/// The file's name without directory and ending, made unique among those that are `taken`.
std::string graph_name(const std::string& path, const std::vector<std::string>& taken);

}  // namespace reverie
