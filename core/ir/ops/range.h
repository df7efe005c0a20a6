#pragma once

#include "core/ir/schema.h"

/// What rows say of their results' values (OpSchema::range). A row that has none of these, as Exp,
/// which soon leaves the range of its type, gives what may be anything.
namespace reverie::ops::range {

using Rule = ValueRange (*)(const RangeContext&);

ValueRange finite(const RangeContext&);
ValueRange non_negative(const RangeContext&);
/// Moves elements of its first input, picks from them or averages them.
ValueRange as_first(const RangeContext& node);
/// Takes elements of all its inputs.
ValueRange as_all(const RangeContext& node);
/// Divides by a root of what `epsilon` was added to.
ValueRange normalized(const RangeContext& node);

// Of one operator each.
ValueRange sum(const RangeContext& node);
/// What is positive may be too small for its type as a product, and 0.
ValueRange product(const RangeContext& node);
ValueRange maximum(const RangeContext& node);
ValueRange choice(const RangeContext& node);
ValueRange quotient(const RangeContext& node);
ValueRange reciprocal(const RangeContext& node);
ValueRange power(const RangeContext& node);
ValueRange root(const RangeContext& node);
ValueRange logarithm(const RangeContext& node);
ValueRange clip(const RangeContext& node);
ValueRange pad(const RangeContext& node);
ValueRange max_pool(const RangeContext& node);

}  // namespace reverie::ops::range
