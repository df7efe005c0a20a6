#include "tests/core/ort/opinion/mutate.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace reverie::testing {
namespace {

size_t one_of(size_t count, Rng& rng) { return static_cast<size_t>(rng.below(count)); }

/// Operators that stand for one another; those that jump at a rounding error are left out.
const std::vector<std::vector<std::string>> kKinds = {
    {"Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Erf", "Softplus", "Identity", "Sin", "HardSwish",
     "Elu", "LeakyRelu", "Selu", "Softsign", "HardSigmoid"},
    {"Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum"},
    {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare"},
    {"MaxPool", "AveragePool"},
    {"GlobalMaxPool", "GlobalAveragePool"},
    {"Softmax", "LogSoftmax"}};

const std::vector<std::string>* kind_of(const std::string& op) {
  const auto holds = [&](const auto& kind) { return std::ranges::find(kind, op) != kind.end(); };
  const auto found = std::ranges::find_if(kKinds, holds);
  return found == kKinds.end() ? nullptr : &*found;
}

class Mutation {
 public:
  Mutation(onnx::GraphProto* graph, Rng& rng) : graph_(*graph), rng_(rng) {}

  /// False where there is nothing of the kind that was drawn.
  bool run() {
    if (graph_.node_size() == 0) return false;
    switch (rng_.below(8)) {
      case 0:
        return change_attribute();
      case 1:
        return change_operator();
      case 2:
        return change_tensor();
      case 3:
        return rewire();
      case 4:
        return leave_out();
      case 5:
        return repeat();
      default:
        return insert();
    }
  }

 private:
  onnx::NodeProto* any_node() {
    return graph_.mutable_node(
        static_cast<int>(one_of(static_cast<size_t>(graph_.node_size()), rng_)));
  }

  std::string fresh_name() {
    std::set<std::string> names;
    for (const auto& node : graph_.node()) names.insert(node.output().begin(), node.output().end());
    for (int i = 0;; ++i)
      if (std::string name = fmt::format("mutant_{}", i); !names.contains(name)) return name;
  }

  bool change_attribute() {
    onnx::NodeProto* node = any_node();
    if (node->attribute_size() == 0) return false;
    auto* attribute = node->mutable_attribute(
        static_cast<int>(one_of(static_cast<size_t>(node->attribute_size()), rng_)));
    const auto other = [&](int64_t value) {
      const int64_t values[] = {value + 1, value - 1, 0, 1, -1, 2 * value};
      return values[rng_.below(std::size(values))];
    };
    if (attribute->has_i())
      attribute->set_i(other(attribute->i()));
    else if (attribute->has_f())
      attribute->set_f(attribute->f() * 0.5F + 0.25F);
    else if (attribute->ints_size() > 0) {
      const auto at = static_cast<int>(one_of(static_cast<size_t>(attribute->ints_size()), rng_));
      attribute->set_ints(at, other(attribute->ints(at)));
    } else {
      node->mutable_attribute()->RemoveLast();
    }
    return true;
  }

  bool change_operator() {
    onnx::NodeProto* node = any_node();
    const std::vector<std::string>* kind = kind_of(node->op_type());
    if (kind == nullptr || !node->domain().empty()) return false;
    node->set_op_type((*kind)[one_of(kind->size(), rng_)]);
    if (kind == kKinds.data()) node->clear_attribute();
    return true;
  }

  bool change_tensor() {
    if (graph_.initializer_size() == 0) return false;
    auto* tensor = graph_.mutable_initializer(
        static_cast<int>(one_of(static_cast<size_t>(graph_.initializer_size()), rng_)));
    const float floats[] = {0, 1, -1, 0.5F, 2};
    const int64_t integers[] = {0, 1, -1, 2, 3};
    const auto fill = [&](auto values) {
      using Value = std::remove_reference_t<decltype(values[0])>;
      const size_t count = tensor->raw_data().size() / sizeof(Value);
      if (count == 0) return false;
      auto* data = reinterpret_cast<Value*>(tensor->mutable_raw_data()->data());
      const Value value = values[rng_.below(5)];
      const size_t first = rng_.below(2) == 0 ? 0 : one_of(count, rng_);
      std::fill(data + first, rng_.below(2) == 0 ? data + count : data + first + 1, value);
      return true;
    };
    if (tensor->data_type() == onnx::TensorProto::FLOAT) return fill(std::to_array(floats));
    if (tensor->data_type() == onnx::TensorProto::INT64) return fill(std::to_array(integers));
    return false;
  }

  /// Values that are known before that node.
  std::vector<std::string> values_before(int node) const {
    std::vector<std::string> values;
    for (const auto& input : graph_.input()) values.push_back(input.name());
    for (const auto& tensor : graph_.initializer()) values.push_back(tensor.name());
    for (int i = 0; i < node; ++i)
      values.insert(values.end(), graph_.node(i).output().begin(), graph_.node(i).output().end());
    std::erase(values, "");
    return values;
  }

  bool rewire() {
    const auto at = static_cast<int>(one_of(static_cast<size_t>(graph_.node_size()), rng_));
    onnx::NodeProto* node = graph_.mutable_node(at);
    const std::vector<std::string> values = values_before(at);
    if (node->input_size() == 0 || values.empty()) return false;
    node->set_input(static_cast<int>(one_of(static_cast<size_t>(node->input_size()), rng_)),
                    values[one_of(values.size(), rng_)]);
    return true;
  }

  void replace_uses(const std::string& from, const std::string& to, int after) {
    for (int i = after; i < graph_.node_size(); ++i)
      for (auto& input : *graph_.mutable_node(i)->mutable_input())
        if (input == from) input = to;
  }

  bool leave_out() {
    onnx::NodeProto* node = any_node();
    if (node->input_size() == 0 || node->input(0).empty()) return false;
    const std::string input = node->input(0), output = node->output(0);
    node->Clear();
    node->set_op_type("Identity");
    node->add_input(input);
    node->add_output(output);
    return true;
  }

  /// A second node of the same, which some of the users read.
  bool repeat() {
    const auto at = static_cast<int>(one_of(static_cast<size_t>(graph_.node_size()), rng_));
    onnx::NodeProto copy = graph_.node(at);
    if (copy.output_size() != 1) return false;
    const std::string name = fresh_name();
    replace_uses(copy.output(0), name, at + 1 + static_cast<int>(rng_.below(3)));
    copy.set_output(0, name);
    copy.clear_name();
    put(std::move(copy), at + 1);
    return true;
  }

  /// Between a value and what reads it.
  bool insert() {
    const auto at = static_cast<int>(one_of(static_cast<size_t>(graph_.node_size()), rng_));
    const std::string value = graph_.node(at).output(0);
    if (value.empty()) return false;
    onnx::NodeProto node;
    const char* kMoves[] = {"Transpose", "Identity", "Relu", "Neg",    "Tanh",
                            "Flatten",   "Mul",      "Add",  "Concat", "Softmax"};
    node.set_op_type(kMoves[rng_.below(std::size(kMoves))]);
    node.add_input(value);
    if (node.op_type() == "Mul" || node.op_type() == "Add" || node.op_type() == "Concat") {
      const std::vector<std::string> values = values_before(at + 1);
      node.add_input(rng_.below(2) == 0 ? value : values[one_of(values.size(), rng_)]);
    }
    if (node.op_type() == "Concat") {
      auto* axis = node.add_attribute();
      axis->set_name("axis");
      axis->set_type(onnx::AttributeProto::INT);
      axis->set_i(static_cast<int64_t>(rng_.below(3)));
    }
    const std::string name = fresh_name();
    node.add_output(name);
    replace_uses(value, name, at + 1);
    put(std::move(node), at + 1);
    for (auto& output : *graph_.mutable_output())
      if (output.name() == value && rng_.below(2) == 0) output.set_name(name);
    return true;
  }

  void put(onnx::NodeProto node, int at) {
    *graph_.add_node() = std::move(node);
    for (int i = graph_.node_size() - 1; i > at; --i) graph_.mutable_node()->SwapElements(i, i - 1);
  }

  onnx::GraphProto& graph_;
  Rng& rng_;
};

}  // namespace

void mutate(onnx::GraphProto* graph, Rng& rng) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i)
    if (Mutation(graph, rng).run()) return;
}

void forget_types(onnx::GraphProto* graph) {
  graph->clear_value_info();
  for (auto& output : *graph->mutable_output())
    if (output.type().has_tensor_type())
      output.mutable_type()->mutable_tensor_type()->clear_shape();
}

}  // namespace reverie::testing
