#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/ir/attributes.h"
#include "core/rulekit/field/field_executor.h"

/// Kernels of the field executor. Elements of a floating type are held as uint64 below the prime,
/// integers as int64.
namespace reverie::field {

struct Call {
  std::string_view op;
  /// A default-constructed tensor where an optional input is absent.
  std::span<const FieldTensor> inputs;
  std::span<const TensorType> outputs;  ///< declared
  const Attributes& attributes;
  FieldFunctions& functions;

  bool has_input(size_t index) const {
    return index < inputs.size() && inputs[index].elements.type().known();
  }
  /// Elements of input `index`; InputError where they are not of a floating type.
  std::span<const uint64_t> data(size_t index) const;
  const Shape& shape(size_t index) const { return inputs[index].elements.shape(); }
  FieldDegree degree(size_t index) const { return inputs[index].degree; }
  /// Nought everywhere.
  FieldTensor new_output(FieldDegree degree) const;
};

struct Kernel {
  std::string_view op;
  std::vector<FieldTensor> (*run)(const Call&);
};

std::vector<Kernel> elementwise_kernels();
std::vector<Kernel> linear_kernels();
std::vector<Kernel> reduction_kernels();
std::vector<Kernel> movement_kernels();

/// The element for a number that a graph holds, as a weight or as an attribute: that of the nearest
/// 32-bit number, which stands for a fraction with numerator and denominator of at most 64 where it
/// is the nearest to one: rules mean it so when they write 1 / 9. InputError for NaN and infinity.
uint64_t element_of(double number);
/// Applies none, relu, sigmoid or tanh in place.
void activate(const Call& call, std::string_view activation, FieldTensor& tensor);
/// x / y; notes a division by nought.
uint64_t divide(const Call& call, uint64_t x, uint64_t y);
/// result *= input `index`, broadcast.
void scale(const Call& call, FieldTensor& result, size_t index);
/// result += scale * input `index`, broadcast.
void add_scaled(const Call& call, FieldTensor& result, size_t index, uint64_t scale);

}  // namespace reverie::field
