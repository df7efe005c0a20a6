#pragma once

#include "env/adapt/training_source.h"
#include "tools/adapt_scenario.h"

namespace reverie {

/// Trains a network by the method or policy, shows its epochs, writes --out and tells the result.
void train_adapt(const AdaptOptions& options, const AdaptCommandConfig& config,
                 const std::shared_ptr<const TrainingSource>& source, int final_epochs);

}  // namespace reverie
