#include "env/adapt/train/images.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/gzip.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/shuffle.h"

namespace reverie {
namespace {

constexpr uint32_t kImagesMagic = 0x803,
                   kLabelsMagic = 0x801;  // unsigned bytes in 3 dimensions and in 1
constexpr int kCifarBatches = 5;
constexpr BlockShape kCifarShape{3, 32, 32};

int64_t size_of(const BlockShape& shape) {
  return int64_t{shape.channels} * shape.height * shape.width;
}

std::string text_of(const BlockShape& shape) {
  return fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width);
}

std::string_view as_text(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void append(std::vector<uint8_t>& bytes, std::string_view more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void check_shape(const BlockShape& shape, const BlockShape& wanted) {
  if (shape != wanted)
    throw InputError(
        "its images are {}, the network takes {}: change the network's `image` or take other data",
        text_of(shape), text_of(wanted));
}

void check_labels(const LabelledImages& images, int classes) {
  const auto beyond =
      std::ranges::find_if(images.labels, [&](uint8_t label) { return label >= classes; });
  if (beyond != images.labels.end())
    throw InputError(
        "image {} has label {}, the network tells classes 0 to {} apart: change its last block",
        beyond - images.labels.begin(), *beyond, classes - 1);
}

/// The file or, where it is not there, the gzipped one; its path.
std::optional<std::string> find_idx(const std::string& folder, const std::string& name) {
  for (const char* ending : {"", ".gz"})
    if (const std::string path = folder + "/" + name + ending; file_exists(path)) return path;
  return std::nullopt;
}

struct Idx {
  std::vector<uint32_t> sizes;
  std::string_view values;
};

/// Big-endian: the magic number, a size for each dimension, one byte a value.
Idx parse_idx(std::string_view bytes, uint32_t magic) {
  const auto word = [&](size_t index) {
    if (bytes.size() < 4 * index + 4) throw InputError("is cut off in its header: get it again");
    uint32_t value = 0;
    for (size_t i = 4 * index; i < 4 * index + 4; ++i)
      value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  };
  if (word(0) != magic)
    throw InputError("begins with {:#010x}, such an IDX file with {:#010x}: get the right file",
                     word(0), magic);
  Idx idx;
  unsigned __int128 count = 1;
  for (uint32_t i = 1; i <= (magic & 0xff); ++i) {
    idx.sizes.push_back(word(i));
    count *= idx.sizes.back();
  }
  idx.values = bytes.substr(4 * (1 + idx.sizes.size()));
  if (idx.values.size() != count)
    throw InputError("says that it holds {} bytes of values, but holds {}: get it again",
                     static_cast<uint64_t>(count), idx.values.size());
  return idx;
}

/// What `use` makes of the contents of an IDX file, unpacked where they are gzipped.
template <class Use>
void with_idx(const std::string& folder, const std::string& name, uint32_t magic, Use&& use) {
  const auto path = find_idx(folder, name);
  if (!path) throw InputError("{}/{}: is missing, and gzipped too: add it", folder, name);
  with_context(*path, [&] {
    std::string bytes = read_file(*path);
    if (path->ends_with(".gz")) bytes = gunzip(bytes);
    use(parse_idx(bytes, magic));
  });
}

LabelledImages read_idx(const std::string& folder, const std::string& stem, const BlockShape& shape,
                        int classes) {
  LabelledImages images;
  uint32_t count = 0;
  with_idx(folder, stem + "-images-idx3-ubyte", kImagesMagic, [&](const Idx& idx) {
    check_shape({1, static_cast<int>(idx.sizes[1]), static_cast<int>(idx.sizes[2])}, shape);
    count = idx.sizes[0];
    append(images.pixels, idx.values);
  });
  with_idx(folder, stem + "-labels-idx1-ubyte", kLabelsMagic, [&](const Idx& idx) {
    if (idx.sizes[0] != count)
      throw InputError("holds {} labels for {} images: get both files again", idx.sizes[0], count);
    append(images.labels, idx.values);
    check_labels(images, classes);
  });
  return images;
}

/// Records of a label and the bytes of an image.
void append_cifar(LabelledImages& images, const std::string& path, const BlockShape& shape,
                  int classes) {
  with_context(path, [&] {
    check_shape(kCifarShape, shape);
    const std::string bytes = read_file(path);
    const size_t record = 1 + size_of(kCifarShape);
    if (bytes.empty() || bytes.size() % record != 0)
      throw InputError("holds {} bytes, which are no records of {}: get CIFAR-10's binary version",
                       bytes.size(), record);
    LabelledImages read;
    for (size_t at = 0; at < bytes.size(); at += record) {
      read.labels.push_back(static_cast<uint8_t>(bytes[at]));
      append(read.pixels, std::string_view(bytes).substr(at + 1, record - 1));
    }
    check_labels(read, classes);
    append(images.labels, as_text(read.labels));
    append(images.pixels, as_text(read.pixels));
  });
}

ImageData read_all(const std::string& folder, const BlockShape& shape, int classes) {
  ImageData data;
  data.shape = shape;
  data.classes = classes;
  if (find_idx(folder, "train-images-idx3-ubyte")) {
    data.train = read_idx(folder, "train", shape, classes);
    data.test = read_idx(folder, "t10k", shape, classes);
  } else if (file_exists(folder + "/data_batch_1.bin")) {
    for (int i = 1; i <= kCifarBatches; ++i)
      append_cifar(data.train, fmt::format("{}/data_batch_{}.bin", folder, i), shape, classes);
    append_cifar(data.test, folder + "/test_batch.bin", shape, classes);
  } else {
    throw InputError(
        "{}: holds neither train-images-idx3-ubyte (or .gz) nor data_batch_1.bin: name a folder "
        "with "
        "the files of MNIST, Fashion-MNIST or CIFAR-10",
        folder);
  }
  return data;
}

LabelledImages select(LabelledImages all, int wanted, int64_t image_size, std::string_view what,
                      Rng rng) {
  if (wanted > all.count())
    throw InputError("{} {} images are wanted, there are {}: ask for fewer, or 0 for all", wanted,
                     what, all.count());
  if (all.count() == 0) throw InputError("there are no {} images", what);
  if (wanted == 0 || wanted == all.count()) return all;
  std::vector<int> order(all.count());
  std::iota(order.begin(), order.end(), 0);
  shuffle<int>(order, rng);
  LabelledImages selected;
  for (const int i : std::span(order).first(wanted)) {
    selected.labels.push_back(all.labels[i]);
    append(selected.pixels, as_text(all.pixels).substr(i * image_size, image_size));
  }
  return selected;
}

uint64_t hash_of(const LabelledImages& images, uint64_t seed) {
  return hash_bytes(images.labels.data(), images.labels.size(),
                    hash_bytes(images.pixels.data(), images.pixels.size(), seed));
}

}  // namespace

uint64_t ImageData::fingerprint() const {
  return hash_of(test, hash_of(train, hash_string(text_of(shape))));
}

ImageData load_images(const std::string& folder, const BlockShape& shape, int classes,
                      const ImageSelection& selection) {
  ImageData data = read_all(folder, shape, classes);
  data.all_train = data.train.count();
  data.all_test = data.test.count();
  const Rng rng(selection.seed);
  with_context(folder, [&] {
    data.train =
        select(std::move(data.train), selection.train, size_of(shape), "training", rng.fork(0));
    data.test = select(std::move(data.test), selection.test, size_of(shape), "test", rng.fork(1));
  });
  return data;
}

}  // namespace reverie
