#include "core/onnx/any_batch.h"

#include "core/onnx/proto.h"

namespace reverie {

ModelInfo with_any_batch(const Graph& graph) {
  ModelInfo info = info_for(graph);
  const auto declare = [&](const std::string& name, const TensorType& type) {
    onnx::ValueInfoProto value;
    value.set_name(name);
    proto::set_tensor_type(type, value.mutable_type());
    auto* shape = value.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(0)->set_dim_param(kBatch);
    info.value_infos[name] = value.SerializeAsString();
  };
  for (const NodeId input : graph.inputs())
    declare(graph.input_name(input), graph.type(graph.output(input)));
  for (const GraphOutput& output : graph.outputs()) declare(output.name, graph.type(output.value));
  return info;
}

}  // namespace reverie
