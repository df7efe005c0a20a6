#include <array>

#include "core/models/builder.h"

namespace reverie::models {
namespace {

/// NasNet-A cells (Zoph et al. 2018, Figure 4) without batch normalization.
class NasNet {
 public:
  explicit NasNet(const ModelOptions& options) : b_(options) {}

  Graph build() {
    constexpr int kStacks = 3;
    int64_t channels = b_.channels(128);
    ValueId x = b_.relu(b_.conv(b_.image(), "stem", b_.channels(64), same(7, 2)));
    ValueId current = b_.max_pool(x, same(3, 2));
    ValueId previous = current;
    for (int stack = 0; stack < kStacks; ++stack) {
      for (int64_t cell = 0; cell < b_.options().layers; ++cell) {
        const ValueId result = normal(previous, current, channels);
        previous = current;
        current = result;
      }
      channels *= 2;
      current = reduction(previous, current, channels);
      previous = current;
    }
    return b_.finish(current);
  }

 private:
  ValueId separable(ValueId x, int index, int64_t kernel, int64_t stride) {
    const int64_t channels = b_.shape(x)[1];
    const std::string name = fmt::format("layers.{}.separable.{}", cell_, index);
    const ValueId deep = b_.conv(x, name + ".0", channels, same(kernel, stride, channels));
    return b_.conv(deep, name + ".1", channels, same(1));
  }

  struct Inputs {
    ValueId previous, current;
  };

  Inputs enter(ValueId previous, ValueId current, int64_t channels) {
    ++cell_;
    const std::string name = fmt::format("layers.{}", cell_);
    const ValueId narrow = b_.relu(b_.conv(current, name + ".current", channels, same(1)));
    return {b_.relu(b_.conv(previous, name + ".previous", channels, same(1))), narrow};
  }

  ValueId normal(ValueId before, ValueId now, int64_t channels) {
    const auto [previous, current] = enter(before, now, channels);
    const Window window = same(3);
    const ValueId a = b_.add(separable(current, 0, 3, 1), current);
    const ValueId b = b_.add(separable(previous, 1, 3, 1), separable(current, 2, 3, 1));
    const ValueId c = b_.add(b_.average_pool(current, window), previous);
    const ValueId mean = b_.average_pool(previous, window);
    const ValueId d = b_.add(mean, mean);
    const ValueId e = b_.add(separable(previous, 3, 3, 1), separable(previous, 4, 3, 1));
    return b_.concat({a, b, c, d, e});
  }

  ValueId reduction(ValueId before, ValueId now, int64_t channels) {
    const auto [previous, current] = enter(before, now, channels);
    const Window halving = same(3, 2);
    const ValueId a = b_.add(separable(previous, 0, 7, 2), separable(current, 1, 5, 2));
    const ValueId largest = b_.max_pool(current, halving);
    const ValueId mean = b_.average_pool(current, halving);
    return b_.concat(
        {b_.add(largest, separable(previous, 2, 7, 2)), b_.add(mean, separable(previous, 3, 5, 2)),
         b_.add(largest, separable(a, 4, 3, 1)), b_.add(b_.average_pool(a, same(3)), mean)});
  }

  ModelBuilder b_;
  int cell_ = -1;
};

}  // namespace

/// The NAS recurrent cell (Zoph and Le 2017) with its own weights at every step.
Graph nasrnn(const ModelOptions& options) {
  ModelBuilder b(options);
  Graph& g = b.graph();
  ValueId state = b.weight("initial", {1, options.hidden}, 1);
  const auto tanh = [&](ValueId x) { return g.add("Tanh", {x}); };
  const auto sigmoid = [&](ValueId x) { return g.add("Sigmoid", {x}); };
  const auto times = [&](ValueId x, ValueId y) { return g.add("Mul", {x, y}); };
  for (int64_t step = 0; step < options.layers; ++step) {
    const ValueId x = b.input(fmt::format("input{}", step), {DType::kFloat32, {1, options.hidden}});
    std::array<ValueId, 8> gate;
    for (size_t i = 0; i < gate.size(); ++i) {
      const auto index = 8 * step + static_cast<int64_t>(i);
      gate[i] = b.add(b.product(x, fmt::format("inputs.{}", index), options.hidden),
                      b.product(state, fmt::format("states.{}", index), options.hidden));
    }
    const ValueId first = b.add(b.relu(gate[0]), sigmoid(gate[3]));
    const ValueId second = sigmoid(b.add(sigmoid(gate[1]), tanh(gate[2])));
    const ValueId third = tanh(times(sigmoid(gate[4]), tanh(gate[5])));
    const ValueId fourth = times(sigmoid(gate[6]), b.relu(gate[7]));
    state = tanh(times(tanh(b.add(second, third)), tanh(times(tanh(first), tanh(fourth)))));
  }
  return b.finish(state);
}

Graph nasnet_a(const ModelOptions& options) { return NasNet(options).build(); }

}  // namespace reverie::models
