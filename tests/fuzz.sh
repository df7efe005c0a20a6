#!/usr/bin/env bash
# Runs the readers of files on random input: libFuzzer with the address and undefined sanitizers,
# which needs clang (Debian: clang-19 libclang-rt-19-dev libomp-19-dev). tests/fuzz.sh [TARGET
# [LIBFUZZER OPTION...]]; without a target all of them, one after the other. It builds in the folder
# of tests/sanitize.sh. What is found stands in build-sanitize/found; new inputs in
# build-sanitize/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=build-sanitize
cmake -G Ninja -B $folder -DCMAKE_CXX_COMPILER="${CXX:-clang++-19}" -DREVERIE_BENCHMARKS=OFF \
  -DREVERIE_CUDA=OFF -DREVERIE_LEARNING="${REVERIE_LEARNING:-OFF}" \
  -DREVERIE_SANITIZER=address,undefined,fuzzer-no-link >/dev/null
ninja -C $folder fuzz

# Files are renamed over one another, for which a disk takes longer than a reader.
[[ ! -w /dev/shm ]] || export TMPDIR=/dev/shm
# Traces of where memory came from are shown when an input is run again.
export ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=16
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
  mkdir -p "$folder/found" "$folder/corpus/$target"
  echo "== $target"
  REVERIE_FUZZ=$target $folder/fuzz -rss_limit_mb=4096 -timeout=30 -print_final_stats=1 \
    -artifact_prefix="$folder/found/$target-" "${options[@]}" "$folder/corpus/$target" "$seeds" \
    2>"$folder/found/$target.log" || status=1
  grep -E '^(stat::number_of_executed_units|SUMMARY|==[0-9]+== ERROR)|terminate called|what\(\)' \
    "$folder/found/$target.log"
done
exit $status
