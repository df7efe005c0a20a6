#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/onnx/import.h"
#include "core/onnx/observe.h"
#include "core/onnx/other_extents.h"
#include "core/onnx/read_model.h"

namespace reverie::proto {

/// One number for each sample.
using Sampled = std::vector<int64_t>;

struct InputAxis {
  std::string input;
  int axis = 0;
};

/// An element of a stored constant.
struct ConstantElement {
  std::string constant;
  int64_t index = 0;
};

/// An ONNX file as imports at several extents of its symbolic dimensions see it: the samples of a
/// graph (core/ir/types.h), in their order.
class SampledFile {
 public:
  SampledFile(ModelFile file, std::vector<std::string> inputs)
      : file_(std::move(file)), inputs_(std::move(inputs)) {}
  void add(Observations seen, Extents extents);
  /// Once all samples are there.
  void index();

  size_t samples() const { return seen_.size(); }
  /// Of the symbols at a sample.
  const Extents& extents(size_t sample) const { return extents_[sample]; }
  /// Without initializers.
  const onnx::ModelProto& model() const { return file_.model; }

  /// At the first sample; nullptr for what the file does not have.
  const Observed* first(const std::string& name) const;
  /// nullptr where it is no output of a node.
  const onnx::NodeProto* producer(const std::string& name) const;
  /// A stored constant at the first sample that is another one, or none, at some other.
  bool constant_depends(const std::string& name) const;
  /// Whether the value has that type at each sample.
  bool has_type(const std::string& name, const TensorType& type) const;
  bool type_depends(const std::string& name) const;
  /// Of a constant of int64; empty where it has no such element at each sample.
  Sampled elements(const std::string& name, int64_t index) const;
  /// One that has these extents.
  std::optional<InputAxis> input_axis(const Sampled& extents) const;
  /// One of a computed constant of int64 that has these values.
  std::optional<ConstantElement> constant_element(const Sampled& values) const;
  /// The values of all such elements that vary.
  std::vector<Sampled> varying_elements() const;

 private:
  Sampled extents_of(const std::string& name, int axis) const;

  ModelFile file_;
  std::vector<std::string> inputs_;
  std::vector<Observations> seen_;  // by sample
  std::vector<Extents> extents_;    // by sample
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
  std::map<Sampled, ConstantElement> elements_;  // that vary
};

/// Imports the file as `options` say, and at further extents of what they carry, where it can be
/// imported to the same structure: all symbols at once, far apart and of several residues; each by
/// itself; and those of equal extents together, where all at once cannot have others.
ImportedModel import_samples(ModelFile file, const ImportOptions& options);

}  // namespace reverie::proto
