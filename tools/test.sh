#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests that need no GPU. Arguments go to ctest:
# tools/test.sh -R Graph; tools/test.sh -L slow.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/build.sh
[[ $# -gt 0 ]] || set -- -LE gpu
ctest --test-dir build --output-on-failure -j"$(nproc)" "$@"
