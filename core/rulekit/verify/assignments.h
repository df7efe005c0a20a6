#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/rules/pattern.h"

namespace reverie::verify {

/// Tensors of examples and of what they become on the way to a verdict have no more elements.
constexpr int64_t kMostTrialElements = 2048;

/// "x: [2, 3], w: const [4, 3], c.pads = [1, 1]": the shapes and attributes of an example as the
/// rule language writes them.
std::string text_of(const RulePattern& pattern, const RuleExample& example);

/// Up to `count` further assignments of shapes and attributes to which a rule applies, found by a
/// random walk from an example of it: extents and integer attributes change alone, in pairs, or all
/// equal ones together, axes come and go in front and at the end or change their order, activations
/// change. `applies` says whether an assignment is one to which the rule applies. Different from
/// each other and the example.
std::vector<RuleExample> vary(const RulePattern& pattern, const RuleExample& example, int count,
                              Rng rng, const std::function<bool(const RuleExample&)>& applies);

/// The example and what it becomes where all tensors, those with a dimension or those with two get
/// further axes, in front or at the end, up to `most_rank` dimensions.
std::vector<RuleExample> with_more_axes(const RulePattern& pattern, const RuleExample& example,
                                        int most_rank,
                                        const std::function<bool(const RuleExample&)>& applies);

}  // namespace reverie::verify
