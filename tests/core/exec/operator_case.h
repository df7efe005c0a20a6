#pragma once

#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/exec/executor.h"

namespace reverie::testing {

/// A graph of one operator and what to feed it.
struct OperatorCase {
  std::string name;
  Graph graph;
  double low = -1;  ///< range of floating inputs and weights
  double high = 1;
};

inline TensorType f32(Shape shape) { return {DType::kFloat32, std::move(shape)}; }
inline TensorType of(DType dtype, Shape shape) { return {dtype, std::move(shape)}; }

/// Elements uniform in [low, high) where floating, in [0, 3] otherwise.
inline Tensor drawn(const TensorType& type, Rng& rng, double low, double high) {
  Tensor values({DType::kFloat64, type.shape});
  for (double& value : values.data<double>())
    value = is_floating(type.dtype) ? rng.uniform(low, high) : static_cast<double>(rng.below(4));
  return values.cast(type.dtype);
}

/// Inputs of a graph, drawn anew for each seed.
inline std::vector<Tensor> drawn_inputs(const Graph& graph, uint64_t seed, double low = -1,
                                        double high = 1) {
  Rng rng(seed);
  std::vector<Tensor> tensors;
  for (const NodeId input : graph.inputs())
    tensors.push_back(drawn(graph.type(graph.output(input)), rng, low, high));
  return tensors;
}

class CaseBuilder {
 public:
  CaseBuilder(std::string op, std::vector<TensorType> inputs)
      : op_(std::move(op)), inputs_(inputs) {}
  CaseBuilder& with(std::string_view name, AttrValue value) {
    attributes_.set(name, std::move(value));
    return *this;
  }
  /// Input `index` is a weight.
  CaseBuilder& constant(size_t index) {
    constants_.push_back(index);
    return *this;
  }
  CaseBuilder& named(const std::string& suffix) {
    suffix_ = "_" + suffix;
    return *this;
  }
  CaseBuilder& within(double low, double high) {
    low_ = low;
    high_ = high;
    return *this;
  }
  operator OperatorCase() const {  // NOLINT: lists of cases read better
    OperatorCase result{op_ + suffix_, {}, low_, high_};
    Rng rng(hash_string(result.name));
    std::vector<ValueId> values;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const bool constant = std::find(constants_.begin(), constants_.end(), i) != constants_.end();
      if (!inputs_[i].known()) {
        values.push_back({});
      } else if (constant) {
        values.push_back(result.graph.add_constant(
            Weight::dense(drawn(inputs_[i], rng, low_, high_), fmt::format("w{}", i))));
      } else {
        values.push_back(result.graph.add_input(fmt::format("x{}", i), inputs_[i]));
      }
    }
    const NodeId node = result.graph.add_node(op_named(op_), values, attributes_);
    for (const ValueId value : result.graph.outputs(node))
      result.graph.add_output(fmt::format("y{}", value.index), value);
    return result;
  }

 private:
  std::string op_, suffix_;
  std::vector<TensorType> inputs_;
  Attributes attributes_;
  std::vector<size_t> constants_;
  double low_ = -1, high_ = 1;
};

using Ints = std::vector<int64_t>;

}  // namespace reverie::testing
