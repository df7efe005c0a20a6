#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/models/models.h"
#include "core/onnx/export.h"
#include "env/kind.h"
#include "env/solver.h"
#include "tests/env/adapt/tables.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

class UsualSolvers : public ::testing::TestWithParam<const EnvironmentKind*> {
 protected:
  UsualSolvers() {
    EnvironmentConfig config;
    config.kind = kind().name();
    if (!kind().inputs().empty()) config.inputs = {input()};
    tasks_ = kind().tasks(config, {}, {});
  }
  static const EnvironmentKind& kind() { return *GetParam(); }
  static std::string name() { return std::string(kind().name()); }
  const Task& task() const { return *tasks_->tasks().front(); }

  TemporaryDirectory directory_;
  std::unique_ptr<Tasks> tasks_;

 private:
  /// One that the kind takes.
  std::string input() const {
    if (name() == "placement") return "generate:layers:100:1";
    if (name() == "adapt") {
      write_table(directory_ / "table.json", testing::made_up_table({}));
      return directory_ / "table.json";
    }
    EXPECT_EQ(name(), "rewrite") << "a new kind needs an input here";
    export_onnx(build_model("squeezenet1_1", {.image = 32, .width = 0.125}), {},
                directory_ / "tiny.onnx");
    return directory_ / "tiny.onnx";
  }
};

TEST_P(UsualSolvers, AreThereAndSuit) {
  const std::vector<std::string> names = tasks_->usual_solvers();
  EXPECT_FALSE(names.empty());
  int suited = 0;
  for (const ChosenSolver& chosen : chosen_solvers(names, name()))
    suited += chosen.solver->unsuited(task()).empty();
  EXPECT_GT(suited, 0);
  EXPECT_EQ(tasks_->spec().name, name()) << "by which they are looked up";
}

TEST_P(UsualSolvers, SayWhatTheyFoundAndSearchesAreNoWorseThanTheStart) {
  const auto environment = task().environment();
  environment->reset(0);
  const EnvSpec& spec = environment->spec();
  const StepInfo start = environment->info();
  const SolverSettings settings(name());
  for (const ChosenSolver& chosen : chosen_solvers(tasks_->usual_solvers(), name())) {
    const Solver& solver = *chosen.solver;
    if (!solver.unsuited(task()).empty()) continue;
    const Result result = solver.run(task(), {.budget = 3, .seed = 1}, settings);
    if (start.feasible && dynamic_cast<const SearchSolver*>(&solver) != nullptr) {
      EXPECT_FALSE(spec.better(start.best, result.best)) << solver.name();
    }
    EXPECT_EQ(result.metrics.size(), spec.metrics.size()) << solver.name();
    EXPECT_EQ(result.metrics[static_cast<size_t>(spec.objective)], result.best) << solver.name();
    ASSERT_FALSE(result.trace.empty()) << solver.name();
    EXPECT_EQ(result.trace.back().best, result.best) << solver.name();
  }
}

INSTANTIATE_TEST_SUITE_P(EveryKind, UsualSolvers, ::testing::ValuesIn(environment_kinds()),
                         [](const auto& kind) { return std::string(kind.param->name()); });

}  // namespace
}  // namespace reverie
