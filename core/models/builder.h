#pragma once

#include <string>
#include <vector>

#include "core/models/models.h"

namespace reverie::models {

struct Window {
  int64_t height = 1;
  int64_t width = 1;
  int64_t stride = 1;
  int64_t pad_height = 0;
  int64_t pad_width = 0;
  int64_t groups = 1;
  bool bias = false;
};
/// A square kernel with enough padding to keep the extent at stride 1.
Window same(int64_t kernel, int64_t stride = 1, int64_t groups = 1);
/// A square kernel without padding.
Window valid(int64_t kernel, int64_t stride = 1);

/// Layers with weights, as PyTorch's exporter spells them. Names are those of the weights.
class ModelBuilder {
 public:
  explicit ModelBuilder(const ModelOptions& options) : options_(options) {}

  const ModelOptions& options() const { return options_; }
  Graph& graph() { return graph_; }
  Graph finish(ValueId output);

  ValueId image();
  ValueId input(const std::string& name, TensorType type) { return graph_.add_input(name, type); }
  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }
  /// `count` times the width option, rounded to a multiple of `multiple`.
  int64_t channels(int64_t count, int64_t multiple = 8) const;

  ValueId scalar(float value);
  /// Random, centred, with variance gain / fan_in.
  ValueId weight(const std::string& name, const Shape& shape, int64_t fan_in, double gain = 1);
  /// Random around 0 with standard deviation 0.2.
  ValueId offset(const std::string& name, int64_t size);
  /// Uniform in [0.5, 1.5).
  ValueId positive(const std::string& name, int64_t size);

  ValueId conv(ValueId x, const std::string& name, int64_t outputs, const Window& window);
  ValueId batch_norm(ValueId x, const std::string& name, double epsilon = 1e-5);
  ValueId relu(ValueId x) { return graph_.add("Relu", {x}); }
  ValueId add(ValueId a, ValueId b) { return graph_.add("Add", {a, b}); }
  ValueId concat(const std::vector<ValueId>& values, int64_t axis = 1);
  ValueId max_pool(ValueId x, const Window& window, bool ceil_mode = false);
  /// Zero padding as a node of its own, then the mean over the whole window.
  ValueId average_pool(ValueId x, const Window& window);
  /// Global mean, flattened.
  ValueId pooled(ValueId x);
  ValueId reshape(ValueId x, const Shape& shape);
  ValueId transpose(ValueId x, std::vector<int64_t> perm);

  /// x W, W of inputs x outputs.
  ValueId product(ValueId x, const std::string& name, int64_t outputs, double gain = 1);
  /// b + x W.
  ValueId linear(ValueId x, const std::string& name, int64_t outputs);
  /// The same on a matrix as one Gemm with transposed weights.
  ValueId gemm(ValueId x, const std::string& name, int64_t outputs);
  ValueId layer_norm(ValueId x, const std::string& name, double epsilon);
  ValueId gelu(ValueId x);

 private:
  enum class Draw { kCentred, kPositive };
  ValueId drawn(const std::string& name, const Shape& shape, Draw draw, double deviation,
                double light_value);

  ModelOptions options_;
  Graph graph_;
};

// One source file per family.
Graph squeezenet1_1(const ModelOptions& options);
Graph resnet18(const ModelOptions& options);
Graph resnet50(const ModelOptions& options);
Graph resnext50(const ModelOptions& options);
Graph taso_resnext50(const ModelOptions& options);
Graph inception_v3(const ModelOptions& options);
Graph bert(const ModelOptions& options);
Graph taso_bert(const ModelOptions& options);
Graph vit(const ModelOptions& options);
Graph nasrnn(const ModelOptions& options);
Graph nasnet_a(const ModelOptions& options);

}  // namespace reverie::models
