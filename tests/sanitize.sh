#!/usr/bin/env bash
# Builds the tests with sanitizers and runs them, with clang (Debian: clang-19 libclang-rt-19-dev
# libomp-19-dev): with address and undefined in the folder that tests/fuzz.sh uses, too, then with
# thread the parts that start threads. Without LibTorch, unless REVERIE_LEARNING=ON.
# tests/sanitize.sh [GOOGLETEST OPTION...].
set -uo pipefail
cd "$(dirname "$0")/.."

build() {  # FOLDER SANITIZERS LEARNING NINJA TARGET...
  cmake -G Ninja -B "$1" -DCMAKE_CXX_COMPILER="${CXX:-clang++-19}" -DREVERIE_SANITIZER="$2" \
    -DREVERIE_LEARNING="$3" -DREVERIE_BENCHMARKS=OFF -DREVERIE_CUDA=OFF >/dev/null &&
    ninja -C "$1" "${@:4}" || exit 1
}
# Each executable is one process: with sanitizers, to start one takes longer than most tests.
run() {  # FOLDER TEST...
  local test
  for test in "${@:2}"; do
    echo "== $1/$test"
    timeout 3600 "$1/tests/$test" --gtest_brief=1 "${options[@]}" || status=1
  done
}

options=("$@")
status=0
threaded=(test_base test_hdf5 test_datasets test_cost test_rules test_generate test_taso test_env
  test_env_rewrite test_env_placement) # of code that starts threads, or is called by several
slow='test_(search_models|onnx_large|opinion|gpu)$' # models of real size, which plain tests run too

export LSAN_OPTIONS=suppressions=$PWD/tests/support/leak.supp
build build-sanitize address,undefined,fuzzer-no-link "${REVERIE_LEARNING:-OFF}"
mapfile -t tests < <(find build-sanitize/tests -maxdepth 1 -name 'test_*' -executable -type f \
  -printf '%f\n' | grep -vE "$slow" | sort)
run build-sanitize "${tests[@]}"
# Programs without a sanitizer cannot link with a library that has one.
ctest --test-dir build-sanitize --output-on-failure --timeout 3600 -L smoke \
  -E '^smoke_(install|packages)$' || status=1

export TSAN_OPTIONS=suppressions=$PWD/tests/support/thread.supp
build build-thread thread OFF "${threaded[@]}"
run build-thread "${threaded[@]}"
exit $status
