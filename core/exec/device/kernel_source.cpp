#include "core/exec/device/kernel_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace reverie::device {
namespace {

constexpr int kWide = 4;

int64_t farthest_of(const Shape& shape, const Strides& strides) {
  int64_t farthest = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) farthest += (shape[axis] - 1) * strides[axis];
  return farthest;
}

/// Whether one element is read for all of a unit.
bool is_spread(const Strides& strides) { return strides.empty() || strides.back() == 0; }

int width_of(const Pointwise& call) {
  if (call.shape.empty() || call.shape.back() % kWide != 0) return 1;
  const auto fits = [](const Strides& strides) {
    if (is_spread(strides)) return true;
    return strides.back() == 1 && std::all_of(strides.begin(), strides.end() - 1,
                                              [](int64_t stride) { return stride % kWide == 0; });
  };
  return std::ranges::all_of(call.operands, fits) ? kWide : 1;
}

/// What is read, and a grid's step beyond it, can be counted in 32 bits.
bool fits_32_bits(const Pointwise& call) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  return element_count(call.shape) < kLimit &&
         std::ranges::all_of(call.operands, [&](const Strides& strides) {
           return farthest_of(call.shape, strides) < kLimit;
         });
}

/// A float to the last bit.
std::string literal(double value) {
  const auto number = static_cast<float>(value);
  if (std::isnan(number)) return "(0.0f / 0.0f)";
  if (std::isinf(number)) return number > 0 ? "(1.0f / 0.0f)" : "(-1.0f / 0.0f)";
  return fmt::format("{:a}f", number);
}

/// Collects the lines of one kernel.
class Writer {
 public:
  explicit Writer(const Pointwise& call) : call_(call), width_(width_of(call)) {}

  KernelSource write() {
    const int64_t units = element_count(call_.shape) / width_;
    const std::string index = fits_32_bits(call_) ? "unsigned" : "unsigned long long";
    text_ = fmt::format("using Index = {};\n", index);
    line("struct alignas({} * sizeof(Stored)) Unit {{ Stored elements[{}]; }};", width_, width_);
    line("extern \"C\" __global__ void {}({}Stored* y) {{", kKernelName, parameters());
    line("  using namespace reverie::device;");
    line("  const Index step = unit_step();");
    line("  for (Index unit = first_unit(); unit < {}u; unit += step) {{", units);
    write_positions();
    for (size_t i = 0; i < call_.operands.size(); ++i) write_read(i);
    line("    Unit result;");
    line("    for (int k = 0; k < {}; ++k) {{", width_);
    write_instructions();
    line("    }}");
    line("    reinterpret_cast<Unit*>(y)[unit] = result;");
    line("  }}\n}}");
    return {std::move(text_), width_, units};
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  std::string parameters() const {
    std::string all;
    for (size_t i = 0; i < call_.operands.size(); ++i) all += fmt::format("const Stored* x{}, ", i);
    return all;
  }

  /// Steps along an axis: of units along the last one.
  int64_t steps_of(size_t axis) const {
    return axis + 1 == call_.shape.size() ? call_.shape[axis] / width_ : call_.shape[axis];
  }

  void write_positions() {
    if (call_.shape.empty()) return;
    line("    Index rest = unit;");
    for (size_t axis = call_.shape.size() - 1; axis > 0; --axis)
      line("    const Index p{0} = rest % {1}u; rest /= {1}u;", axis, steps_of(axis));
    line("    const Index p0 = rest;");
  }

  std::string offset_of(const Strides& strides) const {
    std::vector<std::string> terms;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      const bool is_last = axis + 1 == strides.size();
      if (strides[axis] != 0)
        terms.push_back(fmt::format("p{} * {}u", axis, strides[axis] * (is_last ? width_ : 1)));
    }
    return terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
  }

  void write_read(size_t i) {
    const Strides& strides = call_.operands[i];
    if (is_spread(strides))
      line("    const float s{0} = to_float(x{0}[{1}]);", i, offset_of(strides));
    else
      line("    const Unit u{0} = *reinterpret_cast<const Unit*>(x{0} + ({1}));", i,
           offset_of(strides));
  }

  void write_instructions() {
    const size_t operands = call_.operands.size();
    for (size_t i = 0; i < operands; ++i)
      line("      const float r{0} = {1};", i,
           is_spread(call_.operands[i]) ? fmt::format("s{}", i)
                                        : fmt::format("to_float(u{}.elements[k])", i));
    for (size_t i = 0; i < call_.instructions.size(); ++i) {
      const Instruction& one = call_.instructions[i];
      line("      const float r{} = applied(static_cast<Function>({}), {}, {}, r{}, r{}, r{});",
           operands + i, static_cast<int>(one.function), literal(one.alpha), literal(one.beta),
           one.arguments[0], one.arguments[1], one.arguments[2]);
    }
    line("      result.elements[k] = to_stored(r{});", operands + call_.instructions.size() - 1);
  }

  const Pointwise& call_;
  int width_;
  std::string text_;
};

constexpr std::string_view kGrid = R"(
__device__ inline unsigned long long first_unit() {
  return (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ inline unsigned long long unit_step() { return (unsigned long long)gridDim.x * blockDim.x; }
)";

constexpr std::string_view kFloat32 = R"(
using Stored = float;
__device__ inline float to_float(Stored x) { return x; }
__device__ inline Stored to_stored(float x) { return x; }
)";

constexpr std::string_view kFloat16 = R"(
using Stored = unsigned short;
__device__ inline float to_float(Stored x) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x));
  return result;
}
__device__ inline Stored to_stored(float x) {
  Stored result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return result;
}
)";

constexpr std::string_view kBFloat16 = R"(
using Stored = unsigned short;
__device__ inline float to_float(Stored x) { return __uint_as_float((unsigned)x << 16); }
__device__ inline Stored to_stored(float x) {
  Stored result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return result;
}
)";

}  // namespace

KernelSource source_of(const Pointwise& call) {
  REVERIE_CHECK(
      !call.operands.empty() && !call.instructions.empty() && element_count(call.shape) > 0,
      "a Pointwise call without work");
  return Writer(call).write();
}

std::string cuda_prelude(DType dtype) {
  const std::string_view elements = dtype == DType::kFloat16    ? kFloat16
                                    : dtype == DType::kBFloat16 ? kBFloat16
                                                                : kFloat32;
  return fmt::format("{}{}", kGrid, elements);
}

}  // namespace reverie::device
