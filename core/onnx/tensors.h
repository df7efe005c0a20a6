#pragma once

#include <functional>
#include <string>

#include "core/ir/weight.h"
#include "core/onnx/external.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// The doc_string of an initializer whose elements a formula gives (core/ir/formula.h), or that is
/// large and known (Weight::known).
inline constexpr char kFormulaMark[] = "by formula";

/// The constant that `tensor` stores; a formula or known where it says so. Large ones that lie in a
/// file are read again when they are needed, but a missing or short file is found now. InputError
/// names the tensor. Not for strings.
WeightPtr read_weight(const onnx::TensorProto& tensor, ExternalFiles& files);
/// The same under another name, and as it is stored.
WeightPtr read_constant(const onnx::TensorProto& tensor, const std::string& name,
                        ExternalFiles& files);
/// The same for a tensor that has to be small, as in an attribute.
Tensor read_tensor(const onnx::TensorProto& tensor, ExternalFiles& files);

/// Brings data that lies in files into the tensors of the node's attributes, subgraphs included.
/// InputError as for read_weight, and where the node becomes larger than a message may be.
void embed_external_data(onnx::NodeProto* node, ExternalFiles& files);
/// The same for all tensors of a graph.
void embed_external_data(onnx::GraphProto* graph, ExternalFiles& files);
/// The same for a sparse tensor.
void embed_external_data(onnx::SparseTensorProto* tensor, ExternalFiles& files);

/// Shows every tensor of the model: of its graph, of subgraphs and of functions.
void visit_tensors(onnx::ModelProto* model, const std::function<void(onnx::TensorProto*)>& visit);

/// Name and type.
void write_type(const TensorType& type, const std::string& name, onnx::TensorProto* out);
/// Name, type and data, the latter inline.
void write_tensor(const Tensor& tensor, const std::string& name, onnx::TensorProto* out);

}  // namespace reverie::proto
