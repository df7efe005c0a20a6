#include "core/cost/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/random.h"
#include "core/cost/roofline.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::HasSubstr;

OpSignature relu_of(int64_t n, const char* op = "Relu") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {n}});
  return signature_of(graph, graph.producer(graph.add(op, {x})));
}

TableEntry entry_of(const OpSignature& signature, int64_t runtime) {
  return {.runtime = {runtime},
          .spread = 0.01,
          .repeats = 9,
          .estimate = roofline_time(device_profile("t4"), signature),
          .flops = signature.outputs[0].elements(),
          .bytes = 2 * signature.outputs[0].bytes(),
          .launches = 1};
}

CostTable small_table() {
  CostTable table{.device = "a device",
                  .library = "a library 1.2",
                  .driver = "a driver 3",
                  .profile = "t4",
                  .lowest_clock_mhz = 345,
                  .highest_clock_mhz = 1980};
  for (const int64_t n : {1000, 100'000, 10'000'000})
    table.entries[relu_of(n).text()] = entry_of(relu_of(n), 1000 * n);
  return table;
}

/// Which inputs are constant is known of the first 32.
TEST(OpSignature, OfManyInputsReadsBack) {
  Graph graph;
  std::vector<ValueId> inputs = {graph.add_constant(Weight::fill({DType::kFloat32, {1}}, 1, "w"))};
  for (int i = 1; i < 40; ++i)
    inputs.push_back(graph.add_input(fmt::format("x{}", i), {DType::kFloat32, {1}}));
  const NodeId node = graph.add_node(op_named("Concat"), inputs, {{"axis", int64_t{0}}});
  const OpSignature signature = signature_of(graph, node);
  const std::string text = signature.text();
  EXPECT_EQ(text.find("const "), text.rfind("const ")) << text;
  EXPECT_EQ(parse_signature(text), signature);
}

TEST(CostTable, SurvivesTheFile) {
  const TemporaryDirectory directory;
  const CostTable table = small_table();
  write_cost_table(directory / "a.h5", table);
  EXPECT_EQ(read_cost_table(directory / "a.h5"), table);
  EXPECT_TRUE(is_cost_table(directory / "a.h5"));
  write_cost_table(directory / "b.h5", table);
  EXPECT_EQ(read_file(directory / "a.h5"), read_file(directory / "b.h5"));
  write_cost_table(directory / "empty.h5", CostTable{"", "", "cpu", {}});
  EXPECT_TRUE(read_cost_table(directory / "empty.h5").entries.empty());
}

TEST(CostTable, DamageIsRefusedInOneLine) {
  const TemporaryDirectory directory;
  const std::string path = directory / "table.h5";
  write_cost_table(path, small_table());
  const std::string whole = read_file(path);
  const auto expect_refused = [&](const std::string& content) {
    write_file(path, content);
    try {
      read_cost_table(path);
      ADD_FAILURE() << "a damaged table was read";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  };
  Rng rng(1);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = whole;
    const size_t at = rng.below(i < 200 ? damaged.size() : 100);  // also often in the seal's text
    damaged[at] ^= static_cast<char>(1 << rng.below(8));
    expect_refused(damaged);
  }
  for (const double share : {0.0, 0.1, 0.5, 0.9, 0.999}) {
    expect_refused(whole.substr(0, static_cast<size_t>(share * static_cast<double>(whole.size()))));
  }
  EXPECT_FALSE(is_cost_table(directory / "absent.h5"));
  EXPECT_THROW(read_cost_table(directory / "absent.h5"), InputError);
}

TEST(CostTable, TheFirstVersionIsNamedAndRefused) {
  const TemporaryDirectory directory;
  std::string first = "reverie cost table\nversion 1\nbytes 4096\nchecksum 0123456789abcdef\n";
  first.resize(4096);
  write_file(directory / "old.h5", first);
  try {
    read_cost_table(directory / "old.h5");
    ADD_FAILURE() << "a table of the first version was read";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("old.h5: has schema version 1, this program reads"));
    EXPECT_THAT(error.what(), HasSubstr("measure again"));
  }
}

TEST(CostTable, CostsAreThoseRecorded) {
  const TemporaryDirectory directory;
  write_cost_table(directory / "t.h5", small_table());
  const auto model = make_cost_model("table:" + directory / "t.h5");
  EXPECT_EQ(model->cost(relu_of(100'000)),
            (Cost{.runtime = {100'000'000}, .flops = 100'000, .bytes = 800'000, .launches = 1}));
  EXPECT_EQ(model->counters().estimates, 0);
  EXPECT_EQ(model->counters().measurements, 0);
  EXPECT_EQ(model->source(), CostSource::kRecorded);
}

TEST(CostTable, WhatIsMissingIsScaledFromTheNearestAndCounted) {
  const TemporaryDirectory directory;
  write_cost_table(directory / "t.h5", small_table());
  const auto model = make_table_cost_model(directory / "t.h5");
  const DeviceProfile& t4 = device_profile("t4");
  const double ratio = static_cast<double>(roofline_time(t4, relu_of(20'000'000)).count) /
                       static_cast<double>(roofline_time(t4, relu_of(10'000'000)).count);
  EXPECT_NEAR(static_cast<double>(model->cost(relu_of(20'000'000)).runtime.count), 1e10 * ratio, 2);
  EXPECT_EQ(model->counters().estimates, 1);
  model->cost(relu_of(20'000'000));
  EXPECT_EQ(model->counters().estimates, 1);
  const Cost estimate = model->cost(relu_of(20'000'000)), known = model->cost(relu_of(100'000));
  EXPECT_EQ(estimate.estimated, estimate.runtime);
  EXPECT_EQ(estimated_share(known), 0);
  EXPECT_DOUBLE_EQ(estimated_share(estimate + known),
                   estimate.runtime.seconds() / (estimate + known).runtime.seconds());
  EXPECT_EQ(estimated_share(estimate + known - estimate), 0);
  EXPECT_EQ(estimated_share(Cost{}), 0);
  // Tanh was never measured: its estimate times the median ratio, which is that of 100,000.
  const double typical = 1e8 / static_cast<double>(roofline_time(t4, relu_of(100'000)).count);
  EXPECT_NEAR(static_cast<double>(model->cost(relu_of(1000, "Tanh")).runtime.count),
              typical * static_cast<double>(roofline_time(t4, relu_of(1000, "Tanh")).count), 2);
  EXPECT_EQ(model->counters().estimates, 2);
}

TEST(CostTable, IsDescribed) {
  const std::string text = describe(small_table());
  EXPECT_THAT(text, HasSubstr("3 operators"));
  EXPECT_THAT(text, HasSubstr("a library 1.2"));
  EXPECT_THAT(text, HasSubstr("Relu(float32 10000000)"));
}

}  // namespace
}  // namespace reverie
