#include "datasets/history.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StepTaken taken(const std::string& name, double seconds) {
  return {.step = name,
          .done = "3 episodes",
          .seed = uint64_t{7},
          .seconds = seconds,
          .version = "0.1",
          .learning = {.resets = 3, .steps = 40, .cost_lookups = 5, .measurements = 6},
          .validation = {.steps = 2}};
}

TEST(HistoryTest, EachStepAddsItselfToWhatLedToIt) {
  const TemporaryDirectory directory;
  create_directory(directory / "one");
  create_directory(directory / "two");
  write_history(directory / "one", {}, taken("collect", 1.5));
  write_history(directory / "two", read_history(directory / "one"), taken("train_vae", 2));
  EXPECT_THAT(read_history(directory / "one"), ElementsAre(taken("collect", 1.5)));
  EXPECT_THAT(read_history(directory / "two"),
              ElementsAre(taken("collect", 1.5), taken("train_vae", 2)));
}

TEST(HistoryTest, AStepThatHasEndedStaysAsItWas) {
  const TemporaryDirectory directory;
  for (const double seconds : {1.5, 1.6})
    write_history(directory.path(), {}, taken("collect", seconds));
  EXPECT_THAT(read_history(directory.path()), ElementsAre(taken("collect", 1.5)));
}

TEST(HistoryTest, WhatIsNotRecordedStaysSo) {
  const TemporaryDirectory directory;
  EXPECT_THAT(read_history(directory.path()), IsEmpty()) << "an earlier program wrote none";
  write_history(directory.path(), {}, {.step = "collect"});
  const History read = read_history(directory.path());
  ASSERT_EQ(read.size(), 1u);
  EXPECT_FALSE(read[0].seed);
  EXPECT_FALSE(read[0].seconds);
}

TEST(HistoryTest, AStepThatTwoSharedCountsOnce) {
  const History one = {taken("collect", 1), taken("train_vae", 2)};
  const History other = {taken("collect", 1), taken("collect", 3)};
  EXPECT_THAT(joined(one, other),
              ElementsAre(taken("collect", 1), taken("train_vae", 2), taken("collect", 3)));
}

TEST(HistoryTest, ADamagedFileIsNamed) {
  const TemporaryDirectory directory;
  write_file(directory / "history.json", "[{\"step\": 3}]");
  try {
    read_history(directory.path());
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("history.json"));
  }
}

}  // namespace
}  // namespace reverie
