#include "core/onnx/captures.h"

#include <algorithm>
#include <utility>

#include "core/onnx/subgraphs.h"

namespace reverie::proto {
namespace {

std::set<std::string> defined_at_entry(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  return names;
}

/// What a graph has defined so far, within what those around it have.
struct Scope {
  const Scope* outer = nullptr;
  std::set<std::string> defined;

  bool contains(const std::string& name) const {
    return defined.contains(name) || (outer != nullptr && outer->contains(name));
  }
};

/// Names in the order of their first use.
class Captured {
 public:
  void collect(const onnx::GraphProto& graph, const Scope* outer) {
    Scope scope = {outer, defined_at_entry(graph)};
    for (const auto& node : graph.node()) {
      for (const auto& input : node.input()) use(input, scope);
      for_each_subgraph(node, [&](const onnx::GraphProto& inner) { collect(inner, &scope); });
      scope.defined.insert(node.output().begin(), node.output().end());
    }
    for (const auto& output : graph.output()) use(output.name(), scope);
  }

  std::vector<std::string> take() { return std::move(names_); }

 private:
  void use(const std::string& name, const Scope& scope) {
    if (!name.empty() && !scope.contains(name) && known_.insert(name).second)
      names_.push_back(name);
  }

  std::vector<std::string> names_;
  std::set<std::string> known_;
};

void collect_local(const onnx::GraphProto& graph, std::set<std::string>* names) {
  names->merge(defined_at_entry(graph));
  for (const auto& node : graph.node()) {
    names->insert(node.output().begin(), node.output().end());
    for_each_subgraph(node, [&](const onnx::GraphProto& inner) { collect_local(inner, names); });
  }
}

void rename(onnx::GraphProto* graph, std::map<std::string, std::string> names) {
  for (const std::string& name : defined_at_entry(*graph)) names.erase(name);
  const auto replace = [&](std::string* name) {
    const auto at = names.find(*name);
    if (at != names.end()) *name = at->second;
  };
  for (auto& node : *graph->mutable_node()) {
    for (auto& input : *node.mutable_input()) replace(&input);
    for_each_subgraph(node, [&](onnx::GraphProto& inner) { rename(&inner, names); });
    for (const auto& output : node.output()) names.erase(output);
  }
  for (auto& output : *graph->mutable_output()) replace(output.mutable_name());
}

void rename_all(onnx::GraphProto* graph, const std::map<std::string, std::string>& names) {
  const auto replace = [&](std::string* name) {
    const auto at = names.find(*name);
    if (at != names.end()) *name = at->second;
  };
  for (auto& input : *graph->mutable_input()) replace(input.mutable_name());
  for (auto& output : *graph->mutable_output()) replace(output.mutable_name());
  for (auto& info : *graph->mutable_value_info()) replace(info.mutable_name());
  for (auto& tensor : *graph->mutable_initializer()) replace(tensor.mutable_name());
  for (auto& tensor : *graph->mutable_sparse_initializer())
    replace(tensor.mutable_values()->mutable_name());
  for (auto& note : *graph->mutable_quantization_annotation()) replace(note.mutable_tensor_name());
  for (auto& node : *graph->mutable_node()) {
    for (auto& input : *node.mutable_input()) replace(&input);
    for (auto& output : *node.mutable_output()) replace(&output);
    for_each_subgraph(node, [&](onnx::GraphProto& inner) { rename_all(&inner, names); });
  }
}

}  // namespace

std::vector<std::string> captured_names(const onnx::NodeProto& node) {
  Captured captured;
  for_each_subgraph(node, [&](const onnx::GraphProto& graph) { captured.collect(graph, nullptr); });
  return captured.take();
}

std::set<std::string> names_taken(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& output : graph.output()) names.insert(output.name());
  for (const auto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    const std::vector<std::string> captured = captured_names(node);
    names.insert(captured.begin(), captured.end());
  }
  names.erase("");  // an absent input
  return names;
}

std::set<std::string> local_names(const onnx::NodeProto& node) {
  std::set<std::string> names;
  for_each_subgraph(node, [&](const onnx::GraphProto& graph) { collect_local(graph, &names); });
  return names;
}

void rename_captured(onnx::NodeProto* node, const std::map<std::string, std::string>& names) {
  for_each_subgraph(*node, [&](onnx::GraphProto& graph) { rename(&graph, names); });
}

void rename_local(onnx::NodeProto* node, const std::map<std::string, std::string>& names) {
  if (names.empty()) return;
  for_each_subgraph(*node, [&](onnx::GraphProto& graph) { rename_all(&graph, names); });
}

std::vector<std::string> canonical_captures(const onnx::NodeProto& node, size_t count) {
  std::string prefix = "outer_";
  const std::set<std::string> locals = local_names(node);
  const auto clashes = [&](const std::string& name) { return name.starts_with(prefix); };
  while (std::any_of(locals.begin(), locals.end(), clashes)) prefix = "_" + prefix;
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

}  // namespace reverie::proto
