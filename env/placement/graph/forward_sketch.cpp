#include "env/placement/graph/forward_sketch.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"

namespace reverie {
namespace {

struct Operator {
  std::string_view name;
  double flops_per_byte;  ///< the median
  bool has_weight;
};
constexpr Operator kConv = {"Conv", 300, true}, kMatMul = {"MatMul", 250, true},
                   kNorm = {"BatchNormalization", 2, false}, kRelu = {"Relu", 0.25, false},
                   kAdd = {"Add", 0.25, false}, kMul = {"Mul", 0.25, false},
                   kTanh = {"Tanh", 0.25, false}, kSigmoid = {"Sigmoid", 0.25, false},
                   kPool = {"MaxPool", 2, false}, kConcat = {"Concat", 0, false};
constexpr std::array kAny = {kConv, kMatMul, kNorm, kRelu, kAdd, kMul, kPool};
constexpr double kMedianBytes = 0x1p22, kMedianWeightBytes = 0x1p21;

class Drawer {
 public:
  Drawer(int nodes, Rng& rng) : left_(nodes - 1), rng_(rng) {}  // one is the loss

  ForwardSketch layers() {
    int x = input();
    while (!full()) {
      const int before = x;
      x = add(below(3) == 0 ? kMatMul : kConv, {x});
      x = add(kNorm, {x});
      x = add(kRelu, {x});
      if (below(3) != 0) continue;
      x = add(kAdd, {add(kConv, {x}), before});
    }
    return std::move(sketch_);
  }

  ForwardSketch branches() {
    int x = input();
    while (!full()) {
      std::vector<int> ends;
      for (int branch = 4 + below(5); branch > 0; --branch) {
        int end = x;
        for (int length = 1 + below(4); length > 0; --length)
          end = add(below(4) == 0 ? kPool : kConv, {end});
        if (end != x) ends.push_back(end);
      }
      if (!ends.empty()) x = add(kConcat, ends);
    }
    return std::move(sketch_);
  }

  ForwardSketch recurrent(int layers) {
    std::vector<int> weights, hidden(static_cast<size_t>(layers), -1), cell = hidden;
    while (!full()) {
      int x = input();
      for (size_t layer = 0; layer < hidden.size() && !full(); ++layer) {
        if (weights.size() == layer) weights.push_back(new_weight());
        x = hidden[layer] = lstm_cell(x, hidden[layer], &cell[layer], weights[layer]);
      }
    }
    return std::move(sketch_);
  }

  ForwardSketch random(int width) {
    std::vector<std::vector<int>> ranks = {{input(), input()}};
    while (!full()) {
      std::vector<int> rank, before;
      for (size_t back = 1; back <= 3 && back <= ranks.size(); ++back) {
        const auto& one = ranks[ranks.size() - back];
        before.insert(before.end(), one.begin(), one.end());
      }
      for (int count = 1 + below(2 * width); count > 0 && !full(); --count) {
        std::vector<int> inputs;
        for (int reads = 1 + below(3); reads > 0; --reads)
          inputs.push_back(before[static_cast<size_t>(below(static_cast<int>(before.size())))]);
        rank.push_back(
            add(kAny[static_cast<size_t>(below(static_cast<int>(kAny.size())))], inputs));
      }
      ranks.push_back(std::move(rank));
    }
    return std::move(sketch_);
  }

 private:
  bool full() const { return left_ <= 0; }
  int below(int n) { return static_cast<int>(rng_.below(static_cast<uint64_t>(n))); }
  double about(double median, double deviation) {
    return median * std::exp(deviation * rng_.normal());
  }

  int input() {
    --left_;
    return push({.op = "Input", .inputs = {}, .bytes = about(kMedianBytes, 0.5)});
  }
  int new_weight() {
    --left_;  // its update
    sketch_.weight_bytes.push_back(std::round(about(kMedianWeightBytes, 1)));
    return static_cast<int>(sketch_.weight_bytes.size()) - 1;
  }
  int push(ForwardSketch::Node node) {
    node.bytes = std::round(node.bytes);
    sketch_.nodes.push_back(std::move(node));
    return static_cast<int>(sketch_.nodes.size()) - 1;
  }

  /// The first of its inputs where there is no room. Products and convolutions change the size,
  /// Concat adds sizes up, all else keeps the largest.
  int add(const Operator& op, std::vector<int> inputs, int weight = -1) {
    if (full()) return inputs[0];
    left_ -= op.has_weight ? 3 : 2;  // with gradients
    std::ranges::sort(inputs);
    inputs.erase(std::ranges::unique(inputs).begin(), inputs.end());
    double largest = 0, sum = 0;
    for (const int one : inputs) {
      sum += sketch_.nodes[static_cast<size_t>(one)].bytes;
      largest = std::max(largest, sketch_.nodes[static_cast<size_t>(one)].bytes);
    }
    const bool is_shared = weight >= 0;
    if (op.has_weight && !is_shared) weight = new_weight();
    return push({.op = op.name,
                 .inputs = std::move(inputs),
                 .bytes = op.has_weight             ? about(kMedianBytes, 0.7)
                          : op.name == kConcat.name ? sum
                                                    : largest,
                 .flops_per_byte = about(op.flops_per_byte, 0.5),
                 .weight = weight,
                 .group = is_shared ? weight : -1});
  }

  /// Its hidden state; that of before is -1 at the first step. Of Hochreiter and Schmidhuber 1997,
  /// with all gates as one product.
  int lstm_cell(int x, int hidden, int* cell, int weight) {
    std::vector<int> inputs = {x};
    if (hidden >= 0) inputs.push_back(hidden);
    const int gates = add(kMatMul, inputs, weight);
    const int open = add(kSigmoid, {gates});
    int state = add(kMul, {open, add(kTanh, {gates})});
    if (*cell >= 0) state = add(kAdd, {state, add(kMul, {*cell, open})});
    *cell = state;
    return add(kMul, {open, add(kTanh, {state})});
  }

  int left_;  ///< nodes of the whole graph that are still to be drawn
  Rng& rng_;
  ForwardSketch sketch_;
};

}  // namespace

ForwardSketch draw_forward(const std::string& family, int nodes, Rng& rng) {
  Drawer drawer(nodes, rng);
  if (family == "layers") return drawer.layers();
  if (family == "branches") return drawer.branches();
  if (family == "recurrent") return drawer.recurrent(std::clamp(nodes / 500, 2, 8));
  if (family == "random")
    return drawer.random(static_cast<int>(std::sqrt(static_cast<double>(nodes) / 8)));
  throw InputError("no family '{}'; there are layers, branches, recurrent and random", family);
}

}  // namespace reverie
