#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reverie {

enum class BlockKind : uint8_t { kConv, kLinear, kMaxPool, kAveragePool, kGlobalPool };

/// A part of a network that is changed as one.
///
/// conv: convolution with a bias, batch normalisation where `batch_norm`, plus the output of `add`
/// where there is one, ReLU where `relu`, in this order. linear: of the flattened input, ReLU where
/// `relu`. Pools have neither weights nor activation; the global pool is the mean over height and
/// width.
struct Block {
  std::string name;
  BlockKind kind = BlockKind::kConv;
  int width = 0;           ///< channels or units that it gives; of pools, those of its input
  int kernel = 3;          ///< side of a square; of pools too
  int stride = 1;          ///< pools: as `kernel`
  int padding = 0;         ///< of convolutions
  bool batch_norm = true;  ///< of convolutions
  bool relu = true;
  int from = -1;  ///< the block that it reads, before it in the list; -1: the image
  int add = -1;   ///< the block whose output is added, of the same shape; -1: none
  int origin =
      -1;       ///< the block of the first network that it was deepened from; its own number there
  int age = 0;  ///< decisions since it was put in or widened

  bool operator==(const Block&) const = default;
};

/// [channels, height, width]; height and width are 1 behind the global pool and linear blocks.
struct BlockShape {
  int channels = 0, height = 1, width = 1;
  bool operator==(const BlockShape&) const = default;
};

/// A convolutional network as blocks: chains, and residual blocks by `add`. A value; the last block
/// is the output, a linear block without ReLU or (as published) with one.
struct Network {
  BlockShape image;
  std::vector<Block> blocks;  ///< every one after those that it reads

  /// Of each block what it gives. InputError names a block whose input does not fit.
  std::vector<BlockShape> shapes() const;
  int classes() const { return blocks.back().width; }
  /// Learned numbers, batch normalisation's scale and shift included, running statistics not.
  int64_t parameters() const;
  int64_t parameters(int block) const;
  /// Multiply-adds of one image forward, of convolutions and linear layers.
  int64_t multiply_adds() const;
  int64_t multiply_adds(int block) const;
  uint64_t hash() const;
  /// Whether the block was put in by a deepening: an earlier one has its origin.
  bool added(int block) const;
  /// Of the first network: how many blocks it had, and the block of one of its numbers now; -1:
  /// none.
  int origins() const;
  int block_of(int origin) const;
  /// The origin of the block of that name; -1 where none is called so, or it was put in.
  int origin_of(std::string_view name) const;
  /// The name of a block of the first network: it keeps it.
  const std::string& name_of(int origin) const;
  bool operator==(const Network&) const = default;
};

/// From YAML: `image: [1, 28, 28]`, and `blocks`, each a map of its kind and width (`conv: 8`,
/// `linear: 10`, `max_pool: 2`, `average_pool: 2`, `global_pool: true`) with what differs from the
/// defaults: `name`, `kernel`, `stride`, `padding` (default: half the kernel, rounded down),
/// `batch_norm`, `relu` (default: true but for the last block), `from` and `add` (names of earlier
/// blocks; `from: image`), and of a changed network `origin` and `age` (numbers). Names are unique.
/// InputError with `source`, the block and what is wrong.
Network parse_network(const std::string& yaml, const std::string& source);
Network load_network(const std::string& path);
std::string to_yaml(const Network& network);

/// A change that keeps the function (Chen, Goodfellow and Shlens, "Net2Net", ICLR 2016).
enum class ChangeKind : uint8_t { kDeepen, kWiden };
std::string_view name_of(ChangeKind kind);

namespace adapt {

/// Deepen: a new block of the same width behind `block`, as the identity; it needs a ReLU there, as
/// it ends in one itself, and an odd kernel. Everything that read `block` reads the new one. A
/// second time it goes between the two. It has the block's kernel and batch normalisation, stride
/// 1, half the kernel as padding and no addition. Widen: `block` gets twice the channels or units,
/// copies of its own, and with it every block whose output is added to it, directly or over others.
struct Change {
  ChangeKind kind = ChangeKind::kDeepen;
  int block = 0;
  bool operator==(const Change&) const = default;
};

/// The blocks that a widening of `block` makes wider: those that are tied to it by additions,
/// itself included, pools between them left out, ascending.
std::vector<int> tied(const Network& network, int block);
/// Whether the change can be made. Pools and the output block are never changed, but a linear
/// output block with a ReLU can be deepened, as published; of tied blocks the first stands for all
/// when they are widened.
bool allows(const Network& network, const Change& change);
/// The network after the change; numbers of blocks behind a deepened one grow by one. Ages: 0 for
/// what was put in or widened. InputError where it is not allowed.
Network changed(const Network& network, const Change& change);

}  // namespace adapt

}  // namespace reverie
