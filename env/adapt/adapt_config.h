#pragma once

#include <string>
#include <vector>

#include "core/base/config.h"
#include "env/adapt/adapt_environment.h"
#include "env/adapt/training_config.h"

namespace reverie {

/// Settings of the environment `adapt`. Its scenarios are env.inputs.
struct AdaptConfig {
  static constexpr char kKind[] = "adapt";

  AdaptReward reward = AdaptReward::kAccuracy;
  int final_epochs = 0;
  TrainingConfig train;

  template <class V>
  void fields(V& v) {
    v.field("reward", reward,
            "accuracy: points gained since the first decision; published: 100 tan(a pi / 2)");
    v.field("final_epochs", final_epochs,
            "The result is the mean accuracy of so many last epochs; 0: as a table says, else 3",
            at_least(0));
    v.section("train", train, "How networks are trained, where they are no table");
  }
};

}  // namespace reverie
