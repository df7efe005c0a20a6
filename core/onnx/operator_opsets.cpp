#include "core/onnx/operator_opsets.h"

#include "core/onnx/import.h"
#include "core/onnx/newer_opsets.h"
#include "core/onnx/write_node.h"

namespace reverie {

OperatorOpsets opsets_of(const OpSchema& op) {
  OperatorOpsets result;
  if (&op == &input_op() || &op == &opaque_op()) return result;
  for (int opset = kOldestOpset; opset <= kNewestOpset; ++opset) {
    const std::string name = proto::name_at(op, opset);
    if (proto::since_version(name, opset) == 0) continue;
    if (result.names.empty()) result.oldest = opset;
    if (result.names.empty() || result.names.back() != name) result.names.push_back(name);
    result.newest = opset;
  }
  return result;
}

}  // namespace reverie
