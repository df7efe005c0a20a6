#pragma once

#include <string>
#include <vector>

#include "core/ir/types.h"
#include "core/onnx/model_info.h"

namespace reverie {

/// The dimensions of a model's input or output by axis, as --dim calls them: the name of a symbolic
/// one, its place ("x[0]") where it has none, empty where the file declares a number or nothing.
std::vector<std::string> declared_dimensions(const ModelInfo& info, const std::string& name,
                                             const Shape& shape);

}  // namespace reverie
