#pragma once

#include <gmock/gmock.h>

#include "core/base/error.h"

namespace reverie::testing {

/// `make` throws an InputError that has these words.
inline void expect_refused(const auto& make, const char* words) {
  try {
    make();
    ADD_FAILURE() << words;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(words));
  }
}

}  // namespace reverie::testing
