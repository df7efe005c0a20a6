#pragma once

#include <string>

#include "core/ir/weight.h"
#include "core/onnx/external.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// The doc_string of an initializer whose elements a formula gives (core/ir/formula.h).
inline constexpr char kFormulaMark[] = "by formula";

/// The constant that `tensor` stores; a formula where it says so and holds one. Large external ones are
/// loaded when they are needed, but a
/// missing or short file is found now. InputError names the tensor. Not for strings.
WeightPtr read_weight(const onnx::TensorProto& tensor, ExternalFiles& files);
/// The same for a tensor that has to be small, as in an attribute.
Tensor read_tensor(const onnx::TensorProto& tensor, ExternalFiles& files);

/// Brings data that lies outside into the tensors of the node's attributes, subgraphs included;
/// element types that the project does not carry stay. InputError as for read_weight.
void embed_external_data(onnx::NodeProto* node, ExternalFiles& files);
/// The same for all tensors of a graph.
void embed_external_data(onnx::GraphProto* graph, ExternalFiles& files);
/// The same for a sparse tensor.
void embed_external_data(onnx::SparseTensorProto* tensor, ExternalFiles& files);

/// Name, type and data, the latter inline.
void write_tensor(const Tensor& tensor, const std::string& name, onnx::TensorProto* out);

}  // namespace reverie::proto
