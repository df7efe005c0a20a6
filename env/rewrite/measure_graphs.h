#pragma once

#include <string>

#include "env/rewrite/rewrite_config.h"

namespace reverie {

/// Times whole graphs beside costs from `cost_source` (machine_beside), one at a time however many
/// threads ask, as RelativeTimes does. The machine is looked for when it is first needed.
MeasureGraph measure_graphs(const MeasureConfig& config, const std::string& cost_source);

}  // namespace reverie
