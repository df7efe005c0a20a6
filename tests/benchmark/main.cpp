#include <benchmark/benchmark.h>

#include <cstdlib>

#include "tools/fast_start.h"

int main(int argc, char** argv) {
  reverie::start_fast(argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return EXIT_FAILURE;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return EXIT_SUCCESS;
}
