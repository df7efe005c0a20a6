#include "core/onnx/sampled_terms.h"

#include <algorithm>

namespace reverie::proto {
namespace {

int64_t sum(int64_t a, int64_t b) { return a + b; }
int64_t difference(int64_t a, int64_t b) { return a - b; }
int64_t product(int64_t a, int64_t b) { return a * b; }
int64_t quotient(int64_t a, int64_t b) { return b == 0 ? 0 : a / b; }

struct Operation {
  const char* op;
  int64_t (*apply)(int64_t a, int64_t b);
};
constexpr Operation kOperations[] = {
    {"Add", sum}, {"Sub", difference}, {"Mul", product}, {"Div", quotient}};

bool gives(const Operation& operation, const Sampled& a, const Sampled& b, const Sampled& number) {
  for (size_t i = 0; i < number.size(); ++i)
    if (operation.apply(a[i], b[i]) != number[i]) return false;
  return true;
}

}  // namespace

bool is_fixed(const Sampled& number) {
  return std::ranges::all_of(number, [&](int64_t at) { return at == number[0]; });
}

std::vector<SampledTerm> terms_of(const Sampled& number, const std::vector<Sampled>& at_hand) {
  std::vector<SampledTerm> terms;
  for (const Sampled& a : at_hand) {
    std::vector<Sampled> others = at_hand;
    for (const int64_t constant :
         {number[0] - a[0], a[0] - number[0], quotient(number[0], a[0]), quotient(a[0], number[0])})
      others.emplace_back(a.size(), constant);
    for (const Sampled& b : others)
      for (const Operation& operation : kOperations)
        if (gives(operation, a, b, number)) terms.push_back({operation.op, a, b});
  }
  return terms;
}

}  // namespace reverie::proto
