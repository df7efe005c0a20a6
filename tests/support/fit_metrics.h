#pragma once

#include <gtest/gtest.h>

#include <string>

#include "worldmodel/network/fit.h"

namespace reverie::testing {

/// The metric of that name, whose absence is a failure.
inline double value(const FitMetrics& metrics, const std::string& name) {
  for (const auto& [key, number] : metrics)
    if (key == name) return number;
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

}  // namespace reverie::testing
