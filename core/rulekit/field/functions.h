#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/flat_map.h"

namespace reverie {

/// Bounds the degrees of the polynomials whose quotient an element is, in the drawn elements and
/// the values of random functions.
struct FieldDegree {
  double numerator = 0;
  double denominator = 0;
};
FieldDegree degree_of_sum(FieldDegree a, FieldDegree b);
/// Of `terms` summands each.
FieldDegree degree_of_sum(FieldDegree term, int64_t terms);
FieldDegree degree_of_product(FieldDegree a, FieldDegree b);
FieldDegree degree_of_quotient(FieldDegree a, FieldDegree b);
FieldDegree larger_degree(FieldDegree a, FieldDegree b);
/// Of the polynomial that is nought where quotients with these degrees are equal.
double degree_of_difference(FieldDegree a, FieldDegree b);

/// Stands in for functions that are no polynomials, at one random point. Each is a keyed hash of
/// its arguments: nothing holds of it but that equal arguments give equal values.
///
/// Greatest and least elements are those of the free semilattice over the field: the hash of the
/// set of the elements that they were chosen from. What holds of them is what follows from
/// associativity, commutativity and idempotence; the greatest of one element is that element.
///
/// That two applications with different arguments agree, or arguments that differ as quotients of
/// polynomials are equal at this point, is possible. `collision_bound` bounds its probability, the
/// hash taken for a random function: the pairs of applications of each function times the degree of
/// the difference of their arguments plus 1, over the prime (Schwartz 1980, Zippel 1979).
class FieldFunctions {
 public:
  explicit FieldFunctions(uint64_t key);

  enum class Extreme { kGreatest, kLeast };

  /// Says that a function will be asked `applications` times for arguments of that degree. Its
  /// number.
  uint64_t declare(std::string_view function, int64_t applications, FieldDegree argument);
  uint64_t value(uint64_t function, std::span<const uint64_t> arguments) const;
  /// The greatest or least of elements; of none, the lowest or highest number of the type.
  uint64_t extreme(Extreme which, std::span<const uint64_t> elements);
  /// The greatest of x and 0.
  uint64_t relu(uint64_t x);
  void declare_extreme(Extreme which, int64_t elements, FieldDegree degree);

  double collision_bound() const;
  /// Noted when something was divided by nought, which says nothing then.
  void note_division_by_zero() { divided_by_zero_ = true; }
  bool divided_by_zero() const { return divided_by_zero_; }

 private:
  struct Use {
    double applications = 0;
    double degree = 0;  ///< of the difference of two arguments
  };
  /// Sets of elements that were chosen from, two or more or none, by their hash.
  struct Sets {
    uint64_t function = 0;
    FlatMap number;
    std::vector<size_t> begin = {0};
    std::vector<uint64_t> elements;

    void append_leaves(uint64_t element, std::vector<uint64_t>& leaves) const;
    void add(uint64_t hash, std::span<const uint64_t> leaves);
  };

  uint64_t key_;
  bool divided_by_zero_ = false;
  std::map<std::string, Use, std::less<>> uses_;
  Sets sets_[2];                  ///< of greatest, of least
  std::vector<uint64_t> leaves_;  ///< scratch
};

}  // namespace reverie
