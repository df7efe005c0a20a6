#include "core/onnx/check_functions.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"

namespace reverie::proto {
namespace {

class Expansion {
 public:
  explicit Expansion(const onnx::ModelProto& model) {
    for (const auto& function : model.functions())
      functions_.emplace(name_of(function.domain(), function.name()), Function{&function});
  }

  /// How many nodes these become.
  template <typename Nodes>
  int64_t count(const Nodes& nodes, int depth) {
    int64_t total = 0;
    for (const onnx::NodeProto& node : nodes) {
      total += count_node(node, depth);
      if (total > kMostNodes)
        throw InputError("has more than {} nodes when its functions are written out", kMostNodes);
    }
    return total;
  }

 private:
  struct Function {
    const onnx::FunctionProto* proto = nullptr;
    int64_t nodes = -1;  ///< not known yet
    bool is_open = false;
  };

  static std::string name_of(const std::string& domain, const std::string& name) {
    return (is_standard_domain(domain) ? "" : domain) + ":" + name;
  }

  int64_t count_node(const onnx::NodeProto& node, int depth) {
    int64_t total = 1;
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) total += count(attribute.g().node(), depth);
      for (const auto& graph : attribute.graphs()) total += count(graph.node(), depth);
    }
    const auto called = functions_.find(name_of(node.domain(), node.op_type()));
    return called == functions_.end() ? total : total + count_function(called->second, depth + 1);
  }

  int64_t count_function(Function& function, int depth) {
    if (function.nodes >= 0) return function.nodes;
    if (function.is_open) throw InputError("function '{}' calls itself", function.proto->name());
    if (depth > kDeepestCalls)
      throw InputError("its functions call one another more than {} deep", kDeepestCalls);
    function.is_open = true;
    const int64_t nodes = count(function.proto->node(), depth);
    function.is_open = false;
    return function.nodes = nodes;
  }

  std::unordered_map<std::string, Function> functions_;
};

}  // namespace

void check_functions(const onnx::ModelProto& model) {
  if (model.functions_size() == 0) return;
  Expansion expansion(model);
  expansion.count(model.graph().node(), 0);
  for (const auto& function : model.functions()) expansion.count(function.node(), 0);
}

}  // namespace reverie::proto
