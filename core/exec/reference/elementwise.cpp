#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <type_traits>

#include "core/exec/reference/indexing.h"
#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

// --- One input --------------------------------------------------------------------------------

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

template <typename T, typename F>
std::vector<Tensor> mapped(const KernelCall& call, F&& f) {
  Tensor result = call.new_output();
  const auto from = call.inputs[0].data<T>();
  const auto to = result.data<T>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(f(from[i]));
  return {result};
}

template <double (*kFunction)(double)>
std::vector<Tensor> map_real(const KernelCall& call) {
  return mapped<double>(call, kFunction);
}

template <typename F>
std::vector<Tensor> map_number(const KernelCall& call) {
  return visit_number(call.inputs[0].type().dtype,
                      [&](auto zero) { return mapped<decltype(zero)>(call, F{}); });
}

double negative(double x) { return -x; }
int64_t negative(int64_t x) { return minus(int64_t{0}, x); }

struct ReluOf {
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? T{0} : x;
  }
};
struct AbsOf {
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? negative(x) : x;
  }
};
struct NegOf {
  template <typename T>
  T operator()(T x) const {
    return negative(x);
  }
};

struct SignOf {
  template <typename T>
  T operator()(T x) const {
    return x > 0 ? T{1} : x < 0 ? T{-1} : x;
  }
};

double softsign(double x) { return x / (1.0 + std::fabs(x)); }
double round_to_even(double x) { return std::nearbyint(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double tangent(double x) { return std::tan(x); }
double arc_sine(double x) { return std::asin(x); }
double arc_cosine(double x) { return std::acos(x); }
double arc_tangent(double x) { return std::atan(x); }
double hyperbolic_sine(double x) { return std::sinh(x); }
double hyperbolic_cosine(double x) { return std::cosh(x); }
double area_sine(double x) { return std::asinh(x); }
double area_cosine(double x) { return std::acosh(x); }
double area_tangent(double x) { return std::atanh(x); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double reciprocal(double x) { return 1.0 / x; }
double hard_swish(double x) { return x * std::min(1.0, std::max(0.0, x / 6.0 + 0.5)); }
double square_root(double x) { return std::sqrt(x); }
double hyperbolic_tangent(double x) { return std::tanh(x); }
double error_function(double x) { return std::erf(x); }
double exponential(double x) { return std::exp(x); }
double logarithm(double x) { return std::log(x); }
double round_down(double x) { return std::floor(x); }
double round_up(double x) { return std::ceil(x); }

std::vector<Tensor> leaky_relu(const KernelCall& call) {
  const double alpha = call.attributes.number("alpha");
  return mapped<double>(call, [=](double x) { return x < 0 ? alpha * x : x; });
}

std::vector<Tensor> elu(const KernelCall& call) {
  const double alpha = call.attributes.number("alpha");
  return mapped<double>(call, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

std::vector<Tensor> hard_sigmoid(const KernelCall& call) {
  const double alpha = call.attributes.number("alpha");
  const double beta = call.attributes.number("beta");
  return mapped<double>(call,
                        [=](double x) { return std::min(1.0, std::max(0.0, alpha * x + beta)); });
}

/// Conversion with a meaning for every value: to an integer, NaN gives 0 and what is out of range
/// the nearest end.
template <typename To, typename From>
To converted(From x) {
  if constexpr (std::is_same_v<From, double> && std::is_same_v<To, int64_t>) {
    constexpr double kLimit = 9223372036854775808.0;  // 2^63
    if (std::isnan(x)) return 0;
    if (x >= kLimit) return std::numeric_limits<int64_t>::max();
    if (x < -kLimit) return std::numeric_limits<int64_t>::min();
  }
  return static_cast<To>(x);
}

double exact_gelu(double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }
double gelu_by_tanh(double x) {
  const double root = std::sqrt(2 / std::numbers::pi);
  return x / 2 * (1 + std::tanh(root * (x + 0.044715 * x * x * x)));
}

/// Hendrycks and Gimpel 2016; by tanh, it is their approximation.
std::vector<Tensor> gelu(const KernelCall& call) {
  const bool exact = call.attributes.text("approximate") == "none";
  return mapped<double>(call, exact ? exact_gelu : gelu_by_tanh);
}

std::vector<Tensor> bias_gelu(const KernelCall& call) {
  Tensor result = call.new_output();
  const auto function = call.attributes.text("approximate") == "none" ? exact_gelu : gelu_by_tanh;
  const auto in = call.inputs[0].data<double>(), bias = call.inputs[1].data<double>();
  const auto out = result.data<double>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = function(in[i] + bias[i % bias.size()]);
  return {result};
}

std::vector<Tensor> swish(const KernelCall& call) {
  const double alpha = call.attributes.number("alpha");
  return mapped<double>(call, [=](double x) { return x / (1 + std::exp(-alpha * x)); });
}

std::vector<Tensor> selu(const KernelCall& call) {
  const double alpha = call.attributes.number("alpha");
  const double gamma = call.attributes.number("gamma");
  return mapped<double>(call,
                        [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}

std::vector<Tensor> celu(const KernelCall& call) {
  const double alpha = call.attributes.number("alpha");
  return mapped<double>(call, [=](double x) { return x > 0 ? x : alpha * std::expm1(x / alpha); });
}

std::vector<Tensor> thresholded_relu(const KernelCall& call) {
  const double alpha = call.attributes.number("alpha");
  return mapped<double>(call, [=](double x) { return x > alpha ? x : 0; });
}

template <typename F>
std::vector<Tensor> question(const KernelCall& call, F&& f) {
  Tensor result = call.new_output();
  std::ranges::transform(call.inputs[0].data<double>(), result.data<bool>().begin(), f);
  return {result};
}

std::vector<Tensor> is_nan(const KernelCall& call) {
  return question(call, [](double x) { return std::isnan(x); });
}

std::vector<Tensor> is_infinite(const KernelCall& call) {
  const bool negative = call.attributes.integer("detect_negative") != 0;
  const bool positive = call.attributes.integer("detect_positive") != 0;
  return question(call, [=](double x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

std::vector<Tensor> clip(const KernelCall& call) {
  return visit_number(call.inputs[0].type().dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool has_low = call.attributes.has("min");
    const bool has_high = call.attributes.has("max");
    const T low = has_low ? converted<T>(call.attributes.number("min")) : T{};
    const T high = has_high ? converted<T>(call.attributes.number("max")) : T{};
    return mapped<T>(call, [=](T x) {
      if (has_low && x < low) x = low;
      return has_high && x > high ? high : x;
    });
  });
}

std::vector<Tensor> negate(const KernelCall& call) {
  return mapped<bool>(call, [](bool x) { return !x; });
}

std::vector<Tensor> cast(const KernelCall& call) {
  const Tensor& source = call.inputs[0];
  Tensor result({carrier_of(call.outputs[0].dtype), source.shape()});
  visit_carrier(source.type().dtype, [&](auto from) {
    visit_carrier(result.type().dtype, [&](auto to) {
      const auto in = source.data<decltype(from)>();
      const auto out = result.data<decltype(to)>();
      for (size_t i = 0; i < in.size(); ++i) out[i] = converted<decltype(to)>(in[i]);
    });
  });
  return {result};
}

std::vector<Tensor> pass_through(const KernelCall& call) { return {call.inputs[0]}; }

// --- Two and three inputs ---------------------------------------------------------------------

template <typename A, typename B, typename R, typename F>
std::vector<Tensor> zipped(const KernelCall& call, F&& f) {
  Tensor result = call.new_output();
  const auto a = call.inputs[0].data<A>().data();
  const auto b = call.inputs[1].data<B>().data();
  const auto r = result.data<R>().data();
  const Shape& shape = result.shape();
  for_each_run(shape,
               {broadcast_strides(call.inputs[0].shape(), shape),
                broadcast_strides(call.inputs[1].shape(), shape)},
               [&](const Run& run) {
                 const A* x = a + run.offsets[0];
                 const B* y = b + run.offsets[1];
                 for (int64_t i = 0; i < run.count; ++i, x += run.steps[0], y += run.steps[1])
                   r[run.first + i] = static_cast<R>(f(*x, *y));
               });
  return {result};
}

template <typename F>
std::vector<Tensor> zip_numbers(const KernelCall& call) {
  return visit_number(call.inputs[0].type().dtype, [&](auto zero) {
    using T = decltype(zero);
    return zipped<T, T, T>(call, F{});
  });
}

template <typename F>
std::vector<Tensor> compare(const KernelCall& call) {
  return visit_carrier(call.inputs[0].type().dtype, [&](auto zero) {
    using T = decltype(zero);
    return zipped<T, T, bool>(call, F{});
  });
}

template <typename F>
std::vector<Tensor> zip_bools(const KernelCall& call) {
  return zipped<bool, bool, bool>(call, F{});
}

struct DivOf {
  double operator()(double a, double b) const { return a / b; }
  int64_t operator()(int64_t a, int64_t b) const {
    if (b == 0) throw InputError("integer division by zero");
    return b == -1 ? negative(a) : a / b;
  }
};

struct MinOf {
  template <typename T>
  T operator()(T a, T b) const {
    return smaller(a, b);
  }
};
struct MaxOf {
  template <typename T>
  T operator()(T a, T b) const {
    return larger(a, b);
  }
};

/// ONNX operator specification, Mod: the sign is the divisor's, with fmod the dividend's.
std::vector<Tensor> modulo(const KernelCall& call) {
  const bool is_truncated = call.attributes.integer("fmod") != 0;
  return visit_number(call.inputs[0].type().dtype, [&](auto zero) {
    using T = decltype(zero);
    return zipped<T, T, T>(call, [=](T a, T b) -> T {
      if constexpr (std::is_same_v<T, double>) {
        return std::fmod(a, b);
      } else {
        if (b == 0) throw InputError("integer division by zero");
        const T rest = b == -1 ? 0 : a % b;
        return !is_truncated && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      }
    });
  });
}

std::vector<Tensor> bit_shift(const KernelCall& call) {
  const bool left = call.attributes.text("direction") == "LEFT";
  return zipped<int64_t, int64_t, int64_t>(call, [=](int64_t value, int64_t by) {
    const auto bits = static_cast<uint64_t>(value);
    if (by < 0 || by > 63) return int64_t{0};
    return static_cast<int64_t>(left ? bits << by : bits >> by);
  });
}

std::vector<Tensor> parametric_relu(const KernelCall& call) {
  return zipped<double, double, double>(
      call, [](double x, double slope) { return x < 0 ? slope * x : x; });
}

int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = times(result, base);
    base = times(base, base);
  }
  return result;
}

std::vector<Tensor> power(const KernelCall& call) {
  return visit_number(call.inputs[0].type().dtype, [&](auto base_zero) {
    return visit_number(call.inputs[1].type().dtype, [&](auto exponent_zero) {
      using A = decltype(base_zero);
      using B = decltype(exponent_zero);
      return zipped<A, B, A>(call, [](A base, B exponent) {
        if constexpr (std::is_same_v<A, int64_t> && std::is_same_v<B, int64_t>) {
          return integer_power(base, exponent);
        } else {
          return converted<A>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
        }
      });
    });
  });
}

std::vector<Tensor> where(const KernelCall& call) {
  Tensor result = call.new_output();
  const Shape& shape = result.shape();
  std::vector<Strides> strides;
  for (const Tensor& input : call.inputs)
    strides.push_back(broadcast_strides(input.shape(), shape));
  visit_carrier(result.type().dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool* condition = call.inputs[0].data<bool>().data();
    const T* yes = call.inputs[1].data<T>().data();
    const T* no = call.inputs[2].data<T>().data();
    T* out = result.data<T>().data();
    for_each_run(shape, strides, [&](const Run& run) {
      for (int64_t i = 0; i < run.count; ++i)
        out[run.first + i] = condition[run.offsets[0] + i * run.steps[0]]
                                 ? yes[run.offsets[1] + i * run.steps[1]]
                                 : no[run.offsets[2] + i * run.steps[2]];
    });
  });
  return {result};
}

}  // namespace

void activate(std::string_view activation, std::span<double> values) {
  if (activation == "relu")
    for (double& x : values) x = ReluOf{}(x);
  else if (activation == "tanh")
    for (double& x : values) x = std::tanh(x);
  else if (activation != "none")
    for (double& x : values) x = sigmoid(x);
}

void activate(std::string_view activation, std::span<int64_t> values) {
  if (activation == "none") return;
  if (activation != "relu")
    throw InputError("activation '{}' needs floating-point elements", activation);
  for (int64_t& x : values) x = ReluOf{}(x);
}

std::vector<KernelRow> unary_kernels() {
  return {{"Relu", map_number<ReluOf>},
          {"Sigmoid", map_real<sigmoid>},
          {"Tanh", map_real<hyperbolic_tangent>},
          {"LeakyRelu", leaky_relu},
          {"Elu", elu},
          {"HardSigmoid", hard_sigmoid},
          {"HardSwish", map_real<hard_swish>},
          {"Softplus", map_real<softplus>},
          {"Clip", clip},
          {"Sqrt", map_real<square_root>},
          {"Erf", map_real<error_function>},
          {"Exp", map_real<exponential>},
          {"Log", map_real<logarithm>},
          {"Neg", map_number<NegOf>},
          {"Reciprocal", map_real<reciprocal>},
          {"Abs", map_number<AbsOf>},
          {"Floor", map_real<round_down>},
          {"Ceil", map_real<round_up>},
          {"Not", negate},
          {"Cast", cast},
          {"Sign", map_number<SignOf>},
          {"Round", map_real<round_to_even>},
          {"IsNaN", is_nan},
          {"IsInf", is_infinite},
          {"Softsign", map_real<softsign>},
          {"Selu", selu},
          {"Celu", celu},
          {"ThresholdedRelu", thresholded_relu},
          {"Gelu", gelu},
          {"BiasGelu", bias_gelu},
          {"Swish", swish},
          {"Sin", map_real<sine>},
          {"Cos", map_real<cosine>},
          {"Tan", map_real<tangent>},
          {"Asin", map_real<arc_sine>},
          {"Acos", map_real<arc_cosine>},
          {"Atan", map_real<arc_tangent>},
          {"Sinh", map_real<hyperbolic_sine>},
          {"Cosh", map_real<hyperbolic_cosine>},
          {"Asinh", map_real<area_sine>},
          {"Acosh", map_real<area_cosine>},
          {"Atanh", map_real<area_tangent>},
          {"Identity", pass_through, KernelRow::Takes::kAny},
          {"Dropout", pass_through, KernelRow::Takes::kAny}};
}

std::vector<KernelRow> binary_kernels() {
  return {{"Add", zip_numbers<Wrapping<std::plus<>>>},
          {"Sub", zip_numbers<Wrapping<std::minus<>>>},
          {"Mul", zip_numbers<Wrapping<std::multiplies<>>>},
          {"Div", zip_numbers<DivOf>},
          {"Pow", power},
          {"Min", zip_numbers<MinOf>},
          {"Max", zip_numbers<MaxOf>},
          {"And", zip_bools<std::logical_and<>>},
          {"Or", zip_bools<std::logical_or<>>},
          {"Mod", modulo},
          {"Xor", zip_bools<std::not_equal_to<>>},
          {"BitShift", bit_shift},
          {"PRelu", parametric_relu},
          {"Equal", compare<std::equal_to<>>},
          {"Greater", compare<std::greater<>>},
          {"GreaterOrEqual", compare<std::greater_equal<>>},
          {"Less", compare<std::less<>>},
          {"LessOrEqual", compare<std::less_equal<>>},
          {"Where", where}};
}

}  // namespace reverie::reference
