#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/ir/graph.h"
#include "core/onnx/external.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

using Values = std::vector<ValueId>;

/// A node that no runtime can run, also where ONNX's own inference has no objection.
class WrongNode : public InputError {
 public:
  using InputError::InputError;
};

/// A node on its way into the graph: of the standard domain, or of ONNX Runtime's.
struct Source {
  const onnx::NodeProto& node;
  int opset;  ///< of the standard domain
  Graph& graph;
  /// An absent one is invalid; trailing absent ones are dropped.
  Values inputs;
  /// Attributes that are numbers, strings or lists of them.
  Attributes attributes;
  /// It has attributes of other kinds (tensors, graphs, types).
  bool has_other_attributes = false;
  ExternalFiles& files;
  const std::set<std::string>& taken;  ///< names that the model reads somewhere
  /// Why the table cannot express it, for a person; empty where nobody has said.
  mutable std::string obstacle = {};

  bool has_input(size_t index) const { return index < inputs.size() && inputs[index].valid(); }
  const TensorType& type(size_t index) const { return graph.type(inputs[index]); }
  bool wants_output(int index) const {
    return index < node.output_size() && !node.output(index).empty() &&
           taken.contains(node.output(index));
  }
  /// Takes out an attribute that the table does not have where it has the value that says nothing.
  void leave_out(std::string_view name, const AttrValue& value);
  /// The value of a constant input; nullopt when it is absent or not known before run time.
  std::optional<Tensor> constant(size_t index) const;
  std::optional<std::vector<int64_t>> constant_integers(size_t index) const;

  /// Adds a node; its outputs.
  Values add(std::string_view op, std::span<const ValueId> with, Attributes has = {}) const;
  Values add(std::string_view op, std::initializer_list<ValueId> with, Attributes has = {}) const {
    return add(op, std::span(with.begin(), with.size()), std::move(has));
  }
};

/// Up to here every integer is a double.
constexpr double kExactIntegers = 0x1.0p53;

/// Expresses the node by operators of the table, with the meaning that it has at its opset; the
/// values of its outputs. nullopt when the table cannot express it. InputError when types or
/// attributes do not fit the table, WrongNode when they fit nothing.
std::optional<Values> convert(Source& source);

/// Attributes of `node` as the graph knows them.
Attributes read_attributes(const onnx::NodeProto& node, bool* has_others);

using Converter = std::optional<Values> (*)(Source&);
/// Families of rules, one source file each; nullptr for an operator that needs none.
Converter constant_rule(std::string_view op);
Converter shape_rule(std::string_view op);
Converter window_rule(std::string_view op);
Converter arithmetic_rule(std::string_view op);
Converter image_rule(std::string_view op);
Converter recurrent_rule(std::string_view op);
Converter indexing_rule(std::string_view op);
Converter loss_rule(std::string_view op);
Converter signal_rule(std::string_view op);
/// Of operators that ONNX Runtime has in the standard's domain, and of those in its own.
Converter added_rule(std::string_view op);
Converter runtime_rule(std::string_view op);
/// A node of an opset before kOldestWritten, by way of its form there.
std::optional<Values> convert_older(Source& source);
/// Einsum as a product or a transposition where it is one.
std::optional<Values> convert_einsum(Source& source);
/// At least `least`, and so small that arithmetic with extents does not overflow.
bool are_usual(std::span<const int64_t> numbers, int64_t least);
/// Extents of the filter, which is input `filter`, without those of channels. Takes out the
/// attribute `kernel_shape`. InputError when that differs, or there is no filter.
Shape take_kernel(Source& source, size_t filter = 1);
/// The rule of an operator of the standard at kOldestWritten or later; nullptr where it needs none.
Converter standard_rule(std::string_view op);
/// Operators whose meaning the table shares.
std::optional<Values> convert_as_is(Source& source);

}  // namespace reverie::proto
