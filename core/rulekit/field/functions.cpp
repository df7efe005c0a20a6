#include "core/rulekit/field/functions.h"

#include <algorithm>
#include <array>

#include "core/base/hash.h"
#include "core/base/sort_unique.h"
#include "core/rulekit/field/prime_field.h"

namespace reverie {

FieldDegree degree_of_sum(FieldDegree a, FieldDegree b) {
  return {std::max(a.numerator + b.denominator, b.numerator + a.denominator),
          a.denominator + b.denominator};
}

FieldDegree degree_of_sum(FieldDegree term, int64_t terms) {
  if (terms == 0) return {};
  const auto n = static_cast<double>(terms);
  return {term.numerator + (n - 1) * term.denominator, n * term.denominator};
}

FieldDegree degree_of_product(FieldDegree a, FieldDegree b) {
  return {a.numerator + b.numerator, a.denominator + b.denominator};
}

FieldDegree degree_of_quotient(FieldDegree a, FieldDegree b) {
  return {a.numerator + b.denominator, a.denominator + b.numerator};
}

FieldDegree larger_degree(FieldDegree a, FieldDegree b) {
  return {std::max(a.numerator, b.numerator), std::max(a.denominator, b.denominator)};
}

double degree_of_difference(FieldDegree a, FieldDegree b) { return degree_of_sum(a, b).numerator; }

FieldFunctions::FieldFunctions(uint64_t key) : key_(key) {
  sets_[0].function = hash_combine(key, hash_string("greatest"));
  sets_[1].function = hash_combine(key, hash_string("least"));
}

uint64_t FieldFunctions::declare(std::string_view function, int64_t applications,
                                 FieldDegree argument) {
  Use& use = uses_[std::string(function)];
  use.applications += static_cast<double>(applications);
  use.degree = std::max(use.degree, degree_of_difference(argument, argument));
  return hash_combine(key_, hash_string(function));
}

uint64_t FieldFunctions::value(uint64_t function, std::span<const uint64_t> arguments) const {
  uint64_t hash = hash_combine(function, arguments.size());
  for (const uint64_t argument : arguments) hash = hash_combine(hash, argument);
  return mix64(hash) % field::kPrime;
}

void FieldFunctions::declare_extreme(Extreme which, int64_t elements, FieldDegree degree) {
  declare(which == Extreme::kGreatest ? "greatest" : "least", elements, degree);
}

void FieldFunctions::Sets::append_leaves(uint64_t element, std::vector<uint64_t>& leaves) const {
  const uint32_t set = number.find(element);
  if (set == FlatMap::kNone) {
    leaves.push_back(element);
    return;
  }
  const auto from = elements.begin();
  leaves.insert(leaves.end(), from + static_cast<int64_t>(begin[set]),
                from + static_cast<int64_t>(begin[set + 1]));
}

void FieldFunctions::Sets::add(uint64_t hash, std::span<const uint64_t> leaves) {
  const auto next = static_cast<uint32_t>(begin.size() - 1);
  if (number.insert(hash, next) != next) return;
  elements.insert(elements.end(), leaves.begin(), leaves.end());
  begin.push_back(elements.size());
}

uint64_t FieldFunctions::extreme(Extreme which, std::span<const uint64_t> elements) {
  Sets& known = sets_[which == Extreme::kGreatest ? 0 : 1];
  leaves_.clear();
  for (const uint64_t element : elements) known.append_leaves(element, leaves_);
  sort_unique(leaves_);
  if (leaves_.size() == 1) return leaves_[0];
  const uint64_t result = value(known.function, leaves_);
  known.add(result, leaves_);
  return result;
}

uint64_t FieldFunctions::relu(uint64_t x) {
  return extreme(Extreme::kGreatest, std::array<uint64_t, 2>{x, 0});
}

double FieldFunctions::collision_bound() const {
  double bound = 0;
  for (const auto& [name, use] : uses_)
    bound += use.applications * (use.applications - 1) / 2 * (use.degree + 1);
  return bound / static_cast<double>(field::kPrime);
}

}  // namespace reverie
