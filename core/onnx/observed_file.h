#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/onnx/import.h"
#include "core/onnx/observe.h"
#include "core/onnx/read_model.h"

namespace reverie::proto {

struct InputAxis {
  std::string input;
  int axis = 0;
};

/// An ONNX file with its symbolic dimensions bound in several ways: first as in a given import, then with other
/// extents at which it can be imported as far.
class ObservedFile {
 public:
  /// `model` was imported from `path`.
  ObservedFile(const std::filesystem::path& path, const ImportedModel& model);

  /// Whether other extents were found.
  bool has_others() const { return seen_.size() > 1; }
  /// Without initializers.
  const onnx::ModelProto& model() const { return file_.model; }

  /// At the first binding; nullptr for what the file does not have.
  const Observed* bound(const std::string& name) const;
  /// nullptr where it is no output of a node.
  const onnx::NodeProto* producer(const std::string& name) const;
  /// A stored constant at the first binding that is another one, or none, at some other.
  bool constant_depends(const std::string& name) const;
  bool type_depends(const std::string& name) const;
  /// By binding; empty where it has no such axis at each.
  std::vector<int64_t> extents(const std::string& name, int axis) const;
  /// By binding, of a constant of int64; empty where it has no such element at each.
  std::vector<int64_t> elements(const std::string& name, int64_t index) const;
  /// One that has these extents.
  std::optional<InputAxis> input_axis(const std::vector<int64_t>& extents) const;

 private:
  ModelFile file_;
  std::vector<std::string> inputs_;
  std::vector<Observations> seen_;  // by binding
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
};

}  // namespace reverie::proto
