#!/usr/bin/env bash
# Runs the readers of files on random input: libFuzzer with the address and undefined sanitizers, which needs clang
# (Debian: clang-19 libclang-rt-19-dev). tests/fuzz.sh [TARGET [LIBFUZZER OPTION...]]; without a target all of them,
# one after the other. What is found stands in build-fuzz/found; new inputs in build-fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake -G Ninja -B build-fuzz -DCMAKE_CXX_COMPILER="${CXX:-clang++-19}" -DREVERIE_LEARNING=OFF \
  -DREVERIE_BENCHMARKS=OFF -DREVERIE_ONEDNN=OFF -DREVERIE_METIS=OFF -DREVERIE_CBC=OFF -DREVERIE_Z3=OFF \
  -DREVERIE_EIGEN=OFF -DREVERIE_CUDA=OFF -DREVERIE_SANITIZER=address,undefined,fuzzer-no-link >/dev/null
ninja -C build-fuzz fuzz

targets=(tests/fuzz/corpus/*/)
options=(-runs=1000000 -max_total_time=600)
if [[ $# -gt 0 ]]; then
  targets=("tests/fuzz/corpus/$1/")
  shift
fi
[[ $# -eq 0 ]] || options=("$@")
status=0
for seeds in "${targets[@]}"; do
  target=$(basename "$seeds")
  mkdir -p "build-fuzz/found" "build-fuzz/corpus/$target"
  echo "== $target"
  REVERIE_FUZZ=$target build-fuzz/fuzz -rss_limit_mb=4096 -timeout=30 -print_final_stats=1 \
    -artifact_prefix="build-fuzz/found/$target-" "${options[@]}" "build-fuzz/corpus/$target" "$seeds" \
    2>"build-fuzz/found/$target.log" || status=1
  grep -E '^(stat::number_of_executed_units|SUMMARY|==[0-9]+== ERROR)|terminate called|what\(\)' \
    "build-fuzz/found/$target.log"
done
exit $status
