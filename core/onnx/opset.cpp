#include "core/onnx/opset.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/onnx/lower.h"
#include "core/onnx/newer_opsets.h"
#include "core/onnx/write_node.h"

namespace reverie::proto {
namespace {

/// Operators whose form of that opset means the same at every newer one up to kNewestOpset: only
/// element types and attributes with a default were added (ONNX's changelog of operators).
struct Lasting {
  const char* op;
  int since;
};
constexpr Lasting kLasting[] = {
    {"Add", 7},     {"Cast", 9},      {"Concat", 4}, {"ConstantOfShape", 9},
    {"Div", 7},     {"Equal", 7},     {"Expand", 8}, {"Gather", 11},
    {"Greater", 9}, {"Identity", 1},  {"Less", 9},   {"Mul", 7},
    {"Neg", 6},     {"Not", 1},       {"Pad", 11},   {"Reshape", 5},
    {"Shape", 1},   {"Size", 1},      {"Slice", 10}, {"Sub", 7},
    {"Tile", 6},    {"Transpose", 1}, {"Where", 9},
};

bool keeps_meaning(const std::string& op, int from) {
  return std::ranges::any_of(kLasting,
                             [&](const Lasting& row) { return op == row.op && from >= row.since; });
}

/// The operator of the first of `nodes`, subgraphs included, whose meaning differs between the
/// opsets; empty when there is none.
template <typename Nodes>
std::string changed_operator(const Nodes& nodes, int a, int b) {
  for (const onnx::NodeProto& node : nodes) {
    if (is_standard_domain(node.domain())) {
      const int since = since_version(node.op_type(), a);
      if (since != 0 && since != since_version(node.op_type(), b) &&
          !keeps_meaning(node.op_type(), a))
        return node.op_type();
    }
    for (const auto& attribute : node.attribute()) {
      std::string found = changed_operator(attribute.g().node(), a, b);
      for (const auto& graph : attribute.graphs())
        if (found.empty()) found = changed_operator(graph.node(), a, b);
      if (!found.empty()) return found;
    }
  }
  return {};
}

std::vector<onnx::NodeProto> untouched_nodes(const Graph& graph, const ModelInfo& info) {
  std::vector<onnx::NodeProto> nodes;
  for (const NodeId id : graph.nodes())
    if (&graph.op(id) == &opaque_op())
      REVERIE_CHECK(nodes.emplace_back().ParseFromString(graph.attributes(id).text("proto")));
  for (const std::string& text : info.functions) {
    onnx::FunctionProto function;
    REVERIE_CHECK(function.ParseFromString(text));
    nodes.insert(nodes.end(), function.node().begin(), function.node().end());
  }
  return nodes;
}

/// The first operator that cannot be written in that language; empty when all can.
std::string obstacle_in(const Graph& graph, const Language& language) {
  for (const NodeId id : graph.nodes())
    if (is_operation(graph, id) && &graph.op(id) != &opaque_op() && !can_write(graph, id, language))
      return graph.op(id).name;
  return {};
}

}  // namespace

OpsetRange opset_range(const Graph& graph, const ModelInfo& info) {
  const auto imported = info.opset_imports.find("");
  const auto original = static_cast<int>(
      imported != info.opset_imports.end() ? imported->second : ModelInfo().opset_imports.at(""));
  OpsetRange range = {
      original, original, {}, info.for_onnx_runtime ? Dialect::kRuntime : Dialect::kStandard};
  const std::vector<onnx::NodeProto> nodes = untouched_nodes(graph, info);
  for (; range.newest < kNewestInLibrary; ++range.newest) {
    range.fixed_by = changed_operator(nodes, original, range.newest + 1);
    if (!range.fixed_by.empty()) break;
  }
  range.oldest = std::max(original, kOldestWritten);
  return range;
}

std::optional<Language> find_common_language(const Graph& graph, const OpsetRange& range) {
  for (const Dialect dialect : {Dialect::kStandard, Dialect::kExtended, Dialect::kRuntime})
    for (int opset = range.oldest; dialect <= range.most && opset <= range.newest; ++opset)
      if (const Language language = {opset, dialect}; obstacle_in(graph, language).empty())
        return language;
  return std::nullopt;
}

Language common_language(const Graph& graph, const OpsetRange& range) {
  if (const std::optional<Language> language = find_common_language(graph, range)) return *language;
  if (range.newest < kOldestWritten)
    throw InputError(
        "files are written from opset {} on, where an untouched {} means something else; convert "
        "the model "
        "to a newer opset first",
        kOldestWritten, range.fixed_by);
  const std::string obstacle = obstacle_in(graph, {range.newest, range.most});
  if (range.fixed_by.empty())
    throw InputError("{} cannot be written for any opset up to {}", obstacle, range.newest);
  throw InputError(
      "{} needs a newer opset than {}, for which an untouched {} was written; convert the model to "
      "a "
      "newer opset first",
      obstacle, range.newest, range.fixed_by);
}

}  // namespace reverie::proto
