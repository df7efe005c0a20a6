#include "env/adapt/network.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace reverie {
namespace {

bool is_pool(const Block& block) {
  return block.kind != BlockKind::kConv && block.kind != BlockKind::kLinear;
}

BlockShape conv_or_pool_shape(const Block& block, const BlockShape& in) {
  const auto extent = [&](int size) {
    if (size + 2 * block.padding < block.kernel)
      throw InputError("its input is {} x {} with padding {}, smaller than its kernel of {}",
                       in.height, in.width, block.padding, block.kernel);
    return (size + 2 * block.padding - block.kernel) / block.stride + 1;
  };
  return {block.width, extent(in.height), extent(in.width)};
}

void check_numbers(const Block& block) {
  if (block.width < 1) throw InputError("its width is {}; give at least 1", block.width);
  if (block.kernel < 1) throw InputError("its kernel is {}; give at least 1", block.kernel);
  if (block.stride < 1) throw InputError("its stride is {}; give at least 1", block.stride);
  if (block.padding < 0) throw InputError("its padding is {}; give at least 0", block.padding);
}

BlockShape shape_of(const Block& block, const BlockShape& in) {
  check_numbers(block);
  if (is_pool(block) && block.width != in.channels)
    throw InputError("it is a pool of width {} behind {} channels; a pool keeps them", block.width,
                     in.channels);
  switch (block.kind) {
    case BlockKind::kLinear:
    case BlockKind::kGlobalPool:
      return {block.width, 1, 1};
    case BlockKind::kConv:
    case BlockKind::kMaxPool:
    case BlockKind::kAveragePool:
      break;
  }
  return conv_or_pool_shape(block, in);
}

int64_t features(const BlockShape& shape) {
  return int64_t{shape.channels} * shape.height * shape.width;
}

void check_order(int index, const Block& block) {
  if (block.from < -1 || block.from >= index || block.add < -1 || block.add >= index)
    throw InputError("it reads a block that does not come before it");
  if (block.add >= 0 && block.kind != BlockKind::kConv)
    throw InputError("only a convolution can add the output of another block");
}

}  // namespace

std::vector<BlockShape> Network::shapes() const {
  if (blocks.empty()) throw InputError("the network has no blocks; give at least one");
  std::vector<BlockShape> all;
  for (const Block& block : blocks) {
    with_context(fmt::format("block '{}'", block.name), [&] {
      check_order(static_cast<int>(all.size()), block);
      const BlockShape& in = block.from < 0 ? image : all[static_cast<size_t>(block.from)];
      const BlockShape out = shape_of(block, in);
      if (block.add >= 0 && all[static_cast<size_t>(block.add)] != out)
        throw InputError("it adds '{}', whose output has another shape",
                         blocks[static_cast<size_t>(block.add)].name);
      all.push_back(out);
    });
  }
  return all;
}

namespace {

struct BlockCost {
  int64_t parameters = 0, multiply_adds = 0;
};

BlockCost cost_of(const Network& network, int index, const std::vector<BlockShape>& shapes) {
  const Block& block = network.blocks.at(static_cast<size_t>(index));
  const BlockShape& in = block.from < 0 ? network.image : shapes[static_cast<size_t>(block.from)];
  const BlockShape& out = shapes[static_cast<size_t>(index)];
  if (block.kind == BlockKind::kLinear) {
    const int64_t weights = features(in) * block.width;
    return {weights + block.width, weights};
  }
  if (block.kind != BlockKind::kConv) return {};
  const int64_t weights = int64_t{in.channels} * block.width * block.kernel * block.kernel;
  return {weights + block.width * (block.batch_norm ? 3 : 1), weights * out.height * out.width};
}

BlockCost total_cost(const Network& network) {
  const std::vector<BlockShape> shapes = network.shapes();
  BlockCost total;
  for (int block = 0; block < static_cast<int>(network.blocks.size()); ++block) {
    const BlockCost cost = cost_of(network, block, shapes);
    total.parameters += cost.parameters;
    total.multiply_adds += cost.multiply_adds;
  }
  return total;
}

}  // namespace

int64_t Network::parameters() const { return total_cost(*this).parameters; }
int64_t Network::parameters(int block) const { return cost_of(*this, block, shapes()).parameters; }
int64_t Network::multiply_adds() const { return total_cost(*this).multiply_adds; }
int64_t Network::multiply_adds(int block) const {
  return cost_of(*this, block, shapes()).multiply_adds;
}

uint64_t Network::hash() const {
  uint64_t hash = hash_string("network");
  const auto add = [&](int number) {
    hash = hash_combine(hash, static_cast<uint64_t>(int64_t{number}));
  };
  for (const int extent : {image.channels, image.height, image.width}) add(extent);
  for (const Block& block : blocks) {
    hash = hash_combine(hash, hash_string(block.name));
    for (const int number :
         {static_cast<int>(block.kind), block.width, block.kernel, block.stride, block.padding,
          int{block.batch_norm}, int{block.relu}, block.from, block.add, block.origin, block.age})
      add(number);
  }
  return hash;
}

bool Network::added(int block) const {
  const auto own = blocks.begin() + block;
  return std::any_of(blocks.begin(), own,
                     [&](const Block& other) { return other.origin == own->origin; });
}

int Network::origins() const {
  return 1 + std::ranges::max_element(blocks, {}, &Block::origin)->origin;
}

int Network::block_of(int origin) const {
  const auto found = std::ranges::find(blocks, origin, &Block::origin);
  return found == blocks.end() ? -1 : static_cast<int>(found - blocks.begin());
}

int Network::origin_of(std::string_view name) const {
  const auto found = std::ranges::find(blocks, name, &Block::name);
  const bool is_of_the_first =
      found != blocks.end() && !added(static_cast<int>(found - blocks.begin()));
  return is_of_the_first ? found->origin : -1;
}

const std::string& Network::name_of(int origin) const {
  return blocks.at(static_cast<size_t>(block_of(origin))).name;
}

std::string_view name_of(ChangeKind kind) {
  return kind == ChangeKind::kDeepen ? "deepen" : "widen";
}

namespace {

/// The block whose width is that of the output of `block`: itself, or what a pool reads; -1: the
/// image.
int width_giver(const Network& network, int block) {
  while (block >= 0 && is_pool(network.blocks.at(static_cast<size_t>(block))))
    block = network.blocks[static_cast<size_t>(block)].from;
  return block;
}

/// As `tied`, but with -1 in front where the image is among them.
std::vector<int> tied_with_image(const Network& network, int block) {
  const size_t count = network.blocks.size() + 1;  // the image is 0
  std::vector<int> group(count);
  for (size_t i = 0; i < count; ++i) group[i] = static_cast<int>(i);
  for (size_t i = 0; i + 1 < count; ++i) {
    if (network.blocks[i].add < 0) continue;
    const int one = group[i + 1];
    const int other = group[static_cast<size_t>(width_giver(network, network.blocks[i].add) + 1)];
    std::replace(group.begin(), group.end(), one, other);
  }
  const int own = group[static_cast<size_t>(width_giver(network, block) + 1)];
  std::vector<int> members;
  for (size_t i = 0; i < count; ++i)
    if (group[i] == own && (i == 0 || !is_pool(network.blocks[i - 1])))
      members.push_back(static_cast<int>(i) - 1);
  return members;
}

bool may_deepen(const Network& network, int index) {
  const Block& block = network.blocks[static_cast<size_t>(index)];
  const bool output = index + 1 == static_cast<int>(network.blocks.size());
  if (!block.relu || (output && block.kind != BlockKind::kLinear)) return false;
  return block.kind == BlockKind::kLinear || block.kernel % 2 == 1;
}

bool may_widen(const Network& network, int index) {
  const std::vector<int> members = tied_with_image(network, index);
  return members.front() == index && members.back() + 1 < static_cast<int>(network.blocks.size());
}

/// "conv1+1", or the next that is free.
std::string new_name(const Network& network, const Block& deepened) {
  for (int number = 1;; ++number) {
    const std::string name = fmt::format("{}+{}", network.name_of(deepened.origin), number);
    if (std::ranges::count(network.blocks, name, &Block::name) == 0) return name;
  }
}

void deepen(Network& network, int index) {
  Block added = network.blocks[static_cast<size_t>(index)];
  added.name = new_name(network, added);
  added.stride = 1;
  added.padding = added.kind == BlockKind::kConv ? added.kernel / 2 : 0;
  added.from = index;
  added.add = -1;
  added.age = 0;
  for (Block& block : network.blocks) {
    if (block.from >= index) ++block.from;
    if (block.add >= index) ++block.add;
  }
  network.blocks.insert(network.blocks.begin() + index + 1, std::move(added));
}

void widen(Network& network, int index) {
  for (const int member : adapt::tied(network, index)) {
    network.blocks[static_cast<size_t>(member)].width *= 2;
    network.blocks[static_cast<size_t>(member)].age = 0;
  }
  for (Block& block : network.blocks)
    if (is_pool(block))
      block.width = block.from < 0 ? network.image.channels
                                   : network.blocks[static_cast<size_t>(block.from)].width;
}

}  // namespace

namespace adapt {

std::vector<int> tied(const Network& network, int block) {
  std::vector<int> members = tied_with_image(network, block);
  if (members.front() < 0) members.erase(members.begin());
  return members;
}

bool allows(const Network& network, const Change& change) {
  if (change.block < 0 || change.block >= static_cast<int>(network.blocks.size())) return false;
  if (is_pool(network.blocks[static_cast<size_t>(change.block)])) return false;
  return change.kind == ChangeKind::kDeepen ? may_deepen(network, change.block)
                                            : may_widen(network, change.block);
}

Network changed(const Network& network, const Change& change) {
  if (!allows(network, change)) {
    const auto index = static_cast<size_t>(change.block);
    const std::string name = index < network.blocks.size() ? network.blocks[index].name
                                                           : fmt::format("number {}", change.block);
    throw InputError("block '{}' cannot be changed by '{}'", name, name_of(change.kind));
  }
  Network result = network;
  if (change.kind == ChangeKind::kDeepen)
    deepen(result, change.block);
  else
    widen(result, change.block);
  return result;
}

}  // namespace adapt
}  // namespace reverie
