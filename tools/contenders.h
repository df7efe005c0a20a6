#pragma once

#include <filesystem>

#include "core/base/json.h"
#include "core/onnx/import.h"
#include "core/search/optimize.h"

namespace reverie {

/// How the contenders of a search did end to end; nothing where they were not measured.
void print_contest(const Optimized& result);
Json to_json(const Optimized& result);

/// Writes every contender that agrees with the original as 1.onnx, 2.onnx, ... in `folder`, which is there. Symbolic
/// dimensions of the file `original` stay symbolic where they can. Returns one entry for each.
Json write_contenders(const std::filesystem::path& folder, const std::filesystem::path& original,
                      const ImportedModel& model, const Optimized& result, const CompareOptions& verify);

}  // namespace reverie
