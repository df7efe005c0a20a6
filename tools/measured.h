#pragma once

#include <functional>
#include <string>

#include "core/base/json.h"
#include "core/base/progress.h"
#include "core/search/measured_search.h"
#include "core/search/optimize.h"

namespace reverie {

/// Whether the search is one against end-to-end measurements. InputError where its method needs a
/// budget of them and has none.
bool is_measured(const OptimizeConfig& config);
/// That search, on the machine that the configuration names; `candidates`: the search that says
/// what to measure, where no arm is named.
SearchMethod measured_method(const OptimizeConfig& config, SearchMethod candidates = nullptr);
/// "surrogate, beam, ..."
std::string arm_names();

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
