#pragma once

#include <filesystem>

#include "core/base/json.h"
#include "core/onnx/import.h"
#include "core/search/optimize.h"

namespace reverie {

/// How the contenders of a search did end to end; nothing where they were not measured.
void print_benchmark(const Optimized& result);
Json to_json(const Optimized& result);

/// Writes every contender that agrees with the original as 1.onnx, 2.onnx, ... in `folder`, which
/// is there. Those that would fix a symbolic dimension of the file `original` are left out unless
/// `fix_shapes`, and files of others with constant shapes always. Returns one entry for each.
Json write_contenders(const std::filesystem::path& folder, const std::filesystem::path& original,
                      const ImportedModel& model, const Optimized& result, const OptimizeConfig& config);

}  // namespace reverie
