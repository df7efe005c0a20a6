#include "core/rulekit/taso/extents.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"

namespace reverie {

TasoExtents::TasoExtents(const TasoLayout& layout, std::function<std::string(TasoTensor)> name)
    : layout_(layout), name_(std::move(name)) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& equation : layout_.equations) define(equation, changed);
  }
  for (size_t i = 0; i < layout_.equations.size(); ++i)
    if (i < layout_.target_equations || i >= layout_.output_equations) assume(layout_.equations[i]);
}

TasoExtents::Sum TasoExtents::difference(const TasoExtent& a, const TasoExtent& b) {
  Sum sum;
  for (const int symbol : a) ++sum[symbol];
  for (const int symbol : b) --sum[symbol];
  std::erase_if(sum, [](const auto& term) { return term.second == 0; });
  return sum;
}

/// Extents of what the target makes; a product is as known as its factors are.
bool TasoExtents::unknown(int symbol) const {
  const TasoLayout::Symbol& s = layout_.symbols[static_cast<size_t>(symbol)];
  return !s.source && !s.literal && s.factors.empty() && !definitions_.contains(symbol);
}

/// An equation with one unknown says what it is.
void TasoExtents::define(const TasoLayout::Equation& equation, bool& changed) {
  Sum sum = difference(equation.first, equation.second);
  const auto is_unknown = [&](const auto& term) { return unknown(term.first); };
  if (std::count_if(sum.begin(), sum.end(), is_unknown) != 1) return;
  const auto at = std::find_if(sum.begin(), sum.end(), is_unknown);
  const auto [symbol, sign] = *at;
  if (sign != 1 && sign != -1) return;
  sum.erase(at);
  for (auto& term : sum) term.second *= -sign;
  definitions_[symbol] = std::move(sum);
  changed = true;
}

/// The sum with everything that has an equal put in; literals are all the same symbol.
TasoExtents::Sum TasoExtents::reduced(Sum sum) const {
  constexpr int kMostSteps = 64;
  for (int step = 0; step < kMostSteps; ++step) {
    const auto at = std::find_if(sum.begin(), sum.end(), [&](const auto& term) {
      return definitions_.contains(term.first) || known_.contains(term.first);
    });
    if (at == sum.end()) break;
    const auto [symbol, factor] = *at;
    sum.erase(at);
    const auto definition = definitions_.find(symbol);
    for (const auto& [part, count] :
         definition != definitions_.end() ? definition->second : known_.at(symbol))
      sum[part] += factor * count;
    std::erase_if(sum, [](const auto& term) { return term.second == 0; });
  }
  return sum;
}

void TasoExtents::assume(const TasoLayout::Equation& equation) {
  Sum sum = reduced(difference(equation.first, equation.second));
  const auto at = std::find_if(sum.rbegin(), sum.rend(), [&](const auto& term) {
    return std::abs(term.second) == 1 && !layout_.symbols[static_cast<size_t>(term.first)].literal;
  });
  if (at == sum.rend()) return;
  const auto [symbol, sign] = *at;
  sum.erase(symbol);
  for (auto& term : sum) term.second *= -sign;
  for (auto& [other, value] : known_)
    if (const auto part = value.find(symbol); part != value.end()) {
      const int count = part->second;
      value.erase(part);
      for (const auto& [name, factor] : sum) value[name] += count * factor;
      std::erase_if(value, [](const auto& term) { return term.second == 0; });
    }
  known_[symbol] = std::move(sum);
}

std::vector<std::string> TasoExtents::conditions() const {
  std::vector<std::string> result;
  const auto add = [&](std::string text) {
    if (std::find(result.begin(), result.end(), text) == result.end())
      result.push_back(std::move(text));
  };
  for (size_t i = layout_.target_equations; i < layout_.output_equations; ++i) {
    const auto& [a, b] = layout_.equations[i];
    Sum rest = reduced(difference(a, b));
    int64_t number = 0;
    for (const auto& [symbol, count] : rest)
      number += count * layout_.symbols[static_cast<size_t>(symbol)].literal.value_or(0);
    std::erase_if(rest, [&](const auto& term) {
      return layout_.symbols[static_cast<size_t>(term.first)].literal.has_value();
    });
    if (rest.empty() && number != 0) throw InputError("extents that differ would have to be equal");
    if (!rest.empty()) add(fmt::format("{} == {}", text(a), text(b)));
  }
  for (const auto& [a, b] : layout_.limits) add(fmt::format("{} <= {}", text(a), text(b)));
  return result;
}

std::string TasoExtents::symbol_text(int symbol) const {
  const TasoLayout::Symbol& s = layout_.symbols[static_cast<size_t>(symbol)];
  if (s.literal) return fmt::format("{}", *s.literal);
  if (s.source) return fmt::format("dim({}, {})", name_(s.tensor), s.axis);
  if (const auto at = definitions_.find(symbol); at != definitions_.end())
    return at->second.size() == 1 ? sum_text(at->second)
                                  : fmt::format("({})", sum_text(at->second));
  if (s.factors.empty())
    throw InputError("nothing says how large a constant of the target is along axis {}", s.axis);
  return fmt::format("({}) * ({})", text(s.factors[0]), text(s.factors[1]));
}

std::string TasoExtents::sum_text(const Sum& sum) const {
  std::string result;
  for (const bool positive : {true, false})
    for (const auto& [symbol, count] : sum)
      for (int i = 0; i < std::abs(count); ++i)
        if ((count > 0) == positive)
          result += fmt::format("{}{}",
                                result.empty() ? (positive ? "" : "0 - ")
                                : positive     ? " + "
                                               : " - ",
                                symbol_text(symbol));
  return result.empty() ? "0" : result;
}

std::string TasoExtents::text(const TasoExtent& extent) const {
  std::vector<std::string> terms;
  for (const int symbol : extent) terms.push_back(symbol_text(symbol));
  return fmt::format("{}", fmt::join(terms, " + "));
}

}  // namespace reverie
