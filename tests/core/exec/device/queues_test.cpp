#include <gmock/gmock.h>

#include "core/base/error.h"
#include "tests/support/device_queues.h"
#include "tests/support/host_device.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HostDevice;
using ::testing::IsEmpty;
using testing::QueueWork;

struct Queues {
  Queues() { device.need_queues(3); }
  HostDevice device;
  QueueWork work{device};
};

/// What was wrong with the order, so that it does not fail this test.
std::vector<std::string> races(HostDevice& device) {
  device.synchronize();
  return std::exchange(device.races, {});
}

TEST(Queues, MarksOrderThem) {
  HostDevice device;
  testing::expect_marks_order_queues(device, 10);
  EXPECT_EQ(device.waits, 2 * 4);
}

TEST(Queues, WhatUsesMemoryInNoOrderShows) {
  Queues all;
  all.work.add(0, 0, 1, 2);
  all.work.add(1, 2, 1, 3);
  EXPECT_THAT(races(all.device), ElementsAre("queue 1 reads what queue 0 writes at any time"));
  all.work.add(0, 0, 1, 2);
  all.work.add(1, 3, 3, 0);
  EXPECT_THAT(races(all.device), ElementsAre("queue 1 writes what queue 0 reads at any time"));
  all.work.add(2, 0, 1, 2);
  all.work.add(1, 0, 1, 2);
  EXPECT_THAT(races(all.device), ElementsAre("queue 1 writes what queue 2 writes at any time"));
  all.work.add(0, 0, 1, 2);
  all.work.add(1, 0, 1, 3);
  EXPECT_THAT(races(all.device), IsEmpty()) << "both only read";
}

TEST(Queues, AWorkspaceIsMemoryThatIsWritten) {
  HostDevice device;
  device.need_queues(2);
  device.workspace = 8;
  QueueWork work(device);
  work.add(0, 0, 0, 1);
  work.add(1, 0, 0, 2);
  EXPECT_THAT(races(device), ElementsAre("queue 1 writes what queue 0 writes at any time"));
}

TEST(Queues, OrderIsHandedOnByMarks) {
  Queues all;
  all.work.add(0, 0, 1, 2);
  all.work.wait(1, 0);
  all.work.add(0, 0, 1, 3);  // behind the mark
  all.work.wait(2, 1);
  all.work.add(2, 2, 2, 1);
  EXPECT_THAT(races(all.device), ElementsAre("queue 2 writes what queue 0 reads at any time"));
}

TEST(Queues, RecordingsRunAnewInAnOrderOfTheirOwn) {
  Queues all;
  const auto recording = all.device.record([&] {
    all.work.wait(1, 0);
    all.work.add(1, 0, 1, 2);
    all.work.wait(0, 1);
  });
  recording->launch();
  recording->launch();
  all.work.add(0, 2, 2, 3);
  EXPECT_THAT(races(all.device), IsEmpty());
  all.work.add(1, 0, 0, 2);
  recording->launch();
  EXPECT_THAT(races(all.device), ElementsAre(HasSubstr("writes what queue 1 writes")))
      << "what is recorded of queue 1 does not run in queue 1";
}

TEST(Queues, RecordingsAreJoined) {
  Queues all;
  EXPECT_THROW(all.device.record([&] { all.work.add(1, 0, 0, 2); }), InternalError);
  EXPECT_THROW(all.device.record([&] {
    all.work.wait(1, 0);
    all.work.add(1, 0, 0, 2);
  }),
               InternalError);
  const auto outside = all.device.mark();
  EXPECT_THROW(all.device.record([&] { all.device.wait_for(*outside); }), InternalError);
  EXPECT_NO_THROW(all.device.record([&] { all.work.add(0, 0, 0, 2); }));
}

TEST(Queues, RunAtOnceOnTheHostDevice) {
  Queues all;
  all.device.time_of = [](const device::Call&) { return 2.0; };
  all.device.seconds_of_wait = 0.5;
  const auto recording = all.device.record([&] {
    all.work.wait(1, 0);
    all.work.add(0, 0, 0, 2);
    all.work.add(1, 0, 0, 3);
    all.work.wait(0, 1);
  });
  EXPECT_EQ(all.device.seconds([&] { recording->launch(); }), 0.5 + 2 + 0.5);
}

}  // namespace
}  // namespace reverie
