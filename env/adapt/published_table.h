#pragma once

#include "core/base/json.h"
#include "env/adapt/table.h"

namespace reverie {

/// "cnn1" or "cnn2": the two networks of Lamelas, "Applying Reinforcement Learning to Neural
/// Network Adaptation in the Context of DNN Cluster Scheduling" (2023): two convolutions without
/// padding and a linear layer whose ReLU the class scores pass. InputError for another name.
Network published_network(const std::string& name);

constexpr char kPublishedFormat[] = "adapt-table/1";

/// A table of that work, format "adapt-table/1": sequences of actions 0 to 2 (deepen the first
/// convolution, the second, the linear block) and 3 (go on), one epoch apart. Spent shares at
/// decisions are those of the recorded seconds left; a sequence's curve is its test accuracy. One
/// rate, 0.01, and the last epoch alone is the result.
AdaptTable published_table(const Json& json);

}  // namespace reverie
