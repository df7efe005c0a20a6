#pragma once

#include <CLI/CLI.hpp>

#include "core/onnx/import.h"

namespace reverie {

/// Adds --shape and --dim.
void add_extent_options(CLI::App& command, ImportOptions& extents);

/// Imports what is rewritten: its symbolic dimensions stay open, or, where they may be fixed, those
/// alone that depend on data.
ImportedModel import_to_rewrite(const std::string& model, ImportOptions extents, bool fix_shapes);

}  // namespace reverie
