#pragma once

#include <filesystem>

#include "core/onnx/exporter.h"

namespace reverie::proto {

/// Whether `written` would be the model at `original` in other words: as many nodes of each
/// operator with the same outputs, and large tensors of the same sizes. Attributes are not
/// compared, so that this says something only of what no rewrite has changed.
bool is_unchanged(const ModelSkeleton& written, const std::filesystem::path& original);

}  // namespace reverie::proto
