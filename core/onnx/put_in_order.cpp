#include "core/onnx/put_in_order.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/output.h"
#include "core/onnx/import.h"
#include "core/onnx/sort_nodes.h"
#include "core/onnx/subgraphs.h"

namespace reverie::proto {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Imports = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;

/// Of those with one name the last; the names.
template <typename Messages, typename NameOf>
std::set<std::string> keep_last(Messages* messages, NameOf name_of) {
  std::set<std::string> names;
  for (int i = messages->size(); i-- > 0;)
    if (!names.insert(name_of(messages->Get(i))).second) messages->DeleteSubrange(i, 1);
  return names;
}

void collect_domains(const Nodes& nodes, std::set<std::string>* domains) {
  for (const auto& node : nodes) {
    domains->insert(is_standard_domain(node.domain()) ? "" : node.domain());
    for_each_subgraph(
        node, [&](const onnx::GraphProto& graph) { collect_domains(graph.node(), domains); });
  }
}

int newest_known_version(const std::string& domain) {
  const auto& ranges = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto range = ranges.find(domain);
  return range == ranges.end() ? 1 : range->second.second;
}

bool settle_imports(const Nodes& nodes, Imports* imports) {
  const int before = imports->size();
  const std::set<std::string> imported =
      keep_last(imports, [](const auto& import) { return import.domain(); });
  bool changed = imports->size() != before;
  std::set<std::string> domains;
  collect_domains(nodes, &domains);
  for (auto& import : *imports) {
    if (!import.domain().empty() || domains.contains("")) continue;
    const int64_t read = import.version();
    import.set_version(std::clamp<int64_t>(read, kOldestOpset, kNewestOpset));
    changed = changed || import.version() != read;
  }
  domains.erase("");
  for (const std::string& domain : domains) {
    if (imported.contains(domain)) continue;
    auto* import = imports->Add();
    import->set_domain(domain);
    import->set_version(newest_known_version(domain));
    changed = true;
  }
  return changed;
}

void refuse_second_sources(const onnx::GraphProto& graph) {
  std::unordered_set<std::string> given;
  for (const auto& input : graph.input()) given.insert(input.name());
  for (const auto& tensor : graph.initializer()) given.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) given.insert(tensor.values().name());
  for (const auto& node : graph.node())
    for (const auto& output : node.output())
      if (!output.empty() && given.contains(output))
        throw InputError("value '{}' has two sources: the graph's inputs or initializers, and {}",
                         readable(output), described(node));
}

void require_names(const onnx::GraphProto& graph) {
  for (const auto& input : graph.input())
    if (input.name().empty()) throw InputError("one of its inputs has no name");
  for (const auto& output : graph.output())
    if (output.name().empty()) throw InputError("one of its outputs has no name");
}

bool settle(onnx::GraphProto* graph) {
  const auto entries = [&] { return graph->initializer_size() + graph->value_info_size(); };
  const int before = entries();
  const bool had_name = !graph->name().empty();
  if (!had_name) graph->set_name("graph");
  keep_last(graph->mutable_initializer(), [](const auto& tensor) { return tensor.name(); });
  auto* values = graph->mutable_value_info();
  const auto is_without_type = [](const auto& value) { return value.type().value_case() == 0; };
  values->erase(std::remove_if(values->begin(), values->end(), is_without_type), values->end());
  refuse_second_sources(*graph);
  bool changed = !had_name || entries() != before;
  for (auto& node : *graph->mutable_node())
    for_each_subgraph(node, [&](onnx::GraphProto& inner) { changed |= settle(&inner); });
  return changed;
}

}  // namespace

bool put_in_order(onnx::ModelProto* model) {
  require_names(model->graph());
  bool changed = settle_imports(model->graph().node(), model->mutable_opset_import());
  changed |= settle(model->mutable_graph());
  changed |= sort_nodes(model->mutable_graph()->mutable_node());
  for (auto& function : *model->mutable_functions()) {
    changed |= settle_imports(function.node(), function.mutable_opset_import());
    changed |= sort_nodes(function.mutable_node());
  }
  return changed;
}

}  // namespace reverie::proto
