#include "core/base/run_time.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

TEST(RunTime, GoesOnFromWhatWasKept) {
  TemporaryDirectory directory;
  RunTime first(directory.path(), 1000);
  first.resume();
  EXPECT_GE(first.seconds(), 1000) << "nothing was kept yet";
  first.keep();
  RunTime second(directory.path(), 5);
  EXPECT_LT(second.seconds(), 1000);
  second.resume();
  EXPECT_GE(second.seconds(), 1000);
  EXPECT_LT(second.seconds(), 1010) << "and what goes before counts once";
}

TEST(RunTime, WhatIsNoNumberIsRefused) {
  TemporaryDirectory directory;
  for (const char* text : {"", "soon\n", "12"}) {
    write_file(directory / "seconds", text);
    EXPECT_THROW(RunTime(directory.path()).resume(), InputError) << text;
  }
}

}  // namespace
}  // namespace reverie
