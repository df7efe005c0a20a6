#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <vector>

#include "core/cost/timing.h"
#include "core/exec/cpu/cpu_executor.h"
#include "tests/benchmark/machine.h"

namespace reverie::bench {
namespace {

double flops_of(int64_t n) { return 2.0 * static_cast<double>(n) * static_cast<double>(n * n); }

class BlasProduct {
 public:
  explicit BlasProduct(int64_t n)
      : n_(static_cast<int>(n)), a_(static_cast<size_t>(n * n), 0.5f), b_(a_), c_(a_) {}
  void run() {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n_, n_, n_, 1, a_.data(), n_, b_.data(),
                n_, 0, c_.data(), n_);
  }

 private:
  int n_;
  std::vector<float> a_, b_, c_;
};

/// With a constant second matrix, laid out ahead.
class OneDnnProduct {
 public:
  explicit OneDnnProduct(int64_t n) : plan_(graph(n)) {
    Rng rng(1);
    plan_.draw_inputs(rng);
  }
  void run() { plan_.execute(); }

 private:
  static Graph graph(int64_t n) {
    Graph graph;
    const TensorType square{DType::kFloat32, {n, n}};
    const ValueId x = graph.add_input("x", square);
    graph.add_output("y",
                     graph.add("MatMul", {x, graph.add_constant(Weight::fill(square, 0.5, "w"))}));
    return graph;
  }
  CpuPlan plan_;
};

template <class Product>
void MatrixProduct(benchmark::State& state) {
  Product product(state.range(0));
  for (auto _ : state) product.run();
  state.counters["FLOP/s"] =
      benchmark::Counter(flops_of(state.range(0)) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(MatrixProduct<BlasProduct>)->Arg(256)->Arg(1024)->Arg(2048)->UseRealTime();
BENCHMARK(MatrixProduct<OneDnnProduct>)->Arg(256)->Arg(1024)->Arg(2048)->UseRealTime();

template <class Product>
double best_rate() {
  double best = 0;
  for (const int64_t n : {512, 1024, 2048}) {
    Product product(n);
    product.run();
    for (int i = 0; i < 5; ++i)
      best = std::max(best, flops_of(n) / time_once([&] { product.run(); }));
  }
  return best;
}

void FastestMatrixProduct(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(fastest_matrix_product());
  state.counters["FLOP/s"] = fastest_matrix_product();
}
BENCHMARK(FastestMatrixProduct)->Iterations(1);

}  // namespace

double fastest_matrix_product() {
  static const double rate = std::max(best_rate<BlasProduct>(), best_rate<OneDnnProduct>());
  return rate;
}

}  // namespace reverie::bench
