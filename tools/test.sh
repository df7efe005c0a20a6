#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests; those of a GPU are skipped without one. Arguments go to ctest:
# tools/test.sh -R Graph; tools/test.sh -L slow.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/build.sh
ctest --test-dir build --output-on-failure -j"$(nproc)" "$@"
