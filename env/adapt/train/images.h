#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "env/adapt/network.h"

namespace reverie {

/// Images and what each shows.
struct LabelledImages {
  std::vector<uint8_t> pixels;  ///< [image, channel, row, column]
  std::vector<uint8_t> labels;  ///< [image], from 0

  int count() const { return static_cast<int>(labels.size()); }
};

struct ImageData {
  BlockShape shape;
  int classes = 0;
  LabelledImages train, test;
  int all_train = 0, all_test = 0;  ///< images that there are, where not all are taken

  /// Of everything in it.
  uint64_t fingerprint() const;
};

/// Which images to take; 0 takes all that there are.
struct ImageSelection {
  int train = 0, test = 0;
  uint64_t seed = 0;  ///< which, where not all are taken, and their order
};

/// From a folder that holds either the four files of MNIST in IDX format, gzipped (".gz") or not
/// (train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte,
/// t10k-labels-idx1-ubyte; LeCun et al., "The MNIST database"), or the six binary files of CIFAR-10
/// (data_batch_1.bin to data_batch_5.bin, test_batch.bin; Krizhevsky 2009). InputError, one line,
/// names the file: none of them there, no such format, sizes that disagree, labels of `classes` or
/// more, images of another shape than `shape`, or fewer than are wanted.
ImageData load_images(const std::string& folder, const BlockShape& shape, int classes,
                      const ImageSelection& selection);

}  // namespace reverie
