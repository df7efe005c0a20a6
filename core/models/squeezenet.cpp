#include "core/models/builder.h"

namespace reverie::models {
namespace {

ValueId activated(ModelBuilder& b, ValueId x, const std::string& name, int64_t outputs,
                  Window window) {
  window.bias = true;
  return b.relu(b.conv(x, name, outputs, window));
}

/// Iandola et al. 2016, Figure 1.
ValueId fire(ModelBuilder& b, ValueId x, const std::string& name, int64_t squeeze,
             int64_t expand) {
  const ValueId narrow = activated(b, x, name + ".squeeze", b.channels(squeeze), same(1));
  return b.concat({activated(b, narrow, name + ".expand1x1", b.channels(expand), same(1)),
                   activated(b, narrow, name + ".expand3x3", b.channels(expand), same(3))});
}

}  // namespace

Graph squeezenet1_1(const ModelOptions& options) {
  ModelBuilder b(options);
  const Window halving = valid(3, 2);
  ValueId x = activated(b, b.image(), "features.0", b.channels(64), halving);
  x = b.max_pool(x, halving, true);
  x = fire(b, x, "features.3", 16, 64);
  x = fire(b, x, "features.4", 16, 64);
  x = b.max_pool(x, halving, true);
  x = fire(b, x, "features.6", 32, 128);
  x = fire(b, x, "features.7", 32, 128);
  x = b.max_pool(x, halving, true);
  x = fire(b, x, "features.9", 48, 192);
  x = fire(b, x, "features.10", 48, 192);
  x = fire(b, x, "features.11", 64, 256);
  x = fire(b, x, "features.12", 64, 256);
  return b.finish(b.pooled(activated(b, x, "classifier.1", options.classes, same(1))));
}

}  // namespace reverie::models
