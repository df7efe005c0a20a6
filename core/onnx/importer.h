#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/onnx/bind_shapes.h"
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
  /// Once. Adds what it made of each value to `seen` when that is given. Where nodes do not fit the
  /// extents that are assumed, others are tried; where none fit, those inputs have an unknown type.
  /// InputError where a person gave some of them, and for nodes that are wrong whatever they are.
  /// Initializers are taken from `before`, an import of the same file, where that is given.
  ImportedModel run(const ImportOptions& options, Observations* seen = nullptr,
                    const Observations* before = nullptr);

 private:
  ImportedModel read(const ImportOptions& options, const Assumptions& assumptions,
                     Observations* seen);
  std::optional<Misfit> misfit_with(const ImportOptions& options, const Extents& extents) const;
  /// Why the node is wrong, after a conversion has failed; nothing where it need not be.
  void refuse_if_wrong(const onnx::NodeProto& node, const InputError& objection, bool is_wrong);
  void note_misfit(const onnx::NodeProto& node);

  void add_inputs(const ImportOptions& options, const Assumptions& assumptions);
  void add_initializers();
  void add_sparse_initializer(const onnx::SparseTensorProto& tensor);
  void declare_through_identity(const onnx::NodeProto& node);
  void add_node(const onnx::NodeProto& node);
  void add_outputs();
  void observe(Observations* seen) const;
  ModelInfo model_info() const;

  /// Why the table cannot know the node; empty when it may: a standard operator whose inputs are
  /// tensors of numbers. InputError where no runtime could.
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
  const Observations* before_ = nullptr;
  Extents assumed_;
  bool has_given_ = false;
  /// With assumed extents a node is wrong where the table says so, even if ONNX has no objection.
  bool table_decides_ = false;
  int64_t nodes_read_ = 0;
  std::optional<Misfit> misfit_;
  std::vector<std::string> warnings_;
};

}  // namespace reverie::proto
