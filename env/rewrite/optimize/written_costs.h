#pragma once

#include <memory>

#include "core/cost/cost_model.h"
#include "core/onnx/import.h"

namespace reverie {

/// The newest opset at which what is rewritten from the model can be written: that of
/// proto::opset_range.
int newest_opset(const ImportedModel& model);

/// `costs` of what export_onnx writes at opsets up to the newest: an operator that only newer ones
/// have (LayerNormalization) costs the sum of the older ones that stand in the file in its place,
/// or else a search would gain by, and report, a kernel that nobody gets. `costs` itself where the
/// newest has every operator of the table.
std::shared_ptr<CostModel> costs_as_written(std::shared_ptr<CostModel> costs, int newest_opset);

}  // namespace reverie
