#include "core/models/zoo/net.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/ir/half.h"

namespace reverie::zoo {
namespace {

/// The version of the format that came with an opset.
int ir_version(int opset) {
  if (opset <= 9) return 4;
  if (opset <= 10) return 5;
  if (opset <= 11) return 6;
  return opset <= 14 ? 7 : 8;
}

onnx::TensorProto tensor_of(int32_t type, const Ints& dims) {
  onnx::TensorProto tensor;
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

template <class T, class V>
onnx::TensorProto raw_tensor(int32_t type, const Ints& dims, const V& values) {
  onnx::TensorProto tensor = tensor_of(type, dims);
  std::vector<T> elements;
  for (const auto value : values) elements.push_back(static_cast<T>(value));
  tensor.set_raw_data(elements.data(), elements.size() * sizeof(T));
  return tensor;
}

int64_t elements_of(const Ints& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

void set_type(int32_t type, const Dims& dims, onnx::TypeProto* out) {
  onnx::TypeProto::Tensor* tensor = out->mutable_tensor_type();
  tensor->set_elem_type(type);
  onnx::TensorShapeProto* shape = tensor->mutable_shape();
  for (const Dim& dim : dims) {
    onnx::TensorShapeProto::Dimension* added = shape->add_dim();
    if (const int64_t* extent = std::get_if<int64_t>(&dim))
      added->set_dim_value(*extent);
    else
      added->set_dim_param(std::get<std::string>(dim));
  }
}

struct AttributeWriter {
  onnx::AttributeProto* out;

  void operator()(int64_t value) const {
    out->set_type(onnx::AttributeProto::INT);
    out->set_i(value);
  }
  void operator()(float value) const {
    out->set_type(onnx::AttributeProto::FLOAT);
    out->set_f(value);
  }
  void operator()(const std::string& value) const {
    out->set_type(onnx::AttributeProto::STRING);
    out->set_s(value);
  }
  void operator()(const Ints& values) const {
    out->set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : values) out->add_ints(value);
  }
  void operator()(const Floats& values) const {
    out->set_type(onnx::AttributeProto::FLOATS);
    for (const float value : values) out->add_floats(value);
  }
  void operator()(const onnx::TensorProto& value) const {
    out->set_type(onnx::AttributeProto::TENSOR);
    *out->mutable_t() = value;
  }
  void operator()(const onnx::GraphProto& value) const {
    out->set_type(onnx::AttributeProto::GRAPH);
    *out->mutable_g() = value;
  }
};

}  // namespace

onnx::TensorProto floats_tensor(const Ints& dims, const Floats& values) {
  return raw_tensor<float>(kFloat, dims, values);
}

onnx::TensorProto ints_tensor(const Ints& dims, const Ints& values) {
  return raw_tensor<int64_t>(kInt64, dims, values);
}

onnx::TensorProto bools_tensor(const Ints& dims, const std::vector<bool>& values) {
  return raw_tensor<uint8_t>(kBool, dims, values);
}

onnx::TensorProto small_ints_tensor(int32_t type, const Ints& dims, const Ints& values) {
  if (type == onnx::TensorProto::INT8) return raw_tensor<int8_t>(type, dims, values);
  if (type == onnx::TensorProto::UINT8) return raw_tensor<uint8_t>(type, dims, values);
  REVERIE_CHECK(type == kInt32);
  return raw_tensor<int32_t>(type, dims, values);
}

Net::Net(const std::string& name, int opset, uint64_t seed, bool half)
    : graph_(model_.mutable_graph()), opset_(opset), half_(half), rng_(seed) {
  model_.set_ir_version(ir_version(opset));
  model_.set_producer_name("reverie");
  model_.add_opset_import()->set_version(opset);
  graph_->set_name(name);
}

Value Net::input(const std::string& name, int32_t type, const Dims& dims) {
  onnx::ValueInfoProto* added = graph_->add_input();
  added->set_name(name);
  set_type(type, dims, added->mutable_type());
  return name;
}

void Net::output(const std::string& name, const Value& value, int32_t type, const Dims& dims) {
  bool found = false;
  for (onnx::NodeProto& node : *graph_->mutable_node()) {
    for (std::string& input : *node.mutable_input())
      if (input == value) input = name;
    for (std::string& output : *node.mutable_output()) {
      if (output != value) continue;
      output = name;
      found = true;
    }
  }
  REVERIE_CHECK(found);
  onnx::ValueInfoProto* added = graph_->add_output();
  added->set_name(name);
  set_type(type, dims, added->mutable_type());
}

std::string Net::path(const std::string& name, char separator) const {
  std::string result;
  for (const std::string& part : modules_) result += part + separator;
  return result + name;
}

std::string Net::node_name(const std::string& op) {
  if (opset_ <= 12) return op + "_" + std::to_string(nodes_++);
  const std::string base = fmt::format("/{}", path(op, '/'));
  const int use = uses_[base]++;
  return use == 0 ? base : base + "_" + std::to_string(use);
}

Value Net::fresh(size_t index, const std::string& node) {
  if (opset_ <= 12) return std::to_string(values_++);
  return node + "_output_" + std::to_string(index);
}

Values Net::add_many(const std::string& op, const Values& inputs, size_t count,
                     const Attributes& attributes) {
  onnx::NodeProto* node = graph_->add_node();
  node->set_op_type(op);
  node->set_name(node_name(op));
  for (const Value& value : inputs) node->add_input(value);
  for (const auto& [name, value] : attributes) {
    onnx::AttributeProto* attribute = node->add_attribute();
    attribute->set_name(name);
    std::visit(AttributeWriter{attribute}, value);
  }
  Values outputs;
  for (size_t i = 0; i < count; ++i) {
    outputs.push_back(fresh(i, node->name()));
    node->add_output(outputs.back());
  }
  return outputs;
}

Value Net::add(const std::string& op, const Values& inputs, const Attributes& attributes) {
  return add_many(op, inputs, 1, attributes)[0];
}

Value Net::constant(const onnx::TensorProto& tensor) {
  return add("Constant", {}, {{"value", tensor}});
}

Value Net::number(float value) {
  if (half_) return constant(raw_tensor<Float16>(kHalf, {}, Floats{value}));
  return constant(floats_tensor({}, {value}));
}

Value Net::integer(int64_t value) { return constant(ints_tensor({}, {value})); }

Value Net::ints(const Ints& values) {
  return constant(ints_tensor({static_cast<int64_t>(values.size())}, values));
}

Value Net::initializer(const std::string& name, onnx::TensorProto tensor) {
  const Value full = path(name, '.');
  if (!initializers_.insert(full).second) return full;
  tensor.set_name(full);
  *model_.mutable_graph()->add_initializer() = std::move(tensor);
  return full;
}

Value Net::floats(const std::string& name, const Ints& dims, const Floats& values) {
  if (half_) return initializer(name, raw_tensor<Float16>(kHalf, dims, values));
  return initializer(name, floats_tensor(dims, values));
}

Floats Net::draw(const std::string& name, size_t count, double deviation) {
  Rng stream = rng_.fork(hash_string(path(name, '.')));
  // Uniform on +-sqrt(3) times the deviation has that deviation.
  const double reach = std::sqrt(3.0) * deviation;
  Floats values(count);
  for (float& value : values) value = static_cast<float>(stream.uniform(-reach, reach));
  return values;
}

Value Net::drawn(const std::string& name, const Ints& dims, double deviation) {
  return floats(name, dims, draw(name, static_cast<size_t>(elements_of(dims)), deviation));
}

Value Net::weight(const std::string& name, const Ints& dims, int64_t fan_in, double gain) {
  if (has_initializer(name)) return path(name, '.');
  return drawn(name, dims, std::sqrt(gain / static_cast<double>(fan_in)));
}

Value Net::positive(const std::string& name, const Ints& dims) {
  // Of the deviation sqrt(1/12), so that the draw reaches a half to both sides.
  Floats values = draw(name, static_cast<size_t>(elements_of(dims)), std::sqrt(1.0 / 12));
  for (float& value : values) value += 1;
  return floats(name, dims, values);
}

onnx::GraphProto Net::subgraph(const std::string& name, const std::function<void()>& body) {
  onnx::GraphProto result;
  result.set_name(name);
  onnx::GraphProto* outer = std::exchange(graph_, &result);
  body();
  graph_ = outer;
  return result;
}

std::string Net::finish() { return model_.SerializeAsString(); }

}  // namespace reverie::zoo
