#include "env/adapt/network_onnx.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/onnx/import.h"

namespace reverie {
namespace {

bool all_equal(const std::vector<int64_t>& values, int64_t value) {
  return std::ranges::all_of(values, [&](int64_t one) { return one == value; });
}

/// The extent that a window has in both directions.
int square(const std::vector<int64_t>& extents, const char* what) {
  if (extents.size() != 2 || extents[0] != extents[1])
    throw InputError("its {} must be equal in two directions", what);
  return static_cast<int>(extents[0]);
}

Block made(BlockKind kind, int64_t width, int kernel, int stride) {
  Block block;
  block.kind = kind;
  block.width = static_cast<int>(width);
  block.kernel = kernel;
  block.stride = stride;
  block.batch_norm = block.relu = false;
  return block;
}

/// Makes blocks of a graph's nodes, producers first.
class NetworkImport {
 public:
  explicit NetworkImport(const Graph& graph) : graph_(graph) {}

  Network run() {
    if (graph_.inputs().size() != 1 || graph_.outputs().size() != 1)
      throw InputError("it has {} inputs and {} outputs; a network for `adapt` has one of each",
                       graph_.inputs().size(), graph_.outputs().size());
    const ValueId image = graph_.output(graph_.inputs()[0]);
    const Shape& shape = graph_.type(image).shape;
    if (shape.size() != 4)
      throw InputError("its input must be images: batch, channels, height and width");
    network_.image = {static_cast<int>(shape[1]), static_cast<int>(shape[2]),
                      static_cast<int>(shape[3])};
    blocks_[image] = -1;
    for (const NodeId node : graph_.topological_order())
      if (graph_.is_work(node))
        with_context(described(graph_, node),
                     [&] { blocks_[graph_.output(node)] = block_of(node); });
    const auto output = blocks_.find(graph_.outputs()[0].value);
    if (output == blocks_.end() || output->second + 1 != static_cast<int>(network_.blocks.size()))
      throw InputError("its output must be that of its last block");
    network_.shapes();
    return std::move(network_);
  }

 private:
  /// The block whose output the node gives, or -1 for the image.
  int block_of(NodeId node) {
    const std::string& op = graph_.op(node).name;
    if (op == "Conv") return conv(node);
    if (op == "Gemm" || op == "MatMul") return linear(node);
    if (op == "MaxPool" || op == "AveragePool") return pool(node);
    if (op == "GlobalAveragePool") return add(node, made(BlockKind::kGlobalPool, 0, 1, 1));
    if (op == "Flatten" || op == "Reshape") return flattened(node);
    if (op == "BatchNormalization") return batch_norm(node);
    if (op == "Relu") return relu(node);
    if (op == "Add") return addition(node);
    throw InputError(
        "`adapt` knows no such operator; it takes convolutions, batch normalisation, ReLU, pools, "
        "Flatten, linear layers and residual additions");
  }

  const Attributes& attributes(NodeId node) const { return graph_.attributes(node); }
  ValueId input(NodeId node, size_t index = 0) const { return graph_.inputs(node)[index]; }
  bool has_input(NodeId node, size_t index) const {
    return graph_.inputs(node).size() > index && input(node, index).valid();
  }

  int read(ValueId value) const {
    const auto found = blocks_.find(value);
    if (found == blocks_.end()) throw InputError("it reads a constant where an image is needed");
    return found->second;
  }

  /// Its width is set here for pools.
  int add(NodeId node, Block block) {
    block.from = read(input(node));
    if (block.kind != BlockKind::kConv && block.kind != BlockKind::kLinear)
      block.width = block.from < 0 ? network_.image.channels
                                   : network_.blocks[static_cast<size_t>(block.from)].width;
    block.origin = static_cast<int>(network_.blocks.size());
    const auto& names = graph_.names(node);
    block.name = free_name(names && !names->node.empty() ? names->node : "block");
    network_.blocks.push_back(std::move(block));
    return network_.blocks.back().origin;
  }

  std::string free_name(const std::string& wanted) const {
    std::string name = wanted;
    for (int i = 2; name == "image" || std::ranges::count(network_.blocks, name, &Block::name) > 0;
         ++i)
      name = fmt::format("{}-{}", wanted, i);
    return name;
  }

  void require_plain(NodeId node) const {
    if (attributes(node).text("activation", "none") != "none" || has_input(node, 3))
      throw InputError("it is fused with other operators");
    if (!graph_.is_constant(input(node, 1))) throw InputError("its weights must be constant");
  }

  int conv(NodeId node) {
    require_plain(node);
    const Attributes& given = attributes(node);
    const Shape& weight = graph_.type(input(node, 1)).shape;
    if (given.integer("group") != 1) throw InputError("it has groups; `adapt` takes none");
    if (!all_equal(given.integers("dilations"), 1))
      throw InputError("it is dilated; `adapt` takes no dilation");
    const std::vector<int64_t>& pads = given.integers("pads");
    if (!all_equal(pads, pads.front())) throw InputError("its padding must be equal on all sides");
    Block block =
        made(BlockKind::kConv, weight[0], square({weight.begin() + 2, weight.end()}, "kernel"),
             square(given.integers("strides"), "strides"));
    block.padding = static_cast<int>(pads.front());
    return add(node, std::move(block));
  }

  int pool(NodeId node) {
    const Attributes& given = attributes(node);
    if (!all_equal(given.integers("pads"), 0) || given.integer("ceil_mode") != 0)
      throw InputError("it is padded; `adapt` takes pools without padding");
    if (!all_equal(given.integers("dilations", {}), 1))
      throw InputError("it is dilated; `adapt` takes no dilation");
    return add(node, made(graph_.op(node).name == "MaxPool" ? BlockKind::kMaxPool
                                                            : BlockKind::kAveragePool,
                          0, square(given.integers("kernel_shape"), "window"),
                          square(given.integers("strides"), "strides")));
  }

  int linear(NodeId node) {
    require_plain(node);
    const Attributes& given = attributes(node);
    const bool bias = has_input(node, 2);
    if (given.integer("transA", 0) != 0 || given.number("alpha", 1) != 1 ||
        (bias && given.number("beta", 1) != 1))
      throw InputError("its first matrix must not be transposed, nor its result be scaled");
    if (graph_.type(input(node)).rank() != 2 || graph_.type(input(node, 1)).rank() != 2)
      throw InputError("it must be of two matrices; flatten its input");
    return add(node, made(BlockKind::kLinear, graph_.type(graph_.output(node)).shape[1], 1, 1));
  }

  int flattened(NodeId node) const {
    const Shape& from = graph_.type(input(node)).shape;
    const Shape& to = graph_.type(graph_.output(node)).shape;
    if (to.size() != 2 || from.empty() || to[0] != from[0])
      throw InputError("it must flatten all but the batch");
    return read(input(node));
  }

  /// The block that ends in a value which only the present node reads, or null.
  Block* open(ValueId value) {
    const auto found = blocks_.find(value);
    if (found == blocks_.end() || found->second < 0 || graph_.use_count(value) != 1) return nullptr;
    Block& block = network_.blocks[static_cast<size_t>(found->second)];
    const bool weights = block.kind == BlockKind::kConv || block.kind == BlockKind::kLinear;
    return weights && !block.relu ? &block : nullptr;
  }

  int batch_norm(NodeId node) {
    Block* block = open(input(node));
    if (block == nullptr || block->kind != BlockKind::kConv || block->batch_norm || block->add >= 0)
      throw InputError("it must follow a convolution that nothing else reads");
    block->batch_norm = true;
    return read(input(node));
  }

  int relu(NodeId node) {
    Block* block = open(input(node));
    if (block == nullptr)
      throw InputError(
          "it must follow a convolution, a linear layer or an addition that nothing else reads");
    block->relu = true;
    return read(input(node));
  }

  int addition(NodeId node) {
    const ValueId one = input(node), other = input(node, 1);
    if (graph_.is_constant(one) || graph_.is_constant(other))
      return biased(graph_.is_constant(one) ? other : one);
    const int first = read(one), second = read(other);
    const ValueId later = first > second ? one : other;
    Block* block = open(later);
    if (block == nullptr || block->kind != BlockKind::kConv || block->add >= 0 || first < 0 ||
        second < 0)
      throw InputError(
          "it must add the output of a block to a later convolution that nothing else reads");
    block->add = std::min(first, second);
    return read(later);
  }

  int biased(ValueId value) {
    const Block* block = open(value);
    if (block == nullptr || graph_.op(graph_.producer(value)).name != "MatMul")
      throw InputError("a constant may only be added to a MatMul, as its bias");
    return read(value);
  }

  const Graph& graph_;
  Network network_;
  std::map<ValueId, int> blocks_;
};

}  // namespace

Network network_from_onnx(const std::string& path) {
  return with_context(path, [&] { return NetworkImport(import_onnx(path).graph).run(); });
}

}  // namespace reverie
