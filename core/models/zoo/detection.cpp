#include <fmt/format.h>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"
#include "core/models/zoo/residual.h"

namespace reverie::zoo {
namespace {

/// Centre and size on the last axis to corners.
Value corners(Net& net, const Value& boxes) {
  const Value centre = slice(net, boxes, 2, 0, 2);
  const Value half = net.add("Div", {slice(net, boxes, 2, 2, 4), net.number(2)});
  return concat(net, {net.add("Sub", {centre, half}), net.add("Add", {centre, half})}, 2);
}

/// Boxes (1, n, 4) and scores (1, classes, n); indices (selected, 3).
Value suppress(Net& net, const Value& boxes, const Value& scores, int64_t most, float least) {
  const Value count = net.constant(ints_tensor({1}, {most}));
  const Value overlap = net.constant(floats_tensor({1}, {0.45f}));
  const Value threshold = net.constant(floats_tensor({1}, {least}));
  return net.add("NonMaxSuppression", {boxes, scores, count, overlap, threshold});
}

/// What one column of the selection names.
Value column(Net& net, const Value& selected, int64_t index) {
  return squeeze(net, slice(net, selected, 1, index, index + 1), {1});
}

// YOLOv5 (Jocher 2020).

Value conv_silu(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
                int64_t kernel, int64_t stride = 1) {
  return silu(net, conv_norm(net, x, name, inputs, outputs, same(kernel, stride), Norm::kFolded));
}

/// Every second pixel of each of four phases as channels.
Value focus(Net& net, const Value& image) {
  Values phases;
  constexpr int64_t kOffsets[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  for (const auto& [row, col] : kOffsets) {
    const Value rows = slice(net, image, 2, row, INT64_MAX, 2);
    phases.push_back(slice(net, rows, 3, col, INT64_MAX, 2));
  }
  return concat(net, phases, 1);
}

Value c3(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
         bool skip) {
  const Module module(net, name);
  const int64_t half = outputs / 2;
  const Value one = conv_silu(net, x, "cv1", inputs, half, 1);
  Value inner = conv_silu(net, one, "m.0.cv1", half, half, 1);
  inner = conv_silu(net, inner, "m.0.cv2", half, half, 3);
  if (skip) inner = net.add("Add", {one, inner});
  const Value two = conv_silu(net, x, "cv2", inputs, half, 1);
  return conv_silu(net, concat(net, {inner, two}, 1), "cv3", outputs, outputs, 1);
}

Value pyramid_pools(Net& net, const Value& x, int64_t channels) {
  const Module module(net, "model.8");
  const Value narrow = conv_silu(net, x, "cv1", channels, channels / 2, 1);
  Values all = {narrow};
  for (const int64_t kernel : {5, 9, 13})
    all.push_back(max_pool(net, narrow, kernel, 1, kernel / 2));
  return conv_silu(net, concat(net, all, 1), "cv2", channels * 2, channels, 1);
}

/// Rows (x, y, w, h, objectness, classes) of three anchors on a grid of `size` cells.
Value detect(Net& net, const Value& x, int64_t inputs, int64_t size, int64_t level) {
  constexpr int64_t kOutputs = 5 + 20;
  const Module module(net, fmt::format("model.24.m.{}", level));
  const Value raw = conv(net, x, "conv", inputs, 3 * kOutputs, {});
  const Value apart = view(net, raw,
                           {extent(net, raw, 0), net.integer(3), net.integer(kOutputs),
                            extent(net, raw, 2), extent(net, raw, 3)});
  const Value y = sigmoid(net, transpose(net, apart, {0, 1, 3, 4, 2}));
  Floats grid;
  for (int64_t row = 0; row < size; ++row)
    for (int64_t col = 0; col < size; ++col)
      grid.insert(grid.end(), {static_cast<float>(col), static_cast<float>(row)});
  const Value cells = net.constant(floats_tensor({1, 1, size, size, 2}, grid));
  const auto stride = static_cast<float>(8 << level);
  const Value anchors = net.constant(floats_tensor(
      {1, 3, 1, 1, 2}, {stride, stride * 1.5f, stride * 2, stride, stride * 3, stride * 2.5f}));
  const Value twice = net.add("Mul", {slice(net, y, 4, 0, 2), net.number(2)});
  const Value moved = net.add("Add", {net.add("Sub", {twice, net.number(0.5f)}), cells});
  const Value centre = net.add("Mul", {moved, net.number(stride)});
  const Value wide = net.add("Mul", {slice(net, y, 4, 2, 4), net.number(2)});
  const Value extents = net.add("Mul", {net.add("Pow", {wide, net.number(2)}), anchors});
  const Value rows = concat(net, {centre, extents, slice(net, y, 4, 4, INT64_MAX)}, 4);
  return view(net, rows, {extent(net, raw, 0), net.integer(-1), net.integer(kOutputs)});
}

// RetinaNet (Lin et al. 2017).

Values feature_pyramid(Net& net, const Values& stages, const Ints& channels, int64_t width) {
  const Module module(net, "backbone.fpn");
  const Window smooth = {.kernel = 3, .pad = 1};
  Values levels;
  Value above;
  for (size_t i = stages.size(); i-- > 0;) {
    Value lateral = conv(net, stages[i], fmt::format("inner_blocks.{}", i), channels[i], width, {});
    if (!above.empty())
      lateral = net.add("Add", {lateral, resize_like(net, above, lateral, "nearest")});
    above = lateral;
    levels.insert(levels.begin(),
                  conv(net, lateral, fmt::format("layer_blocks.{}", i), width, width, smooth));
  }
  levels.push_back(conv(net, levels.back(), "extra_blocks.p6", width, width,
                        {.kernel = 3, .stride = 2, .pad = 1}));
  return levels;
}

/// The weights are the same at each level. (1, cells * anchors, outputs).
Value head(Net& net, Value x, const std::string& name, int64_t width, int64_t anchors,
           int64_t outputs) {
  const Module module(net, name);
  const Window window = {.kernel = 3, .pad = 1};
  for (int i = 0; i < 2; ++i) {
    const Value y = conv(net, x, fmt::format("conv.{}", i), width, width, window);
    x = relu(net, group_norm(net, y, fmt::format("norm.{}", i), 8, width, 2));
  }
  x = conv(net, x, "last", width, anchors * outputs, window);
  const Value batch = extent(net, x, 0);
  const Value apart = view(
      net, x, {batch, net.integer(-1), net.integer(outputs), extent(net, x, 2), extent(net, x, 3)});
  const Value last = transpose(net, apart, {0, 3, 4, 1, 2});
  return view(net, last, {batch, net.integer(-1), net.integer(outputs)});
}

struct Found {
  Value boxes, scores, labels;
};

/// Of one level: what scores above a threshold, and of that the best hundred.
Found best_of_level(Net& net, const Value& boxes, const Value& logits, int64_t classes) {
  const Value flat = reshape(net, sigmoid(net, squeeze(net, logits, {0})), {-1});
  const Value above = net.add("Greater", {flat, net.number(0.6f)});
  const Value kept = squeeze(net, transpose(net, net.add("NonZero", {above}), {1, 0}), {1});
  const Value scores = net.add("Gather", {flat, kept}, {{"axis", int64_t{0}}});
  const Value count = net.add("Shape", {scores});
  const Value least = reduce(net, "ReduceMin", concat(net, {net.ints({100}), count}, 0), {0});
  const Values top = net.add_many("TopK", {scores, least}, 2, {{"axis", int64_t{0}}});
  const Value picked = net.add("Gather", {kept, top[1]}, {{"axis", int64_t{0}}});
  const Value rows = net.add("Div", {picked, net.integer(classes)});
  const Value labels = net.add("Mod", {picked, net.integer(classes)});
  const Value chosen = net.add("Gather", {squeeze(net, boxes, {0}), rows}, {{"axis", int64_t{0}}});
  return {chosen, top[0], labels};
}

// SSD (Liu et al. 2015).

Value ssd_head(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
               int64_t each) {
  const Value raw = conv(net, x, name, inputs, outputs, {.kernel = 3, .pad = 1});
  const Value last = transpose(net, raw, {0, 2, 3, 1});
  return view(net, last, {extent(net, last, 0), net.integer(-1), net.integer(each)});
}

/// Offsets to boxes around the priors.
Value decode(Net& net, const Value& offsets, int64_t count) {
  Floats centres = net.draw("prior_centres", static_cast<size_t>(2 * count), 0.25);
  for (float& value : centres) value += 0.5f;
  Floats sizes = net.draw("prior_sizes", static_cast<size_t>(2 * count), 0.03);
  for (float& value : sizes) value += 0.1f;
  const Value places = net.floats("prior_centres", {1, count, 2}, centres);
  const Value extents = net.floats("prior_sizes", {1, count, 2}, sizes);
  const Value move = net.add("Mul", {slice(net, offsets, 2, 0, 2), net.number(0.1f)});
  const Value centre = net.add("Add", {net.add("Mul", {move, extents}), places});
  const Value grow = net.add("Mul", {slice(net, offsets, 2, 2, 4), net.number(0.2f)});
  const Value size = net.add("Mul", {net.add("Exp", {grow}), extents});
  return corners(net, concat(net, {centre, size}, 2));
}

}  // namespace

void yolo(Net& net) {
  const Value image = net.input("images", kFloat, {1, 3, 192, 192});
  Value x = conv_silu(net, focus(net, image), "model.0", 12, 16, 3);
  x = c3(net, conv_silu(net, x, "model.1", 16, 32, 3, 2), "model.2", 32, 32, true);
  const Value p3 = c3(net, conv_silu(net, x, "model.3", 32, 64, 3, 2), "model.4", 64, 64, true);
  const Value p4 = c3(net, conv_silu(net, p3, "model.5", 64, 128, 3, 2), "model.6", 128, 128, true);
  x = pyramid_pools(net, conv_silu(net, p4, "model.7", 128, 256, 3, 2), 256);
  const Value top = conv_silu(net, c3(net, x, "model.9", 256, 256, false), "model.10", 256, 128, 1);
  x = concat(net, {upsample(net, top, 2, "nearest"), p4}, 1);
  const Value middle =
      conv_silu(net, c3(net, x, "model.13", 256, 128, false), "model.14", 128, 64, 1);
  x = concat(net, {upsample(net, middle, 2, "nearest"), p3}, 1);
  const Value n3 = c3(net, x, "model.17", 128, 64, false);
  x = concat(net, {conv_silu(net, n3, "model.18", 64, 64, 3, 2), middle}, 1);
  const Value n4 = c3(net, x, "model.20", 128, 128, false);
  x = concat(net, {conv_silu(net, n4, "model.21", 128, 128, 3, 2), top}, 1);
  const Value n5 = c3(net, x, "model.23", 256, 256, false);
  const Value rows = concat(
      net, {detect(net, n3, 64, 24, 0), detect(net, n4, 128, 12, 1), detect(net, n5, 256, 6, 2)},
      1);
  const Value objectness = slice(net, rows, 2, 4, 5);
  const Value classes = net.add("Mul", {slice(net, rows, 2, 5, INT64_MAX), objectness});
  const Value boxes = corners(net, slice(net, rows, 2, 0, 4));
  const Value selected = suppress(net, boxes, transpose(net, classes, {0, 2, 1}), 100, 0.25f);
  net.output("output", rows, kFloat, {1, 3 * (24 * 24 + 12 * 12 + 6 * 6), 25});
  net.output("selected", selected, kInt64, {"selected", 3});
}

void retinanet(Net& net) {
  constexpr int64_t kAnchors = 3, kClasses = 20, kWidth = 64;
  const Value image = net.input("image", kFloat, {1, 3, 160, 160});
  const Values stages = resnet_stages(net, image, {.counts = {1, 1, 1, 1}, .channels = 32});
  const Values levels =
      feature_pyramid(net, {stages[1], stages[2], stages[3]}, {64, 128, 256}, kWidth);
  Values boxes, scores, labels;
  for (const Value& level : levels) {
    const Value logits = head(net, level, "head.classification", kWidth, kAnchors, kClasses);
    const Value places = head(net, level, "head.regression", kWidth, kAnchors, 4);
    const Found found = best_of_level(net, corners(net, places), logits, kClasses);
    boxes.push_back(found.boxes);
    scores.push_back(found.scores);
    labels.push_back(found.labels);
  }
  const Value all_boxes = concat(net, boxes, 0);
  const Value all_scores = concat(net, scores, 0);
  const Value rows = unsqueeze(net, unsqueeze(net, all_scores, {0}), {0});
  const Value selected = suppress(net, unsqueeze(net, all_boxes, {0}), rows, 100, 0);
  const Value kept = slice(net, column(net, selected, 2), 0, 0, 50);
  const auto pick = [&](const Value& values) {
    return net.add("Gather", {values, kept}, {{"axis", int64_t{0}}});
  };
  const Value labels_kept = pick(concat(net, labels, 0));
  net.output("boxes", pick(all_boxes), kFloat, {"found", 4});
  net.output("scores", pick(all_scores), kFloat, {"found"});
  net.output("labels", labels_kept, kInt64, {"found"});
}

void ssd(Net& net) {
  const Value image = net.input("image", kFloat, {"batch", 3, 160, 160});
  const Values stages =
      resnet_stages(net, image, {.counts = {1, 1, 1, 1}, .norm = Norm::kFolded, .channels = 32});
  Values maps = {stages[1], stages[2], stages[3]};
  maps.push_back(
      relu(net, conv(net, maps.back(), "extra.0", 256, 128, {.kernel = 3, .stride = 2, .pad = 1})));
  const Ints channels = {64, 128, 256, 128};
  Values offsets, scores;
  for (size_t i = 0; i < maps.size(); ++i) {
    offsets.push_back(ssd_head(net, maps[i], fmt::format("loc.{}", i), channels[i], 4 * 4, 4));
    scores.push_back(ssd_head(net, maps[i], fmt::format("conf.{}", i), channels[i], 4 * 21, 21));
  }
  constexpr int64_t kCount = 4 * (20 * 20 + 10 * 10 + 5 * 5 + 3 * 3);
  const Value chances = softmax(net, concat(net, scores, 1), 2);
  const Value boxes = decode(net, concat(net, offsets, 1), kCount);
  net.output("boxes", boxes, kFloat, {"batch", kCount, 4});
  net.output("scores", chances, kFloat, {"batch", kCount, 21});
}

}  // namespace reverie::zoo
