#pragma once

#include <vector>

#include "core/ir/schema.h"

/// The families of the operator table, one source file each in core/ir/ops/. `schema.cpp` joins
/// them in this order, which decides the ids.
namespace reverie::ops {

std::vector<OpSchema> special();  // Input, Constant, Opaque

}  // namespace reverie::ops
