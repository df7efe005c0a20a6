#pragma once

#include <functional>
#include <string>

#include "core/base/json.h"
#include "core/base/progress.h"
#include "env/rewrite/optimize/optimize.h"

namespace reverie {

/// Fits `prior` to what the search measured of the model and writes that to `file`.
void write_fitted_costs(const std::string& file, const std::string& model, const Optimized& result,
                        const OptimizeConfig& config, std::shared_ptr<CostModel> prior);

/// Shows measurements and the best time as the search goes on.
std::function<void(const MeasuredReport&)> measured_reporter(Progress& progress);
/// What was measured; empty where nothing was.
std::vector<std::string> measured_sentences(const Optimized& result);
/// The same as flat fields, described in experiments/measured/README.md.
void add_measured(const Optimized& result, const OptimizeConfig& config, Json& json);

}  // namespace reverie
