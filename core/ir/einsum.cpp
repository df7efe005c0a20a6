#include "core/ir/einsum.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr std::string_view kEllipsis = "...";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Letters around at most one ellipsis.
void require_term(const std::string& term) {
  std::string letters = term;
  if (const size_t at = letters.find(kEllipsis); at != std::string::npos)
    letters.erase(at, kEllipsis.size());
  const auto is_letter = [](char c) { return kLetters.find(c) != std::string_view::npos; };
  if (!std::all_of(letters.begin(), letters.end(), is_letter))
    throw InputError("the equation has a term '{}'", term);
}

/// Axes that the ellipsis of a term stands for.
int hidden_axes(const std::string& term, int rank) {
  const bool has_ellipsis = term.find(kEllipsis) != std::string::npos;
  const int shown = static_cast<int>(term.size()) - (has_ellipsis ? 3 : 0);
  if (shown > rank || (!has_ellipsis && shown != rank))
    throw InputError("the term '{}' does not fit an operand of rank {}", term, rank);
  return rank - shown;
}

/// The ellipsis as the last `count` of `letters`.
void expand_ellipsis(std::string& term, const std::string& letters, size_t count) {
  const size_t at = term.find(kEllipsis);
  if (at == std::string::npos) return;
  term.replace(at, kEllipsis.size(), letters.substr(letters.size() - count));
}

std::string implicit_result(const std::string& equation) {
  std::string result = equation.find(kEllipsis) != std::string::npos ? std::string(kEllipsis) : "";
  std::string letters(kLetters);
  std::sort(letters.begin(), letters.end());
  for (const char c : letters)
    if (std::count(equation.begin(), equation.end(), c) == 1) result += c;
  return result;
}

void require_result(const Einsum& sum) {
  std::string letters = sum.result;
  std::sort(letters.begin(), letters.end());
  if (std::adjacent_find(letters.begin(), letters.end()) != letters.end())
    throw InputError("the result '{}' names an axis twice", sum.result);
  for (const char c : sum.result)
    if (std::ranges::none_of(sum.operands, [&](const std::string& term) {
          return term.find(c) != std::string::npos;
        }))
      throw InputError("no operand has the axis '{}' of the result", c);
}

}  // namespace

Einsum parse_einsum(std::string_view equation, std::span<const int> ranks) {
  std::string text(equation);
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  const bool is_implicit = arrow == std::string::npos;
  Einsum sum{split(left), is_implicit ? implicit_result(left) : text.substr(arrow + 2)};
  if (sum.operands.size() != ranks.size())
    throw InputError("the equation '{}' has {} operands, not {}", text, sum.operands.size(),
                     ranks.size());
  std::vector<size_t> hidden;
  for (size_t i = 0; i < ranks.size(); ++i) {
    require_term(sum.operands[i]);
    hidden.push_back(static_cast<size_t>(hidden_axes(sum.operands[i], ranks[i])));
  }
  require_term(sum.result);
  const size_t most = *std::max_element(hidden.begin(), hidden.end());
  std::string unused;
  for (const char c : kLetters)
    if (unused.size() < most && text.find(c) == std::string::npos) unused += c;
  if (unused.size() < most) throw InputError("the equation '{}' leaves no letters", text);
  for (size_t i = 0; i < ranks.size(); ++i) expand_ellipsis(sum.operands[i], unused, hidden[i]);
  expand_ellipsis(sum.result, unused, most);
  require_result(sum);
  return sum;
}

std::string to_string(const Einsum& sum) {
  return fmt::format("{}->{}", fmt::join(sum.operands, ","), sum.result);
}

std::map<char, int64_t> einsum_extents(const Einsum& sum, std::span<const Shape> shapes) {
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < shapes.size(); ++i)
    for (size_t axis = 0; axis < shapes[i].size(); ++axis) {
      const char letter = sum.operands[i][axis];
      const int64_t extent = shapes[i][axis];
      int64_t& known = extents.try_emplace(letter, extent).first->second;
      if (known == 1) known = extent;
      if (extent != known && extent != 1)
        throw InputError("axis '{}' has the extents {} and {}", letter, known, extent);
    }
  return extents;
}

}  // namespace reverie
