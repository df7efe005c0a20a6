#include "env/solver.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "env/toy/knapsack_environment.h"
#include "tests/support/row_of_digits.h"

namespace reverie {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::RowOfDigits;

std::vector<std::string> names_for(const std::string& environment) {
  std::vector<std::string> names;
  for (const Solver* solver : solvers_for(environment)) names.push_back(solver->name());
  return names;
}

template <class Use>
std::string refusal(Use use) {
  try {
    use();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

/// Whether the settings suit a run of these.
std::string refusal_of(const SolverSettings& settings, const std::vector<std::string>& names) {
  std::vector<const Solver*> used;
  for (const std::string& name : names) used.push_back(&solver_named(name, "knapsack"));
  return refusal([&] { settings.require_read_by(used, "this run"); });
}

SearchOutcome solve_row(const std::string& name, const SolverSettings& settings,
                        std::vector<int> digits) {
  const auto& solver = dynamic_cast<const SearchSolver&>(solver_named(name, "knapsack"));
  return solve(std::make_shared<RowOfDigits>(std::move(digits)), {}, solver.search(settings));
}

TEST(Solvers, LinkingDropsNone) {
  const std::vector<std::string> general = {"greedy", "taso",      "taso_published", "beam",
                                            "mcts",   "annealing", "exhaustive",     "random"};
  for (const std::string environment : {"knapsack", "toy", "rewrite", "placement", "adapt"})
    EXPECT_THAT(names_for(environment), IsSupersetOf(general)) << environment;
  const std::vector<std::string> rewriting = {"rulelist", "saturation_greedy", "saturation_ilp"};
  EXPECT_THAT(names_for("rewrite"), IsSupersetOf(rewriting));
  for (const std::string& name : rewriting)
    EXPECT_THAT(names_for("knapsack"), Not(::testing::Contains(name)));
}

TEST(Solvers, AreInTheOrderOfTheirNamesAndEachHasOne) {
  for (const std::string environment : {"knapsack", "rewrite"}) {
    const std::vector<std::string> names = names_for(environment);
    EXPECT_TRUE(std::ranges::is_sorted(names));
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
    for (const std::string& name : names) {
      EXPECT_EQ(solver_named(name, environment).name(), name);
      EXPECT_NE(solver_named(name, environment).what(), "");
    }
  }
  EXPECT_THAT(refusal([] { solver_named("softmax", "toy"); }),
              AllOf(HasSubstr("'softmax'"), HasSubstr("annealing, beam")));
  EXPECT_THROW(solver_named("rulelist", "toy"), InputError);
}

TEST(Solvers, OneOfItsOwnReplacesAGeneralOneOfTheSameName) {
  register_solver<AlgorithmSolver<search::Taso>>(
      SearchText{.name = "greedy", .what = "its own", .environment = "elsewhere"});
  EXPECT_EQ(solver_named("greedy", "elsewhere").what(), "its own");
  EXPECT_NE(solver_named("greedy", "toy").what(), "its own");
  EXPECT_EQ(std::ranges::count(names_for("elsewhere"), "greedy"), 1);
}

TEST(SolverSettings, AreGivenToTheSolver) {
  SolverSettings settings("knapsack");
  EXPECT_EQ(solve_row("taso", settings, {0}).best.cost, 10) << "no such rise is allowed";
  ConfigFields(settings).set("taso.alpha=2");
  EXPECT_EQ(solve_row("taso", settings, {0}).best.cost, RowOfDigits::kLeast);
}

TEST(SolverSettings, TasoAndTasoAsPublishedShareASection) {
  SolverSettings settings("knapsack");
  settings.of<search::Taso>("taso").alpha = 100;
  const SearchOutcome once = solve_row("taso", settings, {0, 0, 0});
  const SearchOutcome often = solve_row("taso_published", settings, {0, 0, 0});
  EXPECT_LT(once.best.cost, 30);
  EXPECT_LT(often.best.cost, 30);
  EXPECT_GT(once.duplicates, 0);
  EXPECT_EQ(often.duplicates, 0) << "each time anew";
  EXPECT_FALSE(settings.of<search::Taso>("taso").published) << "the solver alone makes it so";
}

TEST(SolverSettings, RefuseAnOptionThatNoneReadsAndSayWhoWould) {
  SolverSettings settings("knapsack");
  EXPECT_EQ(refusal_of(settings, {"greedy"}), "accepted");
  EXPECT_EQ(refusal_of(settings, {}), "accepted");
  settings.of<search::Beam>("beam").width = 3;
  EXPECT_EQ(refusal_of(settings, {"beam"}), "accepted");
  EXPECT_EQ(refusal_of(settings, {"greedy", "beam"}), "accepted");
  EXPECT_THAT(refusal_of(settings, {"greedy", "taso"}),
              AllOf(HasSubstr("beam.width"), HasSubstr("option of beam,"), HasSubstr("this run")));
  settings = SolverSettings("knapsack");
  settings.of<search::Taso>("taso").alpha = 2;
  EXPECT_EQ(refusal_of(settings, {"taso_published"}), "accepted") << "reads it too";
  EXPECT_THAT(refusal_of(settings, {"beam"}),
              HasSubstr("taso.alpha is an option of taso and taso_published,"));
}

TEST(SolverSettings, AreThoseOfTheEnvironment) {
  SolverSettings toy("toy"), rewrite("rewrite");
  EXPECT_FALSE(ConfigFields(toy).has("saturation.rounds"));
  EXPECT_TRUE(ConfigFields(rewrite).has("saturation.rounds"));
}

TEST(SolverSettings, CopiesAreIndependent) {
  SolverSettings one("knapsack");
  SolverSettings copy = one;
  one.of<search::Beam>("beam").width = 3;
  EXPECT_EQ(refusal_of(copy, {"greedy"}), "accepted");
  EXPECT_NE(copy.of<search::Beam>("beam").width, 3);
  copy = one;
  EXPECT_EQ(copy.of<search::Beam>("beam").width, 3);
  EXPECT_THAT(refusal_of(copy, {"greedy"}), HasSubstr("beam.width"));
}

TEST(ChosenSolvers, AreNamesWithOrWithoutABudget) {
  const auto chosen = chosen_solvers({"taso:50", "taso", "greedy", "annealing"}, "toy");
  ASSERT_EQ(chosen.size(), 4u);
  EXPECT_EQ(chosen[0].solver, &solver_named("taso", "toy"));
  EXPECT_EQ(chosen[0].budget, 50);
  EXPECT_EQ(chosen[1].solver, chosen[0].solver);
  EXPECT_EQ(chosen[1].budget, chosen[0].solver->usual_budget());
  EXPECT_EQ(chosen[2].solver->name(), "greedy");
  EXPECT_EQ(chosen[2].budget, 0) << "as long as it may";
  EXPECT_EQ(chosen[3].budget, 10);
  EXPECT_TRUE(chosen_solvers({}, "toy").empty());
}

TEST(ChosenSolvers, RefuseRubbish) {
  const auto refusal_of_text = [](const std::string& text) {
    return refusal([&] { chosen_solvers({"greedy", text}, "toy"); });
  };
  for (const std::string text : {"taso:0", "taso:-1", "taso:x", "taso:", "taso:5x", "taso:5:6",
                                 "taso:1e99", "taso:99999999999999999999"})
    EXPECT_THAT(refusal_of_text(text), HasSubstr(text + ":")) << "says where";
  for (const std::string text : {"", ":5", "tasso", "tasso:5", "rulelist"})
    EXPECT_THAT(refusal_of_text(text), HasSubstr("known are")) << text;
  EXPECT_THAT(refusal_of_text("greedy:5"),
              AllOf(HasSubstr("greedy:5"), HasSubstr("counts nothing")));
}

/// With a start state that has no Problem.
class Unsearchable : public Task {
 public:
  std::unique_ptr<Environment> environment() const override {
    return std::make_unique<KnapsackEnvironment>(KnapsackConfig());
  }
  bool has_problem() const override { return false; }
};

TEST(SearchSolvers, SuitWhatHasAProblem) {
  const Solver& greedy = solver_named("greedy", "knapsack");
  const Unsearchable task;
  EXPECT_THAT(greedy.unsuited(task), HasSubstr("needs"));
  EXPECT_THAT(refusal([&] { greedy.run(task, {}, SolverSettings("knapsack")); }),
              HasSubstr("greedy needs"));
  const auto tasks = plain_tasks(std::make_unique<KnapsackEnvironment>(KnapsackConfig()), {});
  EXPECT_EQ(greedy.unsuited(*tasks->tasks()[0]), "");
}

TEST(SearchSolvers, FindTheBestBagWithinTheirBudget) {
  const KnapsackEnvironment knapsack{KnapsackConfig()};
  const auto tasks = plain_tasks(std::make_unique<KnapsackEnvironment>(KnapsackConfig()), {});
  const Solver& beam = solver_named("beam", "knapsack");
  for (size_t start = 0; start < tasks->tasks().size(); ++start) {
    const Task& task = *tasks->tasks()[start];
    SolverSettings settings("knapsack");
    settings.of<search::Beam>("beam").width = 1000;
    const Result result = beam.run(task, {.budget = 100000}, settings);
    EXPECT_EQ(result.best, knapsack.optimal_value(static_cast<int>(start)));
    ASSERT_FALSE(result.metrics.empty());
    EXPECT_EQ(result.metrics[0], result.best);
    EXPECT_LT(beam.run(task, {.budget = 1}, settings).candidates, result.candidates);
  }
}

}  // namespace
}  // namespace reverie
