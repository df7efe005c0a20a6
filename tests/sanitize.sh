#!/usr/bin/env bash
# Builds and runs the tests under sanitizers: all with the address and undefined sanitizers, then those without LibTorch
# with the thread sanitizer. tests/sanitize.sh [CTEST OPTION...]; REVERIE_LEARNING=OFF leaves out LibTorch.
set -euo pipefail
cd "$(dirname "$0")/.."

under() {  # SANITIZERS LEARNING CTEST OPTION...
  local folder=build-${1/,/-}
  cmake -G Ninja -B "$folder" -DREVERIE_SANITIZER="$1" -DREVERIE_LEARNING="$2" -DREVERIE_BENCHMARKS=OFF >/dev/null
  ninja -C "$folder"
  ctest --test-dir "$folder" --output-on-failure --timeout 3600 "${@:3}" || status=1
}
status=0
under address,undefined "${REVERIE_LEARNING:-ON}" -LE 'slow|gpu' "$@"
under thread OFF -LE 'slow|gpu|smoke' "$@"
exit $status
