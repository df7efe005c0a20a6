#pragma once

#include <string>
#include <vector>

#include "core/rulekit/taso/layout.h"

namespace reverie::taso {

/// A condition that a file in TASO's format does not state and that some rules need.
enum class TasoNarrowing {
  kNone,
  kUngrouped,     ///< convolutions of the source have one group
  kEqualFilters,  ///< their filters have equal shapes
  kBoth,
  kMatrices,    ///< tensors whose rank the rule leaves open have two dimensions
  kEqualParts,  ///< what each Concat of the source joins has equal shapes
};
/// In the rule language, for people; empty for kNone.
std::string text_of(TasoNarrowing narrowing);
/// Whether it makes convolutions of the source have one group.
bool is_ungrouped(TasoNarrowing narrowing);
/// `layout` with what the narrowing demands.
TasoLayout narrowed(TasoLayout layout, const TasoRule& rule, TasoNarrowing narrowing);

/// The rule in the language of LANGUAGE.md. `remarks` become comments, `examples` lines of shapes
/// as `example_text` gives them. `layout` is the rule's, its open ranks chosen in any way.
std::string translate(const TasoRule& rule, const TasoLayout& layout, const std::string& name,
                      TasoNarrowing narrowing, const std::vector<std::string>& remarks,
                      const std::vector<std::string>& examples);

/// Shapes and attributes with which to try the rule: "x1: [2, 3], x4: [3, 2]".
std::string example_text(const TasoRule& rule, const TasoLayout& layout,
                         const std::vector<int64_t>& values);

/// Equal for rules that say the same up to the names of inputs, the order of operators and that of
/// the operands of Add and Mul.
std::string canonical_form(const TasoRule& rule);
/// Whether both sides of the rule are the same graph but for the order of the operands of Add and
/// Mul.
bool is_trivial(const TasoRule& rule);

}  // namespace reverie::taso
