#include "env/adapt/train/network_graph.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include "core/exec/reference/reference.h"
#include "core/onnx/any_batch.h"
#include "core/onnx/export.h"

namespace reverie {
namespace {

Shape shape_of(const torch::Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

Tensor tensor_of(const torch::Tensor& tensor) {
  const auto plain = tensor.detach().contiguous();
  return Tensor::of<float>(shape_of(plain),
                           {plain.data_ptr<float>(), static_cast<size_t>(plain.numel())});
}

std::vector<int64_t> square(int64_t extent) { return {extent, extent}; }

/// Adds the nodes of a network's blocks.
class GraphOfNetwork {
 public:
  GraphOfNetwork(const WeightedNetwork& network, int64_t batch) : network_(network) {
    const auto& [channels, height, width] = network.network().image;
    image_ = graph_.add_input(kImageInput, {DType::kFloat32, {batch, channels, height, width}});
  }

  Graph build() {
    const std::vector<Block>& blocks = network_.network().blocks;
    for (int i = 0; i < std::ssize(blocks); ++i) {
      const ValueId result = computed(i);
      outputs_.push_back(blocks[static_cast<size_t>(i)].relu ? graph_.add("Relu", {result})
                                                             : result);
    }
    graph_.add_output(kScoresOutput, flat(outputs_.back()));
    return std::move(graph_);
  }

 private:
  ValueId read(int block) const {
    return block < 0 ? image_ : outputs_[static_cast<size_t>(block)];
  }

  /// Without the ReLU.
  ValueId computed(int index) {
    const Block& block = network_.network().blocks[static_cast<size_t>(index)];
    const ValueId input = read(block.from);
    switch (block.kind) {
      case BlockKind::kConv:
        return convolution(index, input);
      case BlockKind::kLinear:
        return linear(index, flat(input));
      case BlockKind::kMaxPool:
        return pool("MaxPool", block, input);
      case BlockKind::kAveragePool:
        return pool("AveragePool", block, input);
      case BlockKind::kGlobalPool:
        return named(graph_.add("GlobalAveragePool", {input}), block.name);
    }
    return {};
  }

  ValueId convolution(int index, ValueId input) {
    const Block& block = network_.network().blocks[static_cast<size_t>(index)];
    const BlockWeights& own = network_.weights(index);
    ValueId result = named(
        graph_.add(
            "Conv", {input, weight(own.weight, block, "weight"), weight(own.bias, block, "bias")},
            {{"strides", square(block.stride)}, {"pads", std::vector<int64_t>(4, block.padding)}}),
        block.name);
    if (block.batch_norm)
      result =
          graph_.add("BatchNormalization",
                     {result, weight(own.scale, block, "scale"), weight(own.shift, block, "shift"),
                      weight(own.mean, block, "mean"), weight(own.variance, block, "variance")},
                     {{"epsilon", kNormEpsilon}});
    return block.add < 0 ? result : graph_.add("Add", {result, read(block.add)});
  }

  ValueId linear(int index, ValueId input) {
    const Block& block = network_.network().blocks[static_cast<size_t>(index)];
    const BlockWeights& own = network_.weights(index);
    return named(
        graph_.add("Gemm",
                   {input, weight(own.weight, block, "weight"), weight(own.bias, block, "bias")},
                   {{"transB", int64_t{1}}}),
        block.name);
  }

  ValueId pool(const char* op, const Block& block, ValueId input) {
    return named(
        graph_.add(op, {input},
                   {{"kernel_shape", square(block.kernel)}, {"strides", square(block.stride)}}),
        block.name);
  }

  ValueId flat(ValueId value) {
    return graph_.type(value).rank() == 2 ? value : graph_.add("Flatten", {value});
  }

  ValueId weight(const OwnTensor& tensor, const Block& block, const char* member) {
    return graph_.add_constant(
        Weight::dense(tensor_of(tensor.value), fmt::format("{}.{}", block.name, member)));
  }

  ValueId named(ValueId value, const std::string& name) {
    graph_.set_names(graph_.producer(value),
                     std::make_shared<const NodeNames>(NodeNames{name, {}}));
    return value;
  }

  const WeightedNetwork& network_;
  Graph graph_;
  ValueId image_;
  std::vector<ValueId> outputs_;  ///< of each block so far
};

}  // namespace

Graph graph_of(const WeightedNetwork& network, int64_t batch) {
  return GraphOfNetwork(network, batch).build();
}

double graph_error(WeightedNetwork network, const torch::Tensor& images) {
  const torch::NoGradGuard guard;
  const Tensor expected = tensor_of(network.forward(images, Pass::kEvaluate));
  const Tensor input = tensor_of(images);
  const Tensor found =
      ReferenceExecutor().run(graph_of(network, images.size(0)), std::span(&input, 1)).front();
  double difference = 0, largest = std::numeric_limits<double>::min();
  for (size_t i = 0; i < expected.data<float>().size(); ++i) {
    const double a = found.data<float>()[i], b = expected.data<float>()[i];
    if (!(a - b == a - b)) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(a - b));
    largest = std::max(largest, std::abs(b));
  }
  return difference / largest;
}

void write_network(const WeightedNetwork& network, const std::string& path) {
  const Graph graph = graph_of(network, 1);
  ModelInfo info = with_any_batch(graph);
  info.graph_name = "network";
  info.graph_doc_string = "Pixels from 0 to 255 are scaled to [-1, 1]: x / 127.5 - 1.";
  export_onnx(graph, info, path, {.symbols = {kBatch}});
}

}  // namespace reverie
