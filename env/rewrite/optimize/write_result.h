#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/exec/compare.h"
#include "core/onnx/symbols.h"
#include "env/rewrite/optimize/noted.h"
#include "env/rewrite/optimize/optimize.h"

namespace reverie {

/// InputError unless the rewritten graph agrees with the model at `original`.
void require_agreement(const std::string& original, const Agreement& agreement);

/// Writes what the model at `original` was rewritten to. Where symbolic dimensions had to be fixed,
/// that is told in a sentence each, and unless `fix_shapes` the original file is written instead.
/// `max_weight_bytes`: see ExportOptions.
[[nodiscard]] std::vector<std::string> write_rewritten(
    const std::string& original, const ImportedModel& model, const TriedGraph& tried,
    const std::string& out, const CompareOptions& verify, bool fix_shapes,
    int64_t max_weight_bytes = ExportOptions().max_weight_bytes);

/// Writes it with the extents that the model was imported with: a sentence for each dimension that
/// that fixes.
[[nodiscard]] std::vector<std::string> write_with_constant_shapes(const ImportedModel& model,
                                                                  const Graph& graph,
                                                                  const std::string& out);

/// Writes what `optimize` made of the model at `original`, which was imported from there and
/// compared by `config`; a copy of it where nothing changed. A sentence for each thing that differs
/// from what was asked for. Its nodes tell by what rules they came and what they cost, where
/// `notes` is given.
[[nodiscard]] std::vector<std::string> write_optimized(
    const std::string& original, const ImportedModel& model, const Optimized& result,
    const OptimizeConfig& config, const std::string& out, const NoteSources* notes = nullptr);

}  // namespace reverie
