#include "env/adapt/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Network two_blocks() {
  return parse_network(
      "image: [1, 8, 8]\nblocks:\n  - {conv: 4, name: a}\n  - {conv: 4, name: b}\n"
      "  - {global_pool: true, name: mean}\n  - {linear: 2, name: <end>}\n",
      "two blocks");
}

/// Grows at `a`, goes back as processors leave, and grows at `b`.
RunReport report_of_a_run_that_shrinks() {
  RunReport report;
  report.scenario = "small & quick";
  report.method = "early";
  report.seed = 7;
  report.budget = "4 epochs of the starting network";
  report.final_epochs = 2;
  JobState state;
  state.network = two_blocks();
  const auto train = [&](double accuracy, double spent) {
    state.curve.push_back({accuracy, accuracy + 0.05, 1 - accuracy, spent});
    state.spent = spent;
  };
  train(0.5, 0.25);
  report.stops.push_back(state);
  state.decisions.push_back(ChangeAtRate{ChangeKind::kDeepen, 0, 0.01});
  train(0.6, 0.5);
  report.stops.push_back(state);
  state.decisions.push_back(ChangeAtRate{ChangeKind::kWiden, 1, 0.003});
  state.network = adapt::changed(two_blocks(), {ChangeKind::kWiden, 1});
  train(0.7, 0.75);
  train(0.8, 1);
  state.over = true;
  report.stops.push_back(state);
  report.onnx = {32, 2e-7};
  return report;
}

TEST(RunReport, NamesDecisionsThoughTheNetworkWentBack) {
  RunReport report = report_of_a_run_that_shrinks();
  EXPECT_THAT(report.decisions(), ElementsAre("deepen a at 0.01", "widen b at 0.003"));
  report.rates = false;
  EXPECT_THAT(report.decisions(), ElementsAre("deepen a", "widen b"));
  EXPECT_NEAR(report.accuracy(), 0.75, 1e-12);
}

TEST(RunReport, ItsFilesSayWhatWasTrained) {
  const TemporaryDirectory folder;
  write_report(report_of_a_run_that_shrinks(), folder.path());
  const Json json = Json::parse(read_file(folder / "report.json"));
  EXPECT_EQ(json.at("curve").array().size(), 4u);
  EXPECT_EQ(json.at("decisions").array()[1].at("after_epoch").get<int>(), 2);
  EXPECT_EQ(json.at("decisions").array()[1].at("spent").get<double>(), 0.5);
  EXPECT_EQ(json.at("start").at("parameters").get<int64_t>(), two_blocks().parameters());
  EXPECT_GT(json.at("end").at("multiply_adds").get<int64_t>(),
            json.at("start").at("multiply_adds").get<int64_t>());
  EXPECT_NEAR(json.at("onnx").at("max_relative_error").get<double>(), 2e-7, 1e-12);
  EXPECT_THAT(read_file(folder / "report.md"),
              ::testing::AllOf(HasSubstr("Accuracy 75.00 %, the mean of the last 2 of 4 epochs"),
                               HasSubstr("| widen b at 0.003 | 2 | 50.00 |"),
                               HasSubstr("| 4 | 100.00 | 80.00 | 85.00 | 0.2000 |"),
                               HasSubstr("relative error is 2.0e-07 (1e-04 is allowed)")));
  const std::string page = read_file(folder / "report.html");
  EXPECT_THAT(page, ::testing::AllOf(HasSubstr("<svg"), HasSubstr("deepen a at 0.01"),
                                     HasSubstr("small &amp; quick"), HasSubstr("</html>")));
  EXPECT_EQ(page.find("src="), std::string::npos) << "it needs another file";
}

}  // namespace
}  // namespace reverie
