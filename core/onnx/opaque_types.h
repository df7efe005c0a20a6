#pragma once

#include <map>
#include <set>
#include <string>

#include "core/ir/types.h"
#include "core/onnx/import.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// The type that the subgraphs of If, Loop and Scan declare for an output; not set where they
/// declare none, or several.
onnx::TypeProto declared_by_subgraphs(const onnx::NodeProto& node, int output);

/// Finds types for outputs of opaque nodes.
class OpaqueTypes {
 public:
  OpaqueTypes() = default;
  /// `symbols`: extents of the dimensions of graph inputs, by name.
  OpaqueTypes(const ImportOptions& options, std::map<std::string, int64_t> symbols);

  /// The rank and extents that inference tells, else those that the file declares. An extent that
  /// neither tells is one that depends on data, unless the file says that it is a symbol of the
  /// inputs. known() == false where nothing tells the rank or the element type, and for what is too
  /// large.
  TensorType type(const std::string& name, const onnx::TypeProto& inferred,
                  const onnx::TypeProto& declared);

  const std::map<std::string, int64_t>& data_extents() const { return data_extents_; }

 private:
  int64_t data_extent(const std::string& symbol);

  std::map<std::string, int64_t> given_;
  bool bind_ = true;
  std::map<std::string, int64_t> symbols_;
  std::map<std::string, int64_t> data_extents_;
};

}  // namespace reverie::proto
