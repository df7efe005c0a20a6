#include "env/adapt/resumable_run.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "core/base/files.h"
#include "tests/env/adapt_train/quadrants.h"
#include "tests/support/files_of.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::error;
using testing::files_of;
using ::testing::HasSubstr;

class Killed {};

/// Ends the run at the n-th thing that it sees.
class Killer : public RunWatcher {
 public:
  explicit Killer(int at) : left_(at) {}
  void decides(const JobState& at, const std::optional<ChangeAtRate>& decision) override {
    decisions.push_back(text_of(decision, at.network, false));
    count();
  }
  void trained(const JobState& now) override {
    epochs.push_back(now.curve.size());
    count();
  }

  std::vector<std::string> decisions;
  std::vector<size_t> epochs;

 private:
  void count() {
    if (--left_ == 0) throw Killed();
  }
  int left_;
};

constexpr int kNever = -1;

class Resuming : public ::testing::Test {
 protected:
  Resuming() { testing::write_quadrants(data.path()); }

  std::shared_ptr<const TrainingSource> source() {
    return make_training_source(testing::quadrant_network(), "quadrants", config);
  }
  /// Plays the run in the folder from the beginning. False where it was killed.
  bool play(const TemporaryDirectory& folder, RunWatcher& watcher, const Decisions& decisions,
            uint64_t seed = 3) {
    try {
      const ResumableRun run(source(), folder.path(), watcher);
      const auto job = run.start(seed);
      for (const auto& decision : decisions)
        if (!job->state().over) job->decide(decision);
      EXPECT_TRUE(job->state().over);
      return true;
    } catch (const Killed&) {
      return false;
    }
  }
  bool play(const TemporaryDirectory& folder, int kill_at = kNever) {
    Killer killer(kill_at);
    return play(folder, killer, {deepen, widen});
  }

  const ChangeAtRate deepen{ChangeKind::kDeepen, 0, 0.01}, widen{ChangeKind::kWiden, 0, 0.003};
  TemporaryDirectory data;
  TrainingConfig config = testing::quadrants_config(data.path());
};

TEST_F(Resuming, EndedAnywhereItGoesOnToTheSameFiles) {
  config.extra = {.from = 0.1, .until = 0.6, .factor = 2};  // the network shrinks on the way
  const TemporaryDirectory unbroken;
  Killer watcher(kNever);
  ASSERT_TRUE(play(unbroken, watcher, {deepen, widen}));
  const auto expected = files_of(unbroken.path(), "");
  ASSERT_EQ(expected.size(), 3u) << "one for each decision and one for the end";
  EXPECT_THAT(watcher.decisions, ::testing::ElementsAre("deepen a", "widen a"));
  ASSERT_GE(watcher.epochs.size(), 8u);
  const int things = static_cast<int>(watcher.epochs.size() + watcher.decisions.size());
  for (int kill_at = 1; kill_at <= things; ++kill_at) {
    const TemporaryDirectory folder;
    EXPECT_FALSE(play(folder, kill_at));
    EXPECT_NE(files_of(folder.path(), ""), expected);
    EXPECT_TRUE(play(folder));
    EXPECT_EQ(files_of(folder.path(), ""), expected) << kill_at;
  }
}

TEST_F(Resuming, KilledAfterEachEpochItTrainsEachOnce) {
  config.budget = 40;
  config.from = 0.07;  // decisions come after the third epoch and the fifth
  const TemporaryDirectory folder;
  std::vector<size_t> epochs;
  for (int attempt = 0; attempt < 30; ++attempt) {
    const int seen = static_cast<int>(epochs.size() >= 3) + static_cast<int>(epochs.size() >= 5);
    Killer killer(seen + 1);
    const bool finished = play(folder, killer, {deepen, widen});
    epochs.insert(epochs.end(), killer.epochs.begin(), killer.epochs.end());
    if (finished) break;
  }
  ASSERT_GE(epochs.size(), 8u);
  for (size_t i = 0; i < epochs.size(); ++i) EXPECT_EQ(epochs[i], i + 1);
}

TEST_F(Resuming, WhatIsFinishedIsNotTrainedAgain) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(play(folder));
  Killer watcher(kNever);
  ASSERT_TRUE(play(folder, watcher, {deepen, widen}));
  EXPECT_THAT(watcher.epochs, ::testing::IsEmpty());
  Killer unused(kNever);
  const auto stops = ResumableRun(source(), folder.path(), unused).stops();
  ASSERT_EQ(stops.size(), 3u);
  EXPECT_EQ(stops[0]->state().decisions.size(), 0u);
  EXPECT_EQ(stops[1]->state().network.blocks.size(), 6u);
  EXPECT_TRUE(stops[2]->state().over);
}

TEST_F(Resuming, AFileOfTheStretchBeforeIsLeftAside) {
  const TemporaryDirectory folder, old;
  ASSERT_FALSE(play(old, 2));
  ASSERT_FALSE(play(folder, 4));  // at the first decision
  std::filesystem::copy_file(old / "epoch.job", folder / "epoch.job");
  ASSERT_TRUE(play(folder));
  const TemporaryDirectory unbroken;
  ASSERT_TRUE(play(unbroken));
  EXPECT_EQ(files_of(folder.path(), ""), files_of(unbroken.path(), ""));
}

TEST_F(Resuming, AnotherDecisionOrSeedIsRefused) {
  const TemporaryDirectory folder;
  Killer killer(6), unused(kNever);
  ASSERT_FALSE(play(folder, killer, {deepen, widen}));
  EXPECT_THAT(error([&] {
                play(folder, unused, {widen, widen});
              }),
              HasSubstr("epoch.job: decision 1 was another one"));
  EXPECT_THAT(error([&] { play(folder, unused, {deepen, widen}, 4); }), HasSubstr("seed 3"));
  ASSERT_TRUE(play(folder));
  EXPECT_THAT(error([&] {
                play(folder, unused, {deepen, std::nullopt});
              }),
              HasSubstr("stop-2.job: decision 2 was another one"));
}

TEST_F(Resuming, ADamagedFileAndOtherSettingsAreRefused) {
  const TemporaryDirectory folder;
  ASSERT_FALSE(play(folder, 6));
  const std::string whole = read_file(folder / "epoch.job");
  write_file(folder / "epoch.job", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(error([&] { play(folder); }), HasSubstr("epoch.job: is damaged"));
  write_file(folder / "epoch.job", whole);
  config.decay = 0.8;
  EXPECT_THAT(error([&] { play(folder); }), HasSubstr("of another network, data or configuration"));
}

TEST_F(Resuming, ACopyOfTheJobLeavesTheFolderAlone) {
  const TemporaryDirectory folder;
  Killer watcher(kNever);
  const ResumableRun run(source(), folder.path(), watcher);
  const auto job = run.start(3);
  const auto before = files_of(folder.path(), "");
  const auto copy = job->copy();
  copy->decide(widen);
  copy->decide(std::nullopt);
  EXPECT_TRUE(copy->state().over);
  EXPECT_EQ(files_of(folder.path(), ""), before);
  EXPECT_TRUE(job->state().decisions.empty());
}

TEST_F(Resuming, ALossThatIsNoNumberLeavesWhatWasSaved) {
  const TemporaryDirectory folder;
  Killer unused(kNever);
  const Decisions bad = {ChangeAtRate{ChangeKind::kDeepen, 0, 1e30}, widen};
  const std::string message = error([&] { play(folder, unused, bad); });
  EXPECT_THAT(message, HasSubstr("quadrants: the training loss is"));
  EXPECT_EQ(error([&] { play(folder, unused, bad); }), message);
  EXPECT_TRUE(play(folder)) << "its decision was not saved";
}

TEST_F(Resuming, ABudgetWithoutADecisionIsRefused) {
  const TemporaryDirectory folder;
  config.budget = 2;
  config.from = 0.9;
  EXPECT_THAT(error([&] { play(folder); }), HasSubstr("the budget ends before the first decision"));
  config.budget = 0.5;
  EXPECT_THAT(error([&] { play(folder); }), HasSubstr("the budget of 0.5 epochs"));
}

}  // namespace
}  // namespace reverie
