#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/onnx/import.h"
#include "core/report/html.h"
#include "env/rewrite/optimize/noted.h"
#include "env/rewrite/optimize/optimize.h"

namespace reverie {

/// "original", "contender 1".
std::string name_of_contestant(size_t contestant);
/// How the contenders of a search did end to end; no rows where they were not measured.
HtmlTable contestants_of(const Optimized& result);
/// Where that was, to stand above the table, and what it says; empty likewise.
std::string machine_sentence(const Optimized& result);
std::vector<std::string> confirmed_sentences(const Optimized& result);
Json to_json(const Optimized& result);

/// Writes every contender that agrees with the original as 1.onnx, 2.onnx, ... in `folder`, which
/// is there. Those that would fix a symbolic dimension of the file `original` are left out unless
/// `fix_shapes`, and files of others with constant shapes always. Nodes tell what `notes`, where it
/// is given, knows of them. Returns one entry for each.
Json write_contenders(const std::filesystem::path& folder, const std::filesystem::path& original,
                      const ImportedModel& model, const Optimized& result,
                      const OptimizeConfig& config, const NoteSources* notes);

}  // namespace reverie
