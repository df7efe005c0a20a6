#pragma once

#include <CLI/CLI.hpp>

#include "core/onnx/import.h"

namespace reverie {

/// Adds --shape and --dim.
void add_extent_options(CLI::App& command, ImportOptions& extents);

}  // namespace reverie
