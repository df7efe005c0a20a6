#include "core/onnx/node_opsets.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>

#include "core/onnx/newer_opsets.h"

namespace reverie::proto {
namespace {

/// Versions by domain that the node and its subgraphs need, where the model imports `imports`.
void add_versions(const onnx::NodeProto& node, const std::map<std::string, int64_t>& imports,
                  std::map<std::string, int64_t>* versions) {
  const std::string domain = is_standard_domain(node.domain()) ? "" : node.domain();
  const auto imported = imports.find(domain);
  int64_t version = imported == imports.end() ? 1 : imported->second;
  if (domain.empty())
    if (const int since = since_version(node.op_type(), static_cast<int>(version)); since > 0)
      version = since;
  int64_t& known = versions->try_emplace(domain, version).first->second;
  known = std::max(known, version);
  for (const auto& attribute : node.attribute()) {
    for (const auto& inner : attribute.g().node()) add_versions(inner, imports, versions);
    for (const auto& graph : attribute.graphs())
      for (const auto& inner : graph.node()) add_versions(inner, imports, versions);
  }
}

constexpr std::string_view kStandard = "ai.onnx";

}  // namespace

std::string opsets_of(const onnx::NodeProto& node, const onnx::ModelProto& model) {
  std::map<std::string, int64_t> imports;
  for (const auto& import : model.opset_import())
    imports[is_standard_domain(import.domain()) ? "" : import.domain()] = import.version();
  imports.try_emplace("", kNewestInLibrary);
  std::map<std::string, int64_t> versions;
  add_versions(node, imports, &versions);
  std::string text;
  for (const auto& [domain, version] : versions)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", domain.empty() ? kStandard : domain,
                        version);
  return text;
}

}  // namespace reverie::proto

namespace reverie {

ModelInfo info_for(const Graph& graph) {
  std::map<std::string, int64_t> versions;
  for (const NodeId node : graph.nodes()) {
    if (&graph.op(node) != &opaque_op()) continue;
    std::istringstream text(graph.attributes(node).text("opsets", ""));
    std::string domain;
    for (int64_t version = 0; text >> domain >> version; text.ignore(1)) {
      int64_t& known = versions[domain == proto::kStandard ? "" : domain];
      known = std::max(known, version);
    }
  }
  ModelInfo info;
  for (const auto& [domain, version] : versions)
    info.opset_imports[domain] =
        domain.empty() ? std::max<int64_t>(version, proto::kOldestWritten) : version;
  info.for_onnx_runtime = true;
  return info;
}

}  // namespace reverie
