#pragma once

#include <memory>
#include <string>

#include "core/onnx/import.h"
#include "env/rewrite/optimize/optimize.h"
#include "env/rewrite/search/measured_search.h"

namespace reverie {

/// The method that rewrites nothing: what importing alone did is written.
inline constexpr char kSimplify[] = "simplify";

/// Whether the search is one against end-to-end measurements. InputError where its method needs a
/// budget of them and has none.
bool is_measured(const OptimizeConfig& config);
/// That search, on the machine that the configuration names, by `arm` or, where that is empty, by
/// the one that the configuration's method names.
SearchMethod measured_method(const OptimizeConfig& config, MeasuredArm arm = nullptr);
/// "surrogate, beam, ..."
std::string arm_names();

/// What the method kAutomatic means where more is said than that: another method for measured
/// searches and for costs of other devices, and limits where none are given. Other methods stay.
void settle_automatic(OptimizeConfig& config);

/// InputError for an option of a search that the method does not run.
void require_options_read(const OptimizeConfig& config);

/// Of the time limit, what measuring operators may take; kAutomatic keeps time for the search and
/// for confirming.
double seconds_for_costs(const OptimizeConfig& config);

/// Imports what is rewritten: its symbolic dimensions stay open, or, where they may be fixed, those
/// alone that depend on data.
ImportedModel import_to_rewrite(const std::string& model, ImportOptions extents, bool fix_shapes);

/// Runs `method`, or optimize_automatically where the configuration, settled, says so; then
/// `method` is not called. Nodes that only ONNX Runtime can run are measured there, and it confirms
/// where it is installed and no other machine is named.
Optimized optimize_by(const Subject& subject, std::shared_ptr<const RuleSet> rules,
                      std::shared_ptr<CostModel> cost, const SearchMethod& method,
                      OptimizeConfig config);

}  // namespace reverie
