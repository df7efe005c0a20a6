#include <array>

#include "core/models/builder.h"

namespace reverie::models {
namespace {

struct Stage {
  int64_t planes;
  int blocks;
  int64_t stride;
};

ValueId normalized(ModelBuilder& b, ValueId x, const std::string& name, const std::string& index,
                   int64_t outputs, const Window& window) {
  return b.batch_norm(b.conv(x, name + ".conv" + index, outputs, window), name + ".bn" + index);
}

ValueId shortcut(ModelBuilder& b, ValueId x, const std::string& name, int64_t outputs,
                 int64_t stride) {
  if (stride == 1 && b.shape(x)[1] == outputs) return x;
  return b.batch_norm(b.conv(x, name + ".downsample.0", outputs, same(1, stride)),
                      name + ".downsample.1");
}

/// He et al. 2015, Figure 5: two 3x3 convolutions.
ValueId basic_block(ModelBuilder& b, ValueId x, const std::string& name, int64_t planes,
                    int64_t stride) {
  const ValueId first = b.relu(normalized(b, x, name, "1", planes, same(3, stride)));
  const ValueId second = normalized(b, first, name, "2", planes, same(3));
  return b.relu(b.add(second, shortcut(b, x, name, planes, stride)));
}

/// 1x1, 3x3 (grouped in ResNeXt: Xie et al. 2016), 1x1 with four times the planes.
ValueId bottleneck(ModelBuilder& b, ValueId x, const std::string& name, int64_t planes,
                   int64_t stride, int64_t inner, int64_t groups) {
  const ValueId first = b.relu(normalized(b, x, name, "1", inner, same(1)));
  const ValueId second = b.relu(normalized(b, first, name, "2", inner, same(3, stride, groups)));
  const ValueId third = normalized(b, second, name, "3", 4 * planes, same(1));
  return b.relu(b.add(third, shortcut(b, x, name, 4 * planes, stride)));
}

template <typename Block>
Graph resnet(const ModelOptions& options, const std::array<Stage, 4>& stages, int64_t multiple,
             Block block) {
  ModelBuilder b(options);
  ValueId x = b.relu(normalized(b, b.image(), "stem", "1", b.channels(64, multiple), same(7, 2)));
  x = b.max_pool(x, same(3, 2));
  for (size_t stage = 0; stage < stages.size(); ++stage)
    for (int i = 0; i < stages[stage].blocks; ++i)
      x = block(b, x, fmt::format("layer{}.{}", stage + 1, i),
                b.channels(stages[stage].planes, multiple), i == 0 ? stages[stage].stride : 1);
  return b.finish(b.gemm(b.pooled(x), "fc", options.classes));
}

constexpr std::array<Stage, 4> kDeep = {{{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}}};

}  // namespace

Graph resnet18(const ModelOptions& options) {
  return resnet(options, {{{64, 2, 1}, {128, 2, 2}, {256, 2, 2}, {512, 2, 2}}}, 8, basic_block);
}

Graph resnet50(const ModelOptions& options) {
  return resnet(options, kDeep, 8,
                [](ModelBuilder& b, ValueId x, const std::string& name, int64_t planes,
                   int64_t stride) { return bottleneck(b, x, name, planes, stride, planes, 1); });
}

Graph resnext50(const ModelOptions& options) {
  constexpr int64_t kGroups = 32;
  return resnet(
      options, kDeep, kGroups / 2,
      [](ModelBuilder& b, ValueId x, const std::string& name, int64_t planes, int64_t stride) {
        return bottleneck(b, x, name, planes, stride, 2 * planes, kGroups);
      });
}

/// As the TASO paper's artifact builds it: a relu after the shortcut's convolution, no classifier.
Graph taso_resnext50(const ModelOptions& options) {
  constexpr int64_t kGroups = 32;
  ModelBuilder b(options);
  ValueId x = b.relu(b.conv(b.image(), "0", b.channels(64), same(7, 2)));
  x = b.max_pool(x, same(3, 2));
  int index = 3;
  for (const Stage& stage : kDeep) {
    const int64_t inner = b.channels(2 * stage.planes, kGroups);
    for (int i = 0; i < stage.blocks; ++i) {
      const std::string name = std::to_string(index++);
      const int64_t stride = i == 0 ? stage.stride : 1;
      const bool keeps = stride == 1 && b.shape(x)[1] == 2 * inner;
      const ValueId direct =
          keeps ? x : b.relu(b.conv(x, name + ".shortcut.0", 2 * inner, same(1, stride)));
      const ValueId first = b.relu(b.conv(x, name + ".body.0", inner, same(1)));
      const ValueId second =
          b.relu(b.conv(first, name + ".body.2", inner, same(3, stride, kGroups)));
      x = b.relu(b.add(direct, b.conv(second, name + ".body.4", 2 * inner, same(1))));
    }
  }
  return b.finish(x);
}

}  // namespace reverie::models
