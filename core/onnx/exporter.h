#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/onnx/export.h"
#include "core/onnx/infer_opaque.h"
#include "core/onnx/write_node.h"

namespace reverie::proto {

/// Smaller fills are stored with their elements (bytes): some runtimes want a filter as an
/// initializer, and compute an Expand whenever the model runs.
inline constexpr int64_t kLargestStoredFill = 64 << 10;

/// A weight that goes into the model, and the name it has there.
struct StoredWeight {
  std::string name;
  WeightPtr weight;
};

/// A node of the model that stands in it as it came.
struct OpaqueNode {
  int place;  ///< in the graph
  std::vector<KnownValue> inputs;
  std::vector<TensorType> outputs;
};

/// The model without the data of its large weights.
struct ModelSkeleton {
  onnx::ModelProto model;
  std::vector<StoredWeight> weights;
  /// Nodes that came as they are, or that the standard lacks, to which ONNX may object, and for
  /// which its shape inference may know no answer.
  std::vector<OpaqueNode> opaque_nodes;
  /// Its inputs have symbolic dimensions.
  bool is_symbolic = false;
};

/// Writes a lowered graph into a model.
class Exporter {
 public:
  Exporter(const Graph& graph, const ModelInfo& info, const Language& language,
           const std::set<std::string>& symbols = {});
  ModelSkeleton run();

 private:
  void name_values();
  void name_constants();
  void restore_names();
  std::string operator_stem(NodeId node) const;
  std::string node_name(NodeId node, std::string own = {});
  std::string fresh_name(const std::string& stem);
  bool claim(const std::string& name) { return taken_.insert(name).second; }

  void write_header();
  void write_interface();
  void write_constants();
  void write_fill(const std::string& name, const Weight& weight);
  void write_expand(const std::string& name, const Weight& weight);
  std::map<std::string, std::string> other_local_names(const onnx::NodeProto& node);
  void write_opaque(NodeId node);
  void add_notes(NodeId id, onnx::NodeProto* node) const;
  OpaqueNode described_opaque(NodeId node) const;
  void write_declared_types(const std::vector<std::string>& values);
  void write_nodes();
  void write_operation(NodeId node, const std::vector<std::string>& outputs, Target& target);
  void write_outputs();

  const std::string& name_of_value(ValueId value) const {
    return names_[static_cast<size_t>(value.index)];
  }
  std::vector<std::string> names_of(std::span<const ValueId> values) const;
  onnx::ValueInfoProto value_info(const std::string& name, const TensorType& type,
                                  bool is_output) const;

  const Graph& graph_;
  const ModelInfo& info_;
  Language language_;
  std::set<std::string> symbols_;
  ModelSkeleton skeleton_;
  std::vector<std::string> names_;
  std::set<std::string> taken_;
  std::set<std::string> in_scope_;  // of constants and of the outputs of nodes that were written
  std::unordered_map<std::string, int> next_number_;
  std::set<std::string> node_names_;
  std::unordered_map<std::string, int> next_node_number_;
};

}  // namespace reverie::proto
