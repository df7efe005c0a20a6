#pragma once

#include "core/ir/weight.h"

namespace reverie {

/// Whether it is a large weight that is known by a formula (Weight::constant,
/// Weight::identity_kernel, or a fill whose elements are integers): type and formula together are
/// its content.
bool is_formula(const Weight& weight);

/// The weight of this content, as something whose value is part of what a graph means: small,
/// integral, or by the formula that gives these elements. nullptr for a large one that no formula
/// gives.
WeightPtr known_weight(const Tensor& tensor);

}  // namespace reverie
