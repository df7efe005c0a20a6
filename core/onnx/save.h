#pragma once

#include <filesystem>

#include "core/onnx/exporter.h"

namespace reverie::proto {

/// Adds the weights' data (inline, or in a file beside it, see data_files.h, when there is more
/// than `max_inline_bytes`), has the result checked, and gives the file its name. Nothing partial
/// stays behind.
void save(ModelSkeleton skeleton, const std::filesystem::path& path, int64_t max_inline_bytes);

}  // namespace reverie::proto
