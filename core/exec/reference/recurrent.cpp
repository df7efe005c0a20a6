#include <algorithm>
#include <cmath>
#include <string>

#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

enum : size_t { kX, kWeights, kRecurrence, kBias, kLengths, kHidden, kCell, kPeepholes };

using Function = double (*)(double);

Function function_of(std::string_view name) {
  if (name == "Sigmoid") return [](double x) { return 1 / (1 + std::exp(-x)); };
  if (name == "Tanh") return [](double x) { return std::tanh(x); };
  return [](double x) { return std::max(x, 0.0); };
}

/// One direction of one sequence of the batch, as the steps see it.
struct Lane {
  int64_t hidden;
  const double* recurrence;    ///< [gates * hidden, hidden]
  std::vector<double> inputs;  ///< [steps, gates * hidden], the biases of the inputs included
  std::vector<double> biases;  ///< of the recurrence: [gates * hidden]
  const double* peepholes;     ///< of the gates i, o, f, or null
  std::vector<Function> functions;
  bool linear_before_reset;
  std::vector<double> h, c;

  size_t size() const { return static_cast<size_t>(hidden); }
  /// biases + recurrence * state, for `rows` rows of gates from `first` on.
  std::vector<double> recurred(const std::vector<double>& state, int64_t first,
                               int64_t rows) const {
    std::vector<double> sums(biases.begin() + first, biases.begin() + first + rows);
    gemm({.rows = 1,
          .columns = rows,
          .inner = hidden,
          .trans_b = true,
          .lda = hidden,
          .ldb = hidden,
          .ldc = rows,
          .beta = 1},
         state.data(), recurrence + first * hidden, sums.data());
    return sums;
  }
  double peephole(size_t gate, size_t i) const {
    return peepholes == nullptr ? 0 : peepholes[gate * size() + i];
  }
};

/// ONNX operator specification, LSTM; gates i, o, f, c.
void step_lstm(Lane& lane, const double* x) {
  const size_t n = lane.size();
  const std::vector<double> sums = lane.recurred(lane.h, 0, 4 * lane.hidden);
  const auto gate = [&](size_t g, size_t i) { return x[g * n + i] + sums[g * n + i]; };
  for (size_t i = 0; i < n; ++i) {
    const double input = lane.functions[0](gate(0, i) + lane.peephole(0, i) * lane.c[i]);
    const double forget = lane.functions[0](gate(2, i) + lane.peephole(2, i) * lane.c[i]);
    lane.c[i] = forget * lane.c[i] + input * lane.functions[1](gate(3, i));
    const double output = lane.functions[0](gate(1, i) + lane.peephole(1, i) * lane.c[i]);
    lane.h[i] = output * lane.functions[2](lane.c[i]);
  }
}

/// ONNX operator specification, GRU; gates z, r, h.
void step_gru(Lane& lane, const double* x) {
  const size_t n = lane.size();
  const std::vector<double> sums = lane.recurred(lane.h, 0, 2 * lane.hidden);
  std::vector<double> reset(n), state = lane.h;
  for (size_t i = 0; i < n; ++i) reset[i] = lane.functions[0](x[n + i] + sums[n + i]);
  for (size_t i = 0; !lane.linear_before_reset && i < n; ++i) state[i] *= reset[i];
  std::vector<double> hidden = lane.recurred(state, 2 * lane.hidden, lane.hidden);
  for (size_t i = 0; i < n; ++i) {
    if (lane.linear_before_reset) hidden[i] *= reset[i];
    const double update = lane.functions[0](x[i] + sums[i]);
    lane.h[i] = (1 - update) * lane.functions[1](x[2 * n + i] + hidden[i]) + update * lane.h[i];
  }
}

void step_rnn(Lane& lane, const double* x) {
  const std::vector<double> sums = lane.recurred(lane.h, 0, lane.hidden);
  for (size_t i = 0; i < lane.size(); ++i) lane.h[i] = lane.functions[0](x[i] + sums[i]);
}

struct Kind {
  void (*step)(Lane&, const double*);
  int64_t gates;
  std::vector<std::string> activations;
};

/// A whole call: extents, and where things stand in the two layouts.
class Recurrence {
 public:
  Recurrence(const KernelCall& call, const Kind& kind)
      : call_(call),
        kind_(kind),
        batch_first_(call.attributes.integer("layout") != 0),
        steps_(call.inputs[kX].shape()[batch_first_ ? 1 : 0]),
        batch_(call.inputs[kX].shape()[batch_first_ ? 0 : 1]),
        directions_(call.inputs[kRecurrence].shape()[0]),
        hidden_(call.inputs[kRecurrence].shape()[2]) {}

  std::vector<Tensor> run() {
    for (size_t i = 0; i < call_.outputs.size(); ++i) results_.push_back(call_.new_output(i));
    std::ranges::fill(results_[0].data<double>(), 0.0);
    for (int64_t direction = 0; direction < directions_; ++direction)
      for (int64_t sequence = 0; sequence < batch_; ++sequence) run_lane(direction, sequence);
    return results_;
  }

 private:
  int64_t rows() const { return kind_.gates * hidden_; }
  const double* data(size_t input) const { return call_.inputs[input].data<double>().data(); }

  int64_t state_at(int64_t direction, int64_t sequence) const {
    return batch_first_ ? (sequence * directions_ + direction) * hidden_
                        : (direction * batch_ + sequence) * hidden_;
  }
  int64_t result_at(int64_t step, int64_t direction, int64_t sequence) const {
    return batch_first_ ? ((sequence * steps_ + step) * directions_ + direction) * hidden_
                        : ((step * directions_ + direction) * batch_ + sequence) * hidden_;
  }

  std::vector<double> initial(size_t input, int64_t at) const {
    if (!call_.has_input(input)) return std::vector<double>(static_cast<size_t>(hidden_), 0.0);
    return {data(input) + at, data(input) + at + hidden_};
  }

  /// What the inputs of all steps of a sequence give, biases included.
  std::vector<double> input_sums(int64_t direction, int64_t sequence) const {
    const int64_t width = call_.inputs[kX].shape()[2];
    std::vector<double> sums;
    const double* bias = call_.has_input(kBias) ? data(kBias) + direction * 2 * rows() : nullptr;
    for (int64_t step = 0; step < steps_; ++step)
      for (int64_t row = 0; row < rows(); ++row) sums.push_back(bias == nullptr ? 0 : bias[row]);
    gemm({.rows = steps_,
          .columns = rows(),
          .inner = width,
          .trans_b = true,
          .lda = batch_first_ ? width : batch_ * width,
          .ldb = width,
          .ldc = rows(),
          .beta = 1},
         data(kX) + sequence * width * (batch_first_ ? steps_ : 1),
         data(kWeights) + direction * rows() * width, sums.data());
    return sums;
  }

  Lane lane(int64_t direction, int64_t sequence) const {
    Lane lane;
    lane.hidden = hidden_;
    lane.recurrence = data(kRecurrence) + direction * rows() * hidden_;
    lane.inputs = input_sums(direction, sequence);
    lane.biases.assign(static_cast<size_t>(rows()), 0.0);
    if (call_.has_input(kBias))
      std::copy_n(data(kBias) + (2 * direction + 1) * rows(), rows(), lane.biases.begin());
    lane.peepholes =
        call_.has_input(kPeepholes) ? data(kPeepholes) + direction * 3 * hidden_ : nullptr;
    const AttrValue* given = call_.attributes.find("activations");
    const size_t count = kind_.activations.size();
    for (size_t i = 0; i < count; ++i)
      lane.functions.push_back(
          function_of(given == nullptr ? kind_.activations[i]
                                       : std::get<std::vector<std::string>>(
                                             *given)[static_cast<size_t>(direction) * count + i]));
    lane.linear_before_reset = call_.attributes.integer("linear_before_reset", 0) != 0;
    lane.h = initial(kHidden, state_at(direction, sequence));
    lane.c = initial(kCell, state_at(direction, sequence));
    return lane;
  }

  int64_t length_of(int64_t sequence) const {
    if (!call_.has_input(kLengths)) return steps_;
    const int64_t length = call_.inputs[kLengths].data<int64_t>()[static_cast<size_t>(sequence)];
    if (length < 0 || length > steps_)
      throw InputError("sequence {} has {} steps, but there are {}", sequence, length, steps_);
    return length;
  }

  void run_lane(int64_t direction, int64_t sequence) {
    Lane lane = this->lane(direction, sequence);
    const bool backwards = direction == 1 || call_.attributes.text("direction") == "reverse";
    const int64_t length = length_of(sequence);
    if (length == 0)  // as in ONNX Runtime, whatever the initial state
      for (std::vector<double>* state : {&lane.h, &lane.c}) std::ranges::fill(*state, 0.0);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t step = backwards ? length - 1 - i : i;
      kind_.step(lane, lane.inputs.data() + step * rows());
      store(0, result_at(step, direction, sequence), lane.h);
    }
    store(1, state_at(direction, sequence), lane.h);
    if (results_.size() > 2) store(2, state_at(direction, sequence), lane.c);
  }

  void store(size_t output, int64_t at, const std::vector<double>& state) {
    std::ranges::copy(state, results_[output].data<double>().begin() + at);
  }

  const KernelCall& call_;
  const Kind& kind_;
  bool batch_first_;
  int64_t steps_, batch_, directions_, hidden_;
  std::vector<Tensor> results_;
};

std::vector<Tensor> lstm(const KernelCall& call) {
  return Recurrence(call, {step_lstm, 4, {"Sigmoid", "Tanh", "Tanh"}}).run();
}
std::vector<Tensor> gru(const KernelCall& call) {
  return Recurrence(call, {step_gru, 3, {"Sigmoid", "Tanh"}}).run();
}
std::vector<Tensor> rnn(const KernelCall& call) {
  return Recurrence(call, {step_rnn, 1, {"Tanh"}}).run();
}

}  // namespace

std::vector<KernelRow> recurrent_kernels() { return {{"LSTM", lstm}, {"GRU", gru}, {"RNN", rnn}}; }

}  // namespace reverie::reference
