#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests that need no GPU. Warnings are errors where
# CI is set. Arguments go to ctest: tools/test.sh -R Graph; tools/test.sh -L slow.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/build.sh -DREVERIE_WERROR="$([[ -n ${CI:-} ]] && echo ON || echo OFF)"
[[ $# -gt 0 ]] || set -- -LE 'gpu'
ctest --test-dir build --output-on-failure -j"$(nproc)" "$@"
