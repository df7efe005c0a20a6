#include <numeric>

#include "core/base/error.h"
#include "core/exec/cpu/builder.h"

namespace reverie::cpu {

using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

namespace {

/// The layout in which convolutions of this processor like to leave images.
Tag image_layout() {
  static const Tag tag = [] {
    const dnnl::convolution_forward::primitive_desc chosen(
        {dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
         any_layout({1, 64, 28, 28}), any_layout({64, 64, 3, 3}), any_layout({1, 64, 28, 28}),
         Dims{1, 1}, Dims{1, 1}, Dims{1, 1}},
        engine());
    const auto& blocking = chosen.dst_desc().data.format_desc.blocking;
    if (blocking.inner_nblks == 0) return blocking.strides[1] == 1 ? Tag::acdb : Tag::abcd;
    return blocking.inner_blks[0] == 16 ? Tag::aBcd16b : Tag::aBcd8b;
  }();
  return tag;
}

}  // namespace

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

bool has_data_type(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kInt32 || dtype == DType::kInt8 ||
         dtype == DType::kUInt8 || dtype == DType::kBool;
}

Type data_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return Type::f32;
    case DType::kInt32:
      return Type::s32;
    case DType::kInt8:
      return Type::s8;
    default:
      return Type::u8;
  }
}

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

Desc strided(const Dims& dims, const Dims& strides, Type type) { return {dims, type, strides}; }

Desc dense(const Dims& dims, Type type) { return strided(dims, row_major_strides(dims), type); }

Desc any_layout(const Dims& dims) { return {dims, Type::f32, dnnl::memory::format_tag::any}; }

Desc plain_desc(const TensorType& type) {
  if (!has_data_type(type.dtype) || type.elements() == 0 || type.rank() > DNNL_MAX_NDIMS)
    return dense({std::max<int64_t>(type.bytes(), 1)}, Type::u8);
  return dense(type.shape.empty() ? Dims{1} : Dims(type.shape), data_type(type.dtype));
}

Desc natural_desc(const TensorType& type) {
  constexpr int64_t kBlock = 16;
  if (type.dtype == DType::kFloat32 && type.rank() == 4 && type.shape[1] % kBlock == 0)
    return {type.shape, dnnl::memory::data_type::f32, image_layout()};
  return plain_desc(type);
}

bool same_layout(const Desc& a, const Desc& b) {
  if (a == b) return true;
  const dnnl_memory_desc_t& x = a.data;
  const dnnl_memory_desc_t& y = b.data;
  if (a.dims() != b.dims() || x.data_type != y.data_type) return false;
  for (const dnnl_memory_desc_t* desc : {&x, &y})
    if (desc->format_kind != dnnl_blocked || desc->format_desc.blocking.inner_nblks != 0 ||
        desc->offset0 != 0 || desc->extra.flags != 0)
      return false;
  for (int i = 0; i < x.ndims; ++i)
    if (x.dims[i] != 1 && x.format_desc.blocking.strides[i] != y.format_desc.blocking.strides[i])
      return false;
  return true;
}

}  // namespace reverie::cpu
