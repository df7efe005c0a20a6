#include "core/exec/device/kernel_source.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "core/base/files.h"
#include "core/base/random.h"
#include "core/exec/device/builder.h"
#include "core/exec/device/elements.h"
#include "core/ir/tensor.h"
#include "tests/support/temporary_directory.h"

namespace reverie::device {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A call with its operands in memory.
struct Sample {
  Pointwise call;
  std::vector<Tensor> operands;
};

Shape drawn_shape(Rng& rng) {
  Shape shape(rng.below(4));
  for (int64_t& extent : shape) extent = 2 + static_cast<int64_t>(rng.below(4));
  if (!shape.empty() && rng.below(2) == 0)
    shape.back() = 4 * (1 + static_cast<int64_t>(rng.below(3)));
  return shape;
}

Instruction drawn_instruction(Rng& rng, size_t registers) {
  Instruction one;
  one.function = static_cast<Function>(rng.below(static_cast<uint64_t>(Function::kNormalize)));
  one.alpha = rng.below(8) == 0 ? -INFINITY : rng.uniform(-1, 1);
  one.beta = rng.below(8) == 0 ? INFINITY : rng.uniform(0, 2);
  for (int& argument : one.arguments) argument = static_cast<int>(rng.below(registers));
  return one;
}

Sample drawn_sample(uint64_t seed) {
  Rng rng(seed);
  Sample sample;
  sample.call.dtype = std::vector{DType::kFloat32, DType::kFloat16, DType::kBFloat16}[rng.below(3)];
  sample.call.shape = drawn_shape(rng);
  const size_t operands = 1 + rng.below(kMaxPointwiseOperands);
  for (size_t i = 0; i < operands; ++i) {
    Shape own = sample.call.shape;
    for (int64_t& extent : own)
      if (rng.below(3) == 0) extent = 1;
    Tensor tensor({DType::kFloat64, own});
    for (double& x : tensor.data<double>()) x = rng.uniform(-2, 2);
    sample.operands.push_back(tensor.cast(sample.call.dtype));
    sample.call.operands.push_back(broadcast_strides(own, sample.call.shape));
  }
  const size_t steps = 1 + rng.below(kMaxInstructions);
  for (size_t i = 0; i < steps; ++i)
    sample.call.instructions.push_back(drawn_instruction(rng, operands + i));
  Strides dense = row_major(sample.call.shape);
  std::vector<Strides*> strides = {&dense};
  for (Strides& operand : sample.call.operands) strides.push_back(&operand);
  join_axes(sample.call.shape, strides);
  return sample;
}

/// What a CUDA compiler has, for that of the host: a thread is set by hand.
constexpr const char* kHostPrelude = R"(
#include "core/ir/half.h"
#define __global__
namespace {
unsigned long long first = 0, step = 1;
unsigned long long first_unit() { return first; }
unsigned long long unit_step() { return step; }
template <typename T> float to_float(T x) { return static_cast<float>(x); }
}
extern "C" void set_thread(unsigned long long thread, unsigned long long threads) {
  first = thread;
  step = threads;
}
)";

/// The kernel as `run<number>(pieces of memory)`.
std::string in_namespace(const Sample& sample, int number) {
  const char* stored = sample.call.dtype == DType::kFloat16    ? "reverie::Float16"
                       : sample.call.dtype == DType::kBFloat16 ? "reverie::BFloat16"
                                                               : "float";
  std::string arguments;
  for (size_t i = 0; i < sample.operands.size(); ++i)
    arguments += fmt::format("static_cast<const Stored*>(p[{}]), ", i);
  return fmt::format(
      "namespace n{0} {{\n#define {1} kernel{0}\nusing Stored = {2};\n"
      "Stored to_stored(float x) {{ return Stored(x); }}\n{3}"
      "extern \"C\" void run{0}(void** p) {{ {1}({4}static_cast<Stored*>(p[{5}])); }}\n"
      "#undef {1}\n}}\n",
      number, kKernelName, stored, source_of(sample.call).text, arguments, sample.operands.size());
}

/// A program of the host in memory.
class Library {
 public:
  explicit Library(const std::string& source) {
    write_file(folder_ / "kernels.cpp", source);
    const std::string command = fmt::format(
        "{} -std=c++20 -O0 -ffp-contract=off -w -shared -fPIC -I{} -o {} {}", REVERIE_CXX,
        REVERIE_SOURCE_DIR, folder_ / "kernels.so", folder_ / "kernels.cpp");
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    library_ = dlopen((folder_ / "kernels.so").c_str(), RTLD_NOW);
    EXPECT_NE(library_, nullptr) << dlerror();
  }
  ~Library() {
    if (library_ != nullptr) dlclose(library_);
  }
  template <typename F>
  F* find(const std::string& name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(library_, name.c_str()));
  }

 private:
  TemporaryDirectory folder_;
  void* library_ = nullptr;
};

Tensor by_elements(Sample& sample) {
  const PointwiseWork work = work_of(sample.call);
  Tensor result({sample.call.dtype, sample.call.shape});
  PointwisePointers memory{};
  for (size_t i = 0; i < sample.operands.size(); ++i)
    memory.reads[i] = sample.operands[i].bytes().data();
  memory.write = result.bytes().data();
  for (int64_t i = 0; i < work.elements; ++i) compute_pointwise(work, memory, i);
  return result;
}

void expect_close(const Tensor& result, const Tensor& expected, const std::string& what) {
  const double tolerance = expected.type().dtype == DType::kFloat32 ? 1e-6 : 1e-2;
  const std::vector<double> x = result.to_doubles(), y = expected.to_doubles();
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::isfinite(y[i]))
      ASSERT_NEAR(x[i], y[i], tolerance * std::max(1.0, std::abs(y[i]))) << what;
    else
      ASSERT_TRUE(std::isnan(y[i]) ? std::isnan(x[i]) : x[i] == y[i]) << what;
  }
}

TEST(KernelSource, ComputesWhatElementsDo) {
  constexpr int kSamples = 60;
  constexpr unsigned long long kThreads = 3;
  std::string source = std::string(functions_text()) + kHostPrelude;
  std::vector<Sample> samples;
  int wide = 0;
  for (int i = 0; i < kSamples; ++i) {
    samples.push_back(drawn_sample(static_cast<uint64_t>(i)));
    source += in_namespace(samples.back(), i);
    wide += source_of(samples.back().call).width == 4;
  }
  EXPECT_GT(wide, 5);
  const Library library(source);
  const auto set_thread = library.find<void(unsigned long long, unsigned long long)>("set_thread");
  ASSERT_NE(set_thread, nullptr);
  for (int i = 0; i < kSamples; ++i) {
    Sample& sample = samples[static_cast<size_t>(i)];
    Tensor result({sample.call.dtype, sample.call.shape});
    std::fill(result.bytes().begin(), result.bytes().end(), std::byte{0xff});
    std::vector<void*> memory;
    for (Tensor& operand : sample.operands) memory.push_back(operand.bytes().data());
    memory.push_back(result.bytes().data());
    const auto run = library.find<void(void**)>(fmt::format("run{}", i));
    ASSERT_NE(run, nullptr);
    for (unsigned long long thread = 0; thread < kThreads; ++thread) {
      set_thread(thread, kThreads);
      run(memory.data());
    }
    expect_close(result, by_elements(sample), fmt::format("sample {}", i));
  }
}

Pointwise sum_of(Shape shape, std::vector<Strides> operands) {
  return {.shape = std::move(shape),
          .operands = std::move(operands),
          .instructions = {{.function = Function::kAdd, .arguments = {0, 1, 0}}}};
}

TEST(KernelSource, ReadsFourElementsWhereTheyLieTogether) {
  EXPECT_EQ(source_of(sum_of({3, 8}, {{8, 1}, {0, 1}})).width, 4);
  EXPECT_EQ(source_of(sum_of({3, 8}, {{8, 1}, {0, 1}})).units, 6);
  EXPECT_EQ(source_of(sum_of({3, 8}, {{8, 1}, {1, 0}})).width, 4);
  EXPECT_EQ(source_of(sum_of({3, 6}, {{6, 1}, {0, 1}})).width, 1);
  EXPECT_EQ(source_of(sum_of({8, 4}, {{4, 1}, {1, 1}})).width, 1);
  EXPECT_EQ(source_of(sum_of({8, 4}, {{4, 1}, {1, 8}})).width, 1);
  EXPECT_EQ(source_of(sum_of({}, {{}, {}})).units, 1);
}

TEST(KernelSource, CountsIn64BitsWhereThatIsNeeded) {
  EXPECT_THAT(source_of(sum_of({1 << 20, 8}, {{8, 1}, {0, 1}})).text, Not(HasSubstr("long long")));
  EXPECT_THAT(source_of(sum_of({1 << 20, 1 << 12}, {{1 << 12, 1}, {0, 1}})).text,
              HasSubstr("using Index = unsigned long long"));
}

TEST(KernelSource, IsTheSameForTheSameCall) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(source_of(drawn_sample(seed).call).text, source_of(drawn_sample(seed).call).text);
}

}  // namespace
}  // namespace reverie::device
