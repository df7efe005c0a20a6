#include <cmath>
#include <numbers>
#include <unordered_map>

#include "core/base/error.h"
#include "core/onnx/convert.h"

/// Operators of signal processing that are constants where their inputs are (ONNX operator
/// specification).
namespace reverie::proto {
namespace {

constexpr int64_t kMostPoints = 1 << 24;

std::optional<double> number_at(const Source& source, size_t input) {
  const auto value = source.constant(input);
  if (!value) return std::nullopt;
  if (value->elements() != 1) throw InputError("input {} should be a scalar", input);
  return value->to_doubles()[0];
}

std::optional<Values> known(Source& source, const Tensor& values) {
  const DType dtype = dtype_of(
      static_cast<int32_t>(source.attributes.integer("output_datatype", onnx::TensorProto::FLOAT)));
  if (size_of(dtype) == 0 || dtype == DType::kBool) return std::nullopt;
  return Values{
      source.graph.add_constant(Weight::known(values.cast(dtype), source.node.output(0)))};
}

/// a0 - a1 cos(2 pi n / period) + a2 cos(4 pi n / period).
std::optional<Values> window(Source& source, double a0, double a1, double a2) {
  const auto given = number_at(source, 0);
  if (!given || !(*given >= 0 && *given <= kMostPoints)) return std::nullopt;
  const auto size = static_cast<int64_t>(*given);
  const bool is_periodic = source.attributes.integer("periodic", 1) != 0;
  const auto period = static_cast<double>(is_periodic ? size : size - 1);
  std::vector<double> values;
  for (int64_t n = 0; n < size; ++n) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  return known(source, Tensor::of<double>({size}, values));
}

std::optional<Values> hann(Source& source) { return window(source, 0.5, 0.5, 0); }
std::optional<Values> hamming(Source& source) {
  return window(source, 25.0 / 46, 1 - 25.0 / 46, 0);
}
std::optional<Values> blackman(Source& source) { return window(source, 0.42, 0.5, 0.08); }

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

/// By triangle its edges and its middle, in steps of the spectrum.
std::vector<int64_t> mel_edges(int64_t bands, double length, double rate, double low, double high) {
  const double step = (mel_of(high) - mel_of(low)) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = hertz_of(mel_of(low) + static_cast<double>(i) * step);
    edges.push_back(static_cast<int64_t>(std::floor((length + 1) * hertz / rate)));
  }
  return edges;
}

std::optional<Values> mel_weights(Source& source) {
  double numbers[5] = {};
  for (size_t i = 0; i < 5; ++i) {
    const auto number = number_at(source, i);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  const auto bands = static_cast<int64_t>(numbers[0]);
  const int64_t rows = static_cast<int64_t>(numbers[1]) / 2 + 1;
  if (bands < 0 || rows < 1 || bands > kMostPoints / rows) return std::nullopt;
  const std::vector<int64_t> edges =
      mel_edges(bands, numbers[1], numbers[2], numbers[3], numbers[4]);
  if (!are_usual(edges, 0) || edges.back() > rows) return std::nullopt;
  std::vector<double> values(static_cast<size_t>(rows * bands));
  for (int64_t band = 0; band < bands; ++band) {
    const auto at = static_cast<size_t>(band);
    const int64_t low = edges[at], middle = edges[at + 1], high = edges[at + 2];
    const auto set = [&](int64_t row, double value) {
      values[static_cast<size_t>(row * bands + band)] = value;
    };
    const auto share = [](int64_t part, int64_t whole) {
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    if (middle >= rows) return std::nullopt;
    for (int64_t row = low; row <= middle; ++row)
      set(row, low == middle ? 1 : share(row - low, middle - low));
    for (int64_t row = middle; row < high; ++row) set(row, share(high - row, high - middle));
  }
  return known(source, Tensor::of<double>({rows, bands}, values));
}

}  // namespace

Converter signal_rule(std::string_view op) {
  static const std::unordered_map<std::string_view, Converter> rules = {
      {"HannWindow", hann},
      {"HammingWindow", hamming},
      {"BlackmanWindow", blackman},
      {"MelWeightMatrix", mel_weights}};
  const auto at = rules.find(op);
  return at == rules.end() ? nullptr : at->second;
}

}  // namespace reverie::proto
