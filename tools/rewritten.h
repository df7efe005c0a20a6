#pragma once

#include <cstdint>
#include <string>

#include "core/exec/compare.h"
#include "core/onnx/symbols.h"

namespace reverie {

/// InputError unless the rewritten graph agrees with the model at `original`.
void require_agreement(const std::string& original, const Agreement& agreement);

/// Writes what the model at `original` was rewritten to. Where symbolic dimensions had to be fixed,
/// that is told on standard error, and unless `fix_shapes` the original file is written instead.
/// `max_weight_bytes`: see ExportOptions.
void write_rewritten(const std::string& original, const ImportedModel& model,
                     const TriedGraph& tried, const std::string& out, const CompareOptions& verify,
                     bool fix_shapes,
                     int64_t max_weight_bytes = ExportOptions().max_weight_bytes);

/// Writes it with the extents that the model was imported with, and says which dimensions that
/// fixes.
void write_with_constant_shapes(const ImportedModel& model, const Graph& graph,
                                const std::string& out);

}  // namespace reverie
