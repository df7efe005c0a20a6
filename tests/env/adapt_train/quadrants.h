#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"
#include "core/base/random.h"
#include "env/adapt/training_config.h"
#include "tests/env/adapt_train/image_files.h"

namespace reverie::testing {

inline constexpr BlockShape kShape{1, 6, 6};
inline constexpr int kTrainImages = 104;

inline Network quadrant_network() {
  return parse_network(R"(
image: [1, 6, 6]
blocks:
  - {name: a, conv: 4}
  - {name: pool, max_pool: 2}
  - {name: b, conv: 4}
  - {name: mean, global_pool: true}
  - {name: out, linear: 4}
)",
                       "small");
}

/// Noise, and a quadrant, the label's, that is bright.
inline LabelledImages quadrants(int count, Rng rng) {
  LabelledImages images;
  for (int i = 0; i < count; ++i) {
    const int label = static_cast<int>(rng.below(4));
    for (int row = 0; row < 6; ++row)
      for (int column = 0; column < 6; ++column) {
        const bool bright = row / 3 == label / 2 && column / 3 == label % 2;
        images.pixels.push_back(static_cast<uint8_t>(rng.below(120) + (bright ? 100 : 0)));
      }
    images.labels.push_back(static_cast<uint8_t>(label));
  }
  return images;
}

inline void write_quadrants(const std::string& folder) {
  write_idx(folder, "train", quadrants(kTrainImages, Rng(1)), kShape);
  write_idx(folder, "t10k", quadrants(40, Rng(2)), kShape);
}

/// Twelve epochs; two decisions, after the third and the fifth.
inline TrainingConfig quadrants_config(const std::string& folder) {
  TrainingConfig config;
  config.data = folder;
  config.train_images = config.test_images = 0;
  config.batch = 16;
  config.budget = 12;
  config.from = 0.24;
  config.decisions = 2;
  config.every = 2;
  return config;
}

/// The one line of the InputError that `body` ends with; "accepted" without one.
template <class Body>
std::string error(Body&& body) {
  try {
    body();
  } catch (const InputError& refused) {
    EXPECT_EQ(std::string(refused.what()).find('\n'), std::string::npos);
    return refused.what();
  }
  return "accepted";
}

}  // namespace reverie::testing
