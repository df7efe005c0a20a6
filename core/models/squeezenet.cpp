#include <fmt/format.h>

#include <array>
#include <span>

#include "core/base/error.h"
#include "core/models/builder.h"

namespace reverie::models {
namespace {

ValueId activated(ModelBuilder& b, ValueId x, const std::string& name, int64_t outputs,
                  Window window) {
  window.bias = true;
  return b.relu(b.conv(x, name, outputs, window));
}

/// Iandola et al. 2016, Figure 1.
ValueId fire(ModelBuilder& b, ValueId x, const std::string& name, int64_t squeeze, int64_t expand) {
  const ValueId narrow = activated(b, x, name + ".squeeze", b.channels(squeeze), same(1));
  return b.concat({activated(b, narrow, name + ".expand1x1", b.channels(expand), same(1)),
                   activated(b, narrow, name + ".expand3x3", b.channels(expand), same(3))});
}

}  // namespace

Graph squeezenet1_1(const ModelOptions& options) {
  struct Fire {
    int64_t squeeze, expand;
    bool pooled_before;
  };
  constexpr std::array<Fire, 8> kFires = {{{16, 64, false},
                                           {16, 64, false},
                                           {32, 128, true},
                                           {32, 128, false},
                                           {48, 192, true},
                                           {48, 192, false},
                                           {64, 256, false},
                                           {64, 256, false}}};
  if (options.layers > std::ssize(kFires))
    throw InputError("layers is {}, of {} fire modules", options.layers, kFires.size());
  ModelBuilder b(options);
  const Window halving = valid(3, 2);
  ValueId x = activated(b, b.image(), "features.0", b.channels(64), halving);
  x = b.max_pool(x, halving, true);
  int place = 3;  // in torchvision's sequence
  for (const Fire& module : std::span(kFires).first(static_cast<size_t>(options.layers))) {
    if (module.pooled_before) {
      x = b.max_pool(x, halving, true);
      ++place;
    }
    x = fire(b, x, fmt::format("features.{}", place++), module.squeeze, module.expand);
  }
  return b.finish(b.pooled(activated(b, x, "classifier.1", options.classes, same(1))));
}

}  // namespace reverie::models
