#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/ir/types.h"
#include "core/rulekit/taso/taso_rule.h"

namespace reverie {

/// A sum of symbols, in ascending order; each is an extent that a drawing of shapes chooses.
using TasoExtent = std::vector<int>;

/// What a rule's operators demand of the shapes of its tensors: each extent as a sum of symbols,
/// and what these must fulfil.
struct TasoLayout {
  struct Tensor {
    std::vector<TasoExtent> shape;
    /// Per axis: the extents of which Concat joined it, or into which the source parts it; mostly
    /// empty.
    std::vector<std::vector<TasoExtent>> pieces;
  };
  struct Convolution {
    TasoExtent channels, filter_channels, filters;
    bool open = false;  ///< of the source, and the rule does not state its groups
  };
  /// Extent `axis` of a tensor: of an input, of what a source operator makes, or, not `source`, of
  /// what a target operator makes.
  struct Symbol {
    TasoTensor tensor;
    int axis = 0;
    bool source = true;
    std::optional<int64_t> literal;   ///< the rule states it
    std::vector<TasoExtent> factors;  ///< it is their product; empty where it is not one
  };
  using Equation = std::pair<TasoExtent, TasoExtent>;

  std::map<int, Tensor> inputs;                     ///< by the number of the external input
  std::vector<std::vector<Tensor>> source, target;  ///< by operator and output
  /// Ranks that the rule fixes; the others were chosen.
  std::map<int, int> fixed_ranks;
  std::vector<Symbol> symbols;
  /// The first ones are what the source's operators demand, those between are the target's, and
  /// from `output_equations` on both sides' outputs are of one shape.
  std::vector<Equation> equations;
  size_t target_equations = 0, output_equations = 0;
  /// The first of each is at most the second.
  std::vector<Equation> limits;
  std::vector<Convolution> convolutions;

  /// Whether each convolution of the target whose groups the rule does not state has those of one
  /// of the source, whatever they are: as many channels, and filters as deep.
  bool keeps_groups(const TasoRule& rule) const;

  const Tensor& source_tensor(TasoTensor tensor) const;
  const Tensor& target_tensor(TasoTensor tensor) const;
};

/// `choose(least)` gives a rank to tensors whose rank the rule leaves open. InputError says what
/// the rule demands that no shapes fulfil, or that this program does not know.
TasoLayout lay_out(const TasoRule& rule, const std::function<int(int least)>& choose);

/// A value per symbol such that both sides are well-formed; nothing where this draw found none.
std::optional<std::vector<int64_t>> draw_extents(const TasoLayout& layout, Rng& rng);

Shape shape_of(const TasoLayout::Tensor& tensor, const std::vector<int64_t>& values);

/// The value that a tensor's name stands for in the rule language: x4, s0, s0_1.
std::string taso_name(char side, TasoTensor tensor, int outputs);

}  // namespace reverie
