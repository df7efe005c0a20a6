#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/ir/einsum.h"
#include "core/onnx/convert.h"

namespace reverie::proto {
namespace {

bool is_in(const std::string& term, char letter) { return term.find(letter) != std::string::npos; }

bool has_each_once(std::string term) {
  std::sort(term.begin(), term.end());
  return std::adjacent_find(term.begin(), term.end()) == term.end();
}

/// An operand of a matrix product: letters of the batch, then the two axes of its matrices.
struct Matrices {
  ValueId value;
  std::string letters;
};

/// The last two axes changed if need be, so that `letter` is so many from the end.
std::optional<ValueId> with_letter_at(const Source& source, const Matrices& operand,
                                      size_t from_end, char letter) {
  const size_t rank = operand.letters.size();
  if (rank < 2) return std::nullopt;
  if (operand.letters[rank - from_end] == letter) return operand.value;
  if (operand.letters[rank - 3 + from_end] != letter) return std::nullopt;
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[rank - 2], perm[rank - 1]);
  return source.add("Transpose", {operand.value}, {{"perm", perm}})[0];
}

/// a [..., l, k] times b [..., k, r], or b [k, r], where that is what the sum says.
std::optional<Values> product(const Source& source, const Matrices& a, const Matrices& b,
                              const std::string& result) {
  if (result.size() < 2 || a.letters.size() != result.size() || b.letters.size() < 2)
    return std::nullopt;
  const char left = result[result.size() - 2], right = result.back();
  const std::string batch = result.substr(0, result.size() - 2);
  std::string shared;
  for (const char letter : a.letters)
    if (is_in(b.letters, letter) && !is_in(result, letter)) shared += letter;
  if (shared.size() != 1 || !is_in(a.letters, left) || !is_in(b.letters, right))
    return std::nullopt;
  if (is_in(b.letters, left) || is_in(a.letters, right)) return std::nullopt;
  const auto lead = [](const std::string& letters) {
    return letters.substr(0, letters.size() - 2);
  };
  if (lead(a.letters) != batch || (lead(b.letters) != batch && !lead(b.letters).empty()))
    return std::nullopt;
  const auto x = with_letter_at(source, a, 1, shared[0]);
  const auto y = with_letter_at(source, b, 2, shared[0]);
  if (!x || !y) return std::nullopt;
  return source.add("MatMul", {*x, *y});
}

std::optional<Values> transposition(const Source& source, const Einsum& sum) {
  const std::string& term = sum.operands[0];
  if (!std::is_permutation(term.begin(), term.end(), sum.result.begin(), sum.result.end()))
    return std::nullopt;
  std::vector<int64_t> perm;
  for (const char letter : sum.result) perm.push_back(static_cast<int64_t>(term.find(letter)));
  return source.add("Transpose", {source.inputs[0]}, {{"perm", perm}});
}

}  // namespace

std::optional<Values> convert_einsum(Source& source) {
  std::vector<int> ranks;
  for (size_t i = 0; i < source.inputs.size(); ++i) ranks.push_back(source.type(i).rank());
  const Einsum sum = parse_einsum(source.attributes.text("equation"), ranks);
  const bool is_plain = std::ranges::all_of(sum.operands, has_each_once);
  std::optional<Values> result;
  if (is_plain && sum.operands.size() == 1) result = transposition(source, sum);
  if (is_plain && sum.operands.size() == 2) {
    const Matrices a = {source.inputs[0], sum.operands[0]}, b = {source.inputs[1], sum.operands[1]};
    result = product(source, a, b, sum.result);
    if (!result) result = product(source, b, a, sum.result);
  }
  return result ? result : convert_as_is(source);
}

}  // namespace reverie::proto
