#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/rulekit/taso/layout.h"

namespace reverie {

/// Extents of a rule's tensors as expressions of the rule language over the source's tensors. Those
/// of constants that the target makes follow from what the target and the outputs demand of them.
class TasoExtents {
 public:
  /// `name` gives the names of inputs and of what source operators make.
  TasoExtents(const TasoLayout& layout, std::function<std::string(TasoTensor)> name);

  /// InputError where nothing says how large a constant of the target is.
  std::string text(const TasoExtent& extent) const;
  /// What the target's operators demand of shapes and the source does not state.
  std::vector<std::string> conditions() const;

 private:
  /// A sum of symbols, some of them negative.
  using Sum = std::map<int, int>;

  bool unknown(int symbol) const;
  void define(const TasoLayout::Equation& equation, bool& changed);
  static Sum difference(const TasoExtent& a, const TasoExtent& b);
  Sum reduced(Sum sum) const;
  void assume(const TasoLayout::Equation& equation);
  std::string symbol_text(int symbol) const;
  std::string sum_text(const Sum& sum) const;

  const TasoLayout& layout_;
  std::function<std::string(TasoTensor)> name_;
  std::map<int, Sum> definitions_;  ///< of extents of the target's constants
  /// What source and outputs say: a symbol is equal to a sum of others, none of which has an entry.
  std::map<int, Sum> known_;
};

}  // namespace reverie
