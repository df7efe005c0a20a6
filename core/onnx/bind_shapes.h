#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ir/types.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// Static types of the model's inputs (those named in `constants` excepted), with symbolic
/// dimensions bound. An input that is no tensor has a type with known() == false. InputError names an
/// input and dimension without a value, and bindings that do not fit.
std::map<std::string, TensorType> bind_inputs(const onnx::GraphProto& graph,
                                              const std::set<std::string>& constants,
                                              const std::vector<std::string>& bindings);

}  // namespace reverie::proto
