#pragma once

#include "env/registry/registry.h"

namespace reverie {

/// The entry of the environment `rewrite`. Inputs: ONNX files, each a start graph. Costs are those
/// of what can be written (core/search/written_costs.h); of several models, at the oldest opset
/// that one of them is held to.
const EnvironmentKind& rewrite_kind();

/// Times whole graphs beside costs from `cost_source` (machine_beside), one at a time however many
/// threads ask, and each once (RelativeTimes). The machine is looked for when it is first needed.
MeasureGraph measure_graphs(const MeasureConfig& config, const std::string& cost_source);

}  // namespace reverie
