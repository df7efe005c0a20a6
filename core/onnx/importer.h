#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/onnx/convert.h"
#include "core/onnx/external.h"
#include "core/onnx/import.h"
#include "core/onnx/infer_opaque.h"
#include "core/onnx/observe.h"
#include "core/onnx/opaque_types.h"

namespace reverie::proto {

/// Turns one parsed and checked model into a graph.
class Importer {
 public:
  Importer(const onnx::ModelProto& model, ExternalFiles files);
  /// Adds what it made of each value to `seen` when that is given. Initializers are taken from
  /// `before`, an import of the same file, where that is given.
  ImportedModel run(const ImportOptions& options, Observations* seen = nullptr,
                    const Observations* before = nullptr);

 private:
  void add_inputs(const ImportOptions& options);
  void add_initializers(const Observations* before);
  void add_sparse_initializer(const onnx::SparseTensorProto& tensor);
  void declare_through_identity(const onnx::NodeProto& node);
  void add_node(const onnx::NodeProto& node);
  void add_outputs();
  void observe(Observations* seen) const;
  ModelInfo model_info() const;

  /// Why the table cannot know the node; empty when it may: a standard operator whose inputs are tensors
  /// of numbers. InputError where no runtime could.
  std::string reason_against(const onnx::NodeProto& node) const;
  /// nullopt and the reason when the table cannot express it.
  std::optional<Values> try_convert(const onnx::NodeProto& node, std::string* reason);
  Values add_opaque(const onnx::NodeProto& original, const std::string& reason);
  /// Nodes from `first` on are what `node` became.
  void set_names(const onnx::NodeProto& node, int first, const Values& outputs);
  std::vector<UntouchedNode> live_untouched();
  /// Replaces outputs that are computed from constants alone by their values.
  void fold(const onnx::NodeProto& node, Values* outputs);

  ValueId value(const std::string& name) const;
  std::vector<KnownValue> known_inputs(const onnx::NodeProto& node);
  KnownValue known_value(const std::string& name);
  /// Of an opaque node.
  TensorType output_type(const onnx::NodeProto& node, int output, const onnx::TypeProto& inferred);
  void warn_of_what_stays_out();
  void warn_of_defaults();

  const onnx::ModelProto& model_;
  int opset_;
  ExternalFiles files_;
  std::set<std::string> taken_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_set<ValueId> stored_;  ///< constants that the file holds
  std::unordered_map<std::string, const onnx::ValueInfoProto*> declared_;
  /// What is known of values that TensorType cannot express.
  std::unordered_map<int32_t, onnx::TypeProto> other_types_;
  std::map<std::string, onnx::TensorProto> small_constants_;
  std::map<std::string, int> opaque_counts_;
  std::vector<std::pair<NodeId, UntouchedNode>> untouched_;
  /// The node on which a value of unknown type depends.
  std::unordered_map<int32_t, std::string> unknown_by_;
  OpaqueTypes opaque_types_;
  std::set<std::string> only_declared_;  // values whose type inference does not tell
  bool has_assumed_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace reverie::proto
