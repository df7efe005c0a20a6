#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "core/base/config.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "env/adapt/network.h"

namespace reverie {
namespace {

constexpr std::array<std::pair<BlockKind, const char*>, 5> kKinds = {
    {{BlockKind::kConv, "conv"},
     {BlockKind::kLinear, "linear"},
     {BlockKind::kMaxPool, "max_pool"},
     {BlockKind::kAveragePool, "average_pool"},
     {BlockKind::kGlobalPool, "global_pool"}}};
constexpr char kImage[] = "image";

const char* word_of(BlockKind kind) { return kKinds[static_cast<size_t>(kind)].second; }

std::optional<BlockKind> kind_of(const std::string& word) {
  for (const auto& [kind, name] : kKinds)
    if (word == name) return kind;
  return std::nullopt;
}

int whole_number(const YAML::Node& node, const std::string& what) {
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    throw InputError("'{}' needs a whole number", what);
  return value;
}

bool truth(const YAML::Node& node, const std::string& what) {
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  if (text != "true" && text != "false") throw InputError("'{}' must be true or false", what);
  return text == "true";
}

std::string word(const YAML::Node& node, const std::string& what) {
  if (!node.IsScalar() || node.Scalar().empty()) throw InputError("'{}' needs a name", what);
  return node.Scalar();
}

/// What a block is before its keys are read: pools and linear blocks have no kernel or padding to
/// choose.
Block defaults(BlockKind kind, bool last) {
  Block block;
  block.kind = kind;
  const bool conv = kind == BlockKind::kConv;
  block.kernel = conv ? 3 : 1;
  block.batch_norm = conv;
  block.relu = (conv || kind == BlockKind::kLinear) && !last;
  return block;
}

bool has_weights(BlockKind kind) { return kind == BlockKind::kConv || kind == BlockKind::kLinear; }

/// Keys beside that of the kind.
std::vector<std::string> known_keys(BlockKind kind) {
  std::vector<std::string> keys = {"name", "from", "origin", "age"};
  if (kind == BlockKind::kConv)
    keys.insert(keys.end(), {"kernel", "stride", "padding", "batch_norm", "add"});
  if (kind == BlockKind::kMaxPool || kind == BlockKind::kAveragePool) keys.push_back("stride");
  if (has_weights(kind)) keys.push_back("relu");
  return keys;
}

using Entries = std::map<std::string, YAML::Node>;

Entries entries_of(const YAML::Node& node) {
  if (!node.IsMap()) throw InputError("a map is needed, such as {conv: 8}");
  Entries entries;
  for (const auto& entry : node) {
    const std::string key = word(entry.first, "key");
    if (!entries.emplace(key, entry.second).second) throw InputError("'{}' is given twice", key);
  }
  return entries;
}

void check_keys(const Entries& entries, BlockKind kind) {
  const std::vector<std::string> known = known_keys(kind);
  for (const auto& [key, unused] : entries) {
    if (key == word_of(kind)) continue;
    if (kind_of(key))
      throw InputError("it is both {} and {}; make two blocks of it", word_of(kind), key);
    if (std::ranges::count(known, key) > 0) continue;
    throw InputError("a block '{}' has no '{}'; it may have {}", word_of(kind), key,
                     fmt::join(known, ", "));
  }
}

BlockKind kind_in(const Entries& entries) {
  for (const auto& [key, unused] : entries)
    if (const auto kind = kind_of(key)) return *kind;
  throw InputError(
      "it has no kind: give one of conv, linear, max_pool, average_pool and global_pool");
}

/// Reads the blocks one after the other.
class NetworkReader {
 public:
  explicit NetworkReader(BlockShape image) { network_.image = image; }

  void add(const YAML::Node& node, bool last) {
    const Entries entries = entries_of(node);
    const auto named = entries.find("name");
    const std::string place = named == entries.end()
                                  ? fmt::format("block {}", network_.blocks.size() + 1)
                                  : fmt::format("block '{}'", word(named->second, "name"));
    with_context(place, [&] {
      const BlockKind kind = kind_in(entries);
      check_keys(entries, kind);
      Block block = defaults(kind, last);
      block.name = named == entries.end() ? free_name(kind) : word(named->second, "name");
      if (number_of(block.name) >= 0 || block.name == kImage)
        throw InputError("the name '{}' is taken; give another", block.name);
      read(entries, block);
      network_.blocks.push_back(std::move(block));
      shapes_ = network_.shapes();
    });
  }
  Network finish() { return std::move(network_); }

 private:
  void read(const Entries& entries, Block& block) {
    const auto number = [&](const char* key, int otherwise) {
      const auto found = entries.find(key);
      return found == entries.end() ? otherwise : whole_number(found->second, key);
    };
    const auto flag = [&](const char* key, bool otherwise) {
      const auto found = entries.find(key);
      return found == entries.end() ? otherwise : truth(found->second, key);
    };
    const auto reads = [&](const char* key, int otherwise) {
      const auto found = entries.find(key);
      return found == entries.end() ? otherwise : block_named(word(found->second, key));
    };
    const int own = static_cast<int>(network_.blocks.size());
    block.from = reads("from", own - 1);
    block.add = reads("add", -1);
    block.batch_norm = flag("batch_norm", block.batch_norm);
    block.relu = flag("relu", block.relu);
    read_size(entries.at(word_of(block.kind)), block);
    block.kernel = number("kernel", block.kernel);
    const bool pool = block.kind == BlockKind::kMaxPool || block.kind == BlockKind::kAveragePool;
    block.stride = number("stride", pool ? block.kernel : 1);
    block.padding = number("padding", block.kind == BlockKind::kConv ? block.kernel / 2 : 0);
    block.origin = number("origin", own);
    block.age = number("age", 0);
  }

  void read_size(const YAML::Node& node, Block& block) {
    const char* kind = word_of(block.kind);
    if (has_weights(block.kind)) {
      block.width = whole_number(node, kind);
      return;
    }
    block.width = block.from < 0 ? network_.image.channels
                                 : shapes_[static_cast<size_t>(block.from)].channels;
    if (block.kind != BlockKind::kGlobalPool)
      block.kernel = whole_number(node, kind);
    else if (!truth(node, kind))
      throw InputError("'global_pool' must be true; leave the block out otherwise");
  }

  int number_of(const std::string& name) const {
    const auto found = std::ranges::find(network_.blocks, name, &Block::name);
    return found == network_.blocks.end() ? -1 : static_cast<int>(found - network_.blocks.begin());
  }
  int block_named(const std::string& name) const {
    const int number = number_of(name);
    if (number < 0 && name != kImage) throw InputError("no earlier block is called '{}'", name);
    return number;
  }
  std::string free_name(BlockKind kind) const {
    for (int i = 1;; ++i) {
      const std::string name = fmt::format("{}{}", word_of(kind), i);
      if (number_of(name) < 0) return name;
    }
  }

  Network network_;
  std::vector<BlockShape> shapes_;
};

BlockShape image_of(const YAML::Node& node) {
  if (!node || !node.IsSequence() || node.size() != 3)
    throw InputError("'image' must be [channels, height, width], such as [1, 28, 28]");
  const BlockShape image{whole_number(node[0], kImage), whole_number(node[1], kImage),
                         whole_number(node[2], kImage)};
  if (image.channels < 1 || image.height < 1 || image.width < 1)
    throw InputError("'image' has an extent below 1; each must be 1 or more");
  return image;
}

Network network_of(const YAML::Node& root) {
  const Entries entries = root.IsMap() ? entries_of(root) : Entries{};
  for (const auto& [key, unused] : entries)
    if (key != kImage && key != "blocks")
      throw InputError("there is no key '{}'; a network has 'image' and 'blocks'", key);
  if (entries.size() != 2) throw InputError("a network needs 'image' and 'blocks'");
  const YAML::Node& blocks = entries.at("blocks");
  if (!blocks.IsSequence() || blocks.size() == 0)
    throw InputError("'blocks' must be a list of blocks, such as - {conv: 8}");
  NetworkReader reader(image_of(entries.at(kImage)));
  for (size_t i = 0; i < blocks.size(); ++i) reader.add(blocks[i], i + 1 == blocks.size());
  return reader.finish();
}

/// Writes what differs from the defaults.
class NetworkWriter {
 public:
  explicit NetworkWriter(const Network& network) : network_(network) {}

  std::string write() {
    const BlockShape& image = network_.image;
    out_ << YAML::BeginMap << YAML::Key << kImage << YAML::Value << YAML::Flow
         << std::vector<int>{image.channels, image.height, image.width} << YAML::Key << "blocks"
         << YAML::Value << YAML::BeginSeq;
    for (size_t i = 0; i < network_.blocks.size(); ++i) write(static_cast<int>(i));
    out_ << YAML::EndSeq << YAML::EndMap;
    return std::string(out_.c_str()) + "\n";
  }

 private:
  void write(int index) {
    const Block& block = network_.blocks[static_cast<size_t>(index)];
    const Block usual = defaults(block.kind, index + 1 == static_cast<int>(network_.blocks.size()));
    const bool conv = block.kind == BlockKind::kConv;
    out_ << YAML::Flow << YAML::BeginMap << YAML::Key << word_of(block.kind) << YAML::Value;
    if (has_weights(block.kind))
      out_ << block.width;
    else if (block.kind == BlockKind::kGlobalPool)
      out_ << true;
    else
      out_ << block.kernel;
    out_ << YAML::Key << "name" << YAML::Value << block.name;
    if (conv) entry("kernel", block.kernel, usual.kernel);
    entry("stride", block.stride, has_weights(block.kind) ? 1 : block.kernel);
    entry("padding", block.padding, conv ? block.kernel / 2 : 0);
    entry("batch_norm", block.batch_norm, usual.batch_norm);
    entry("relu", block.relu, usual.relu);
    entry("from", name(block.from), name(index - 1));
    entry("add", name(block.add), name(-1));
    entry("origin", block.origin, index);
    entry("age", block.age, 0);
    out_ << YAML::EndMap;
  }

  template <typename T>
  void entry(const char* key, const T& value, const T& usual) {
    if (value != usual) out_ << YAML::Key << key << YAML::Value << value;
  }
  std::string name(int block) const {
    return block < 0 ? kImage : network_.blocks[static_cast<size_t>(block)].name;
  }

  const Network& network_;
  YAML::Emitter out_;
};

}  // namespace

Network parse_network(const std::string& yaml, const std::string& source) {
  return with_context(source, [&] {
    try {
      return network_of(YAML::Load(yaml));
    } catch (const YAML::Exception& error) {
      throw InputError("this is no YAML: {}", error.what());
    }
  });
}

Network load_network(const std::string& path) { return parse_network(read_file(path), path); }

std::string to_yaml(const Network& network) { return NetworkWriter(network).write(); }

}  // namespace reverie
