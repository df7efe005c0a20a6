#include "core/ir/weight.h"

#include <algorithm>
#include <cmath>

#include "core/base/hash.h"
#include "core/ir/graph.h"

namespace reverie {
namespace {

bool counts_as_small(const TensorType& type) {
  return type.elements() <= Weight::kSmallWeight || !is_floating(type.dtype);
}

Tensor element_of(double value, DType dtype) {
  Tensor scalar({DType::kFloat64, {}});
  scalar.data<double>()[0] = value;
  return scalar.cast(dtype);
}

Tensor filled(const TensorType& type, double value) {
  const Tensor element = element_of(value, type.dtype);
  Tensor tensor(type);
  const auto source = element.bytes();
  const auto target = tensor.bytes();
  for (size_t at = 0; at < target.size(); at += source.size())
    std::copy(source.begin(), source.end(), target.begin() + static_cast<ptrdiff_t>(at));
  return tensor;
}

bool has_identity_shape(const Shape& shape) {
  return shape.size() >= 2 && shape[0] == shape[1] &&
         std::none_of(shape.begin(), shape.end(), [](int64_t extent) { return extent == 0; });
}

Tensor identity_tensor(const TensorType& type) {
  Tensor tensor(TensorType{DType::kFloat64, type.shape});
  std::fill(tensor.data<double>().begin(), tensor.data<double>().end(), 0.0);
  int64_t taps = 1, centre = 0;
  for (size_t axis = 2; axis < type.shape.size(); ++axis) {
    taps *= type.shape[axis];
    centre = centre * type.shape[axis] + (type.shape[axis] - 1) / 2;
  }
  const int64_t n = type.shape[0];
  for (int64_t i = 0; i < n; ++i)
    tensor.data<double>()[static_cast<size_t>((i * n + i) * taps + centre)] = 1;
  return tensor.cast(type.dtype);
}

}  // namespace

WeightPtr Weight::dense(Tensor tensor, const std::string& name) {
  auto weight = std::shared_ptr<Weight>(new Weight());
  weight->type_ = tensor.type();
  weight->identity_ =
      hash_bytes(tensor.bytes().data(), tensor.bytes().size(), hash_of(tensor.type()));
  weight->name_ = name;
  weight->small_ = counts_as_small(tensor.type());
  weight->dense_ = std::move(tensor);
  return weight;
}

WeightPtr Weight::fill(TensorType type, double value, const std::string& name) {
  if (type.elements() <= kSmallWeight) return dense(filled(type, value), name);
  value = element_of(value, type.dtype).to_doubles()[0];
  auto weight = std::shared_ptr<Weight>(new Weight());
  weight->small_ = counts_as_small(type);
  const uint64_t meaning =
      weight->small_ ? hash_bytes(&value, sizeof(value), 1) : hash_string(name);
  weight->identity_ = hash_combine(hash_of(type), meaning);
  weight->type_ = std::move(type);
  weight->name_ = name;
  weight->fill_ = true;
  weight->fill_value_ = value;
  return weight;
}

WeightPtr Weight::constant(TensorType type, double value) {
  if (counts_as_small(type)) return fill(std::move(type), value, "");
  value = element_of(value, type.dtype).to_doubles()[0];
  auto weight = std::shared_ptr<Weight>(new Weight());
  weight->small_ = true;
  weight->identity_ = hash_combine(hash_of(type), hash_bytes(&value, sizeof(value), 1));
  weight->type_ = std::move(type);
  weight->fill_ = true;
  weight->fill_value_ = value;
  return weight;
}

WeightPtr Weight::known(Tensor tensor, const std::string& name) {
  const auto weight = std::shared_ptr<Weight>(new Weight(*dense(std::move(tensor), name)));
  weight->small_ = true;
  return weight;
}

WeightPtr Weight::identity_kernel(TensorType type) {
  if (!has_identity_shape(type.shape))
    throw InputError("an identity of shape {}: its first two extents must be equal",
                     to_string(type));
  if (type.elements() <= kSmallWeight) return dense(identity_tensor(type), "");
  auto weight = std::shared_ptr<Weight>(new Weight());
  weight->small_ = true;
  weight->identity_ = hash_combine(hash_of(type), hash_string("identity kernel"));
  weight->type_ = std::move(type);
  weight->identity_kernel_ = true;
  return weight;
}

WeightPtr Weight::computed(const Weight& weight, std::shared_ptr<const Graph> expression) {
  const auto computed = std::shared_ptr<Weight>(new Weight(weight));
  computed->expression_bytes_ = 0;
  for (const NodeId node : expression->nodes())
    if (const WeightPtr& part = expression->weight(node))
      computed->expression_bytes_ += part->least_bytes();
  computed->expression_ = std::move(expression);
  return computed;
}

bool Weight::is_identity_kernel() const {
  if (identity_kernel_ || !small_ || !has_identity_shape(type_.shape)) return identity_kernel_;
  return materialize().to_doubles() == identity_tensor(type_).to_doubles();
}

WeightPtr Weight::stored(TensorType type, Reader reader, const std::string& name) {
  auto weight = std::shared_ptr<Weight>(new Weight());
  weight->small_ = counts_as_small(type);
  weight->type_ = std::move(type);
  weight->name_ = name;
  weight->reader_ = std::move(reader);
  PieceHash hash(static_cast<size_t>(weight->type_.bytes()), hash_of(weight->type_));
  weight->visit_bytes(
      [&](std::span<const std::byte> piece) { hash.add(piece.data(), piece.size()); });
  weight->identity_ = hash.finish();
  return weight;
}

WeightPtr Weight::lazy(TensorType type, uint64_t identity, Loader loader, const std::string& name) {
  auto weight = std::shared_ptr<Weight>(new Weight());
  weight->small_ = counts_as_small(type);
  weight->type_ = std::move(type);
  weight->identity_ = identity;
  weight->name_ = name;
  weight->loader_ = std::move(loader);
  return weight;
}

WeightPtr Weight::of_samples(std::vector<WeightPtr> samples) {
  auto weight = std::shared_ptr<Weight>(new Weight());
  std::vector<TensorType> types;
  for (const WeightPtr& sample : samples) {
    types.push_back(sample->type());
    weight->identity_ = hash_combine(weight->identity_, sample->identity());
  }
  weight->type_ = type_of_samples(types);
  weight->name_ = samples[0]->name();
  weight->samples_ = std::move(samples);
  return weight;
}

Tensor Weight::materialize() const {
  if (varies()) return samples_[0]->materialize();
  if (fill_) return filled(type_, fill_value_);
  if (identity_kernel_) return identity_tensor(type_);
  if (reader_) {
    Tensor tensor(type_);
    reader_(0, tensor.bytes());
    return tensor;
  }
  if (!loader_) return dense_;
  Tensor tensor = loader_();
  if (tensor.type() != type_)
    throw InputError("weight '{}' should be {} but its file holds {}", name_, to_string(type_),
                     to_string(tensor.type()));
  return tensor;
}

void Weight::visit_bytes(const std::function<void(std::span<const std::byte>)>& visit) const {
  if (varies()) return samples_[0]->visit_bytes(visit);
  if (!reader_ && !fill_) return visit(materialize().bytes());
  // Bytes, a multiple of the size of every element; larger ones scatter the memory.
  constexpr int64_t kPiece = 64 << 10;
  const int64_t total = type_.bytes();
  const int64_t count = std::min(total, kPiece) / size_of(type_.dtype);
  Tensor piece =
      fill_ ? filled({type_.dtype, {count}}, fill_value_) : Tensor({type_.dtype, {count}});
  for (int64_t offset = 0; offset < total; offset += kPiece) {
    const auto bytes = piece.bytes().first(static_cast<size_t>(std::min(kPiece, total - offset)));
    if (reader_) reader_(offset, bytes);
    visit(bytes);
  }
}

}  // namespace reverie
