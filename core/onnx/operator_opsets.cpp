#include "core/onnx/operator_opsets.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <set>

#include "core/onnx/convert.h"
#include "core/onnx/import.h"
#include "core/onnx/newer_opsets.h"
#include "core/onnx/runtime_forms.h"
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
  for (std::string& name : proto::runtime_names(op))
    if (std::ranges::find(result.names, name) == result.names.end())
      result.names.push_back(std::move(name));
  return result;
}

OtherOperators other_operators() {
  std::set<std::string> rows;
  for (const OpSchema& op : all_ops())
    for (std::string& name : opsets_of(op).names) rows.insert(std::move(name));
  OtherOperators others;
  for (const auto& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    const std::string& name = schema.Name();
    if (!schema.domain().empty() || rows.contains(name)) continue;
    const OpSchema* row = find_op(name);  // of a value-shaped operator
    const bool is_read = proto::standard_rule(name) != nullptr || row != nullptr;
    (is_read ? others.read : others.untouched).push_back(name);
  }
  std::ranges::sort(others.read);
  std::ranges::sort(others.untouched);
  return others;
}

}  // namespace reverie
