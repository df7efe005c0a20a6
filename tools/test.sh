#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests; those of a GPU are skipped without one.
# tools/test.sh [--quick] [CTEST OPTION...]; --quick leaves out what trains and what drives whole commands.
set -euo pipefail
cd "$(dirname "$0")/.."

only=()
if [[ ${1:-} == --quick ]]; then
  shift
  only=(-LE 'slow|smoke|learning')
fi
tools/build.sh
ctest --test-dir build --output-on-failure -j"$(nproc)" "${only[@]}" "$@"
