#include "env/named_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/base/files.h"
#include "env/placement/placement_config.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// In a working directory of its own: models/m.onnx, and rollouts made from it.
class NamedFiles : public ::testing::Test {
 protected:
  NamedFiles() : before_(fs::current_path()) {
    create_directory(folder_ / "work/models");
    write_file(folder_ / "work/models/m.onnx", "a model");
    fs::current_path(folder_ / "work");
    config_.inputs = {"models/m.onnx"};
    config_.of<PlacementConfig>().devices = "2xv100-nvlink";
    kept_ = relative_to("rollouts", config_);
  }
  ~NamedFiles() override { fs::current_path(before_); }

  TemporaryDirectory folder_;
  fs::path before_;
  EnvironmentConfig config_, kept_;
};

TEST_F(NamedFiles, ArePathsFromTheFolderThatKeepsThem) {
  EXPECT_THAT(kept_.inputs, ElementsAre("../models/m.onnx"));
  EXPECT_EQ(kept_.of<PlacementConfig>().devices, "2xv100-nvlink");
  EnvironmentConfig generated;
  generated.inputs = {"generate:layers:120:1"};
  EXPECT_THAT(relative_to("rollouts", generated).inputs, ElementsAre("generate:layers:120:1"));
}

TEST_F(NamedFiles, AreFoundFromAnyWorkingDirectory) {
  fs::current_path(folder_.path());
  const EnvironmentConfig found = found_from("work/rollouts", "", kept_);
  EXPECT_EQ(read_file(found.inputs.at(0)), "a model");
  EXPECT_EQ(relative_to("work/other/rollouts", found).inputs.at(0), "../../models/m.onnx");
}

TEST_F(NamedFiles, AreFoundWhereTheyWereTakenTogether) {
  fs::rename(folder_ / "work", folder_ / "elsewhere");
  fs::current_path(folder_.path());
  EXPECT_EQ(read_file(found_from("elsewhere/rollouts", "", kept_).inputs.at(0)), "a model");
}

TEST_F(NamedFiles, AreFoundInAFolderThatIsGiven) {
  create_directory(folder_ / "given");
  write_file(folder_ / "given/m.onnx", "another");
  EXPECT_EQ(read_file(found_from("rollouts", folder_ / "given", kept_).inputs.at(0)), "another");
}

TEST_F(NamedFiles, ThatAreNowhereAreNamed) {
  fs::remove("models/m.onnx");
  try {
    found_from("rollouts", "", kept_);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("../models/m.onnx is not there, seen from rollouts"));
    EXPECT_THAT(error.what(), HasSubstr("--inputs"));
  }
}

}  // namespace
}  // namespace reverie
