#include <benchmark/benchmark.h>

#include <cstdlib>

#include "core/base/blas.h"

int main(int argc, char** argv) {
  reverie::restart_with_fast_blas(argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return EXIT_FAILURE;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return EXIT_SUCCESS;
}
