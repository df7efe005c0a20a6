#include "core/cost/profile.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "tests/core/exec/operator_cases.h"
#include "tests/support/host_device.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;
using testing::HostDevice;
using testing::operator_cases;

std::map<std::string, OpSignature> operators_of(const std::vector<std::string>& texts) {
  std::map<std::string, OpSignature> operators;
  for (const std::string& text : texts) operators.emplace(text, parse_signature(text));
  return operators;
}

const std::vector<std::string> kThree = {"Relu(float32 8x32)", "Sigmoid(float32 8)",
                                         "Softmax(float32 4x4) {axis=1}"};

ProfileOptions on(std::shared_ptr<HostDevice> device, const std::string& table) {
  ProfileOptions options;
  options.measure.timing = {.warm_up_seconds = 0, .min_samples = 5, .max_seconds = 0};
  options.measure.machine = device_machine("host", "t4", std::move(device));
  options.measure.table = table;
  return options;
}

TEST(Profile, GoesOnWhereItWasStopped) {
  const TemporaryDirectory directory;
  const std::string table = directory / "costs.h5";
  const auto device = std::make_shared<HostDevice>();
  ProfileOptions options = on(device, table);
  options.on_progress = [&](int64_t done) {
    if (done == 2) options.stop.request();
  };
  const ProfileResult first = profile_operators(operators_of(kThree), options);
  EXPECT_FALSE(first.complete);
  EXPECT_EQ(first.measured, 2);
  EXPECT_EQ(read_cost_table(table).entries.size(), 2u);

  const int launches = device->launches;
  const ProfileResult second = profile_operators(operators_of(kThree), on(device, table));
  EXPECT_TRUE(second.complete);
  EXPECT_EQ(second.known, 2);
  EXPECT_EQ(second.measured, 1);
  EXPECT_GT(device->launches, launches);
  EXPECT_EQ(read_cost_table(table).entries.size(), 3u);
  EXPECT_EQ(make_table_cost_model(table)->cost(parse_signature(kThree[0])).runtime,
            Picoseconds::from_seconds(1e-6));
}

TEST(Profile, SaysWhatCannotBeMeasuredAndWhy) {
  const TemporaryDirectory directory;
  const auto device = std::make_shared<HostDevice>();
  device->refuses = [](const device::Call& call) {
    return std::holds_alternative<device::Softmax>(call);
  };
  const ProfileResult result =
      profile_operators(operators_of(kThree), on(device, directory / "costs.h5"));
  EXPECT_EQ(result.measured, 2);
  EXPECT_EQ(result.unmeasured, 1);
  EXPECT_TRUE(result.complete);
  ASSERT_EQ(result.reasons.size(), 1u);
  EXPECT_EQ(result.reasons[0].signature, kThree[2]);
  EXPECT_EQ(result.reasons[0].reason, "host has no kernel for Softmax");
}

TEST(Profile, ATableOfAnotherDeviceIsLeftAlone) {
  const TemporaryDirectory directory;
  const std::string table = directory / "costs.h5";
  profile_operators(operators_of(kThree), on(std::make_shared<HostDevice>(), table));
  const auto other = std::make_shared<HostDevice>(device::Precision::kFloat16);
  try {
    profile_operators(operators_of(kThree), on(other, table));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("was measured on host device, fp32"));
  }
}

/// Every operator of the executors' conformance cases.
TEST(Profile, ListsAreReadAsTheyWereWritten) {
  std::map<std::string, OpSignature> operators;
  for (const auto& one : operator_cases())
    for (const NodeId node : one.graph.nodes()) {
      if (!one.graph.is_work(node)) continue;
      OpSignature signature = signature_of(one.graph, node);
      operators.emplace(signature.text(), std::move(signature));
    }
  EXPECT_GT(operators.size(), 100u);
  const auto read = parse_signature_list("# a comment\n\n" + signature_list(operators));
  ASSERT_EQ(read.size(), operators.size());
  for (const auto& [text, signature] : read) EXPECT_EQ(signature, operators.at(text)) << text;
}

TEST(Profile, AWrongLineIsNamed) {
  for (const char* wrong : {"Relu", "Relu(", "NoSuch(float32 8)", "Relu(float32 8) {x=1}",
                            "Relu(float99 8)", "Relu(float32 8) 7", "Add(float32 8, float32 7)"})
    try {
      parse_signature_list(std::string("Relu(float32 8)\n") + wrong);
      ADD_FAILURE() << wrong;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("line 2: ")) << wrong;
    }
}

}  // namespace
}  // namespace reverie
