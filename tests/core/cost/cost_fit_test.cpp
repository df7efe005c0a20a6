#include "core/cost/cost_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/random.h"
#include "core/cost/fitted.h"
#include "core/cost/measured.h"
#include "core/hdf5/hdf5.h"
#include "core/hdf5/seal.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

/// A chain of each operator on its own input, so often.
Graph chains(const std::vector<std::pair<std::string, int>>& operators, int64_t size = 1 << 15) {
  Graph graph;
  for (const auto& [op, count] : operators) {
    ValueId value = graph.add_input("x" + op, {DType::kFloat32, {size}});
    for (int i = 0; i < count; ++i) value = graph.add(op, {value});
    graph.add_output("y" + op, value);
  }
  return graph;
}

std::vector<OpSignature> signatures_of(const Graph& graph) {
  std::vector<OpSignature> signatures;
  for (const SignatureCount& entry : count_signatures(graph)) signatures.push_back(entry.signature);
  return signatures;
}

std::vector<OpSignature> seen() {
  return signatures_of(chains({{"Tanh", 1}, {"Exp", 1}, {"Sqrt", 1}, {"Flatten", 1}}));
}
/// Another shape of an operator that was measured, and an operator that was not.
std::vector<OpSignature> unseen() {
  auto signatures = signatures_of(chains({{"Tanh", 1}}, 1 << 18));
  for (const OpSignature& other : signatures_of(chains({{"Log", 1}}))) signatures.push_back(other);
  return signatures;
}

/// Times that no sum of the prior explains.
std::shared_ptr<FittedCost> fitted(const std::string& prior = "roofline:cpu") {
  Rng rng(3);
  std::vector<TimedGraph> timed;
  for (int i = 1; i <= 12; ++i) {
    const Graph graph =
        chains({{"Tanh", i % 4 + 1}, {"Exp", i % 3}, {"Sqrt", i % 5}, {"Flatten", 1}});
    timed.push_back({count_signatures(graph), 1e-4 * (1 + i % 4 * 2.7 + rng.uniform()), 3e-6});
  }
  return fitted_cost(make_cost_model(prior), timed);
}

CostFit complete(CostFit fit) {
  fit.device = "a device";
  fit.library = "a library";
  fit.model = "chains";
  fit.measurements = 15;
  return fit;
}

class CostFitTest : public ::testing::Test {
 protected:
  void expect_refused(const std::string& content, const std::string& reason) {
    write_file(path_, content);
    try {
      make_cost_model("fitted:" + path_);
      ADD_FAILURE() << "what should be refused was read";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path_));
      EXPECT_THAT(error.what(), HasSubstr(reason));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "costs.fit.h5";
};

TEST_F(CostFitTest, SurvivesTheFile) {
  const CostFit fit = complete(fitted()->fit());
  EXPECT_EQ(fit.prior, "roofline:cpu");
  EXPECT_EQ(fit.seconds.size(), 12u);
  EXPECT_EQ(fit.signatures.size(), 4u);
  write_cost_fit(path_, fit);
  EXPECT_EQ(read_cost_fit(path_), fit);
  EXPECT_TRUE(is_cost_fit(path_));
  EXPECT_FALSE(is_cost_fit(directory_ / "absent"));
  write_cost_fit(directory_ / "again", fit);
  EXPECT_EQ(read_file(path_), read_file(directory_ / "again"));
}

TEST_F(CostFitTest, PredictsToTheLastBit) {
  const auto fit = fitted();
  write_cost_fit(path_, complete(fit->fit()));
  const auto read = make_cost_model("fitted:" + path_);
  bool learned = false;
  for (const auto& signatures : {seen(), unseen()})
    for (const OpSignature& signature : signatures) {
      const Cost cost = fit->cost(signature);
      EXPECT_EQ(read->cost(signature), cost) << signature.text();
      const double scaled =
          fit->scale() * make_cost_model("roofline:cpu")->cost(signature).runtime.seconds();
      learned |= std::abs(cost.runtime.seconds() - scaled) > 0.05 * scaled;
    }
  EXPECT_TRUE(learned);  // else the scaled prior would do
}

TEST_F(CostFitTest, WhatWasMeasuredDoesNotDependOnThePriorOfTheDay) {
  CostFit fit = fitted()->fit();
  const Cost cost = fitted()->cost(seen()[0]);
  fit.prior = "roofline:t4";  // as if its profile had been changed
  write_cost_fit(path_, fit);
  EXPECT_EQ(make_cost_model("fitted:" + path_)->cost(seen()[0]), cost);
}

TEST_F(CostFitTest, SaysThatItIsAnEstimateAndCountsWhatItNeverMeasured) {
  write_cost_fit(path_, complete(fitted()->fit()));
  const auto read = make_cost_model("fitted:" + path_);
  EXPECT_EQ(read->name(), "fitted:" + path_);
  EXPECT_EQ(read->source(), CostSource::kEstimated);
  EXPECT_TRUE(read->deterministic());
  for (int times = 0; times < 2; ++times)
    for (const OpSignature& signature : seen())
      EXPECT_EQ(estimated_share(read->cost(signature)), 0);
  EXPECT_EQ(read->counters().estimates, 0);
  EXPECT_EQ(read->counters().operators, 3);  // Flatten only renames
  for (const OpSignature& signature : unseen())
    EXPECT_EQ(estimated_share(read->cost(signature)), 1);
  const CostModel::Counters counters = read->counters();
  EXPECT_EQ(counters.estimates, 2);
  EXPECT_EQ(counters.operators, 5);
  EXPECT_EQ(counters.lookups, 10);
  EXPECT_EQ(counters.measurements, 0);
}

TEST_F(CostFitTest, DamageIsRefusedInOneLine) {
  write_cost_fit(path_, complete(fitted()->fit()));
  const std::string whole = read_file(path_);
  Rng rng(1);
  for (int i = 0; i < 100; ++i) {
    std::string damaged = whole;
    const size_t at = rng.below(i < 60 ? damaged.size() : 100);
    damaged[at] ^= static_cast<char>(1 << rng.below(8));
    expect_refused(damaged, "");
  }
  for (const double share : {0.0, 0.1, 0.9, 0.999})
    expect_refused(whole.substr(0, static_cast<size_t>(share * static_cast<double>(whole.size()))),
                   "");
  EXPECT_THROW(make_cost_model("fitted:" + (directory_ / "absent")), InputError);
}

std::string sealed_as_fit(int schema, hdf5::Writer& writer) {
  const hdf5::FileKind kind{"reverie cost fit", "file of fitted costs", schema, "fit again",
                            "fit again"};
  return hdf5::sealed(kind, writer.finish());
}

TEST_F(CostFitTest, OtherVersionsAndContentsAreNamed) {
  hdf5::Writer next, empty;
  expect_refused(sealed_as_fit(kCostFitSchema + 1, next), "has schema version 2");
  expect_refused(sealed_as_fit(kCostFitSchema, empty), "data set prior: is missing");
  CostFit fit = complete(fitted()->fit());
  fit.weights.erase("launch");
  write_cost_fit(path_, fit);
  expect_refused(read_file(path_), "data set features: 'launch' is missing");
  fit = complete(fitted()->fit());
  fit.deviations.pop_back();
  write_cost_fit(path_, fit);
  expect_refused(read_file(path_), "data set graph_deviations: has 11 elements where 12");
  fit = complete(fitted()->fit());
  fit.prior = "roofline:abacus";
  write_cost_fit(path_, fit);
  expect_refused(read_file(path_), "no device 'abacus'");
}

TEST_F(CostFitTest, AFileThatIsItsOwnPriorIsRefused) {
  CostFit fit = complete(fitted()->fit());
  fit.prior = "fitted:" + path_;
  write_cost_fit(path_, fit);
  expect_refused(read_file(path_), "data set prior: is itself");
}

TEST_F(CostFitTest, OnlyWhatAFileCanPredictMayBeFitted) {
  EXPECT_NO_THROW(check_prior_of_fit(*make_cost_model("roofline:t4")));
  write_cost_fit(path_, complete(fitted()->fit()));
  EXPECT_THROW(check_prior_of_fit(*make_cost_model("fitted:" + path_)), InputError);
  MeasureOptions in_memory;
  in_memory.directory.clear();
  try {
    check_prior_of_fit(*make_measured_cost_model(in_memory));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'cpu', which measures"));
  }
}

TEST_F(CostFitTest, DescribesWhatWasMeasuredAndWhere) {
  const std::string text = describe(complete(fitted()->fit()));
  for (const char* part : {"15 measurements of 12 graphs, rewrites of chains", "a device",
                           "a library", "roofline:cpu, scaled by", "Tanh(float32 32768)"})
    EXPECT_THAT(text, HasSubstr(part));
}

}  // namespace
}  // namespace reverie
