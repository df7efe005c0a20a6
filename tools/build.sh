#!/usr/bin/env bash
# Installs what is missing and builds into build/. Arguments go to CMake's configure step.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh
cmake -G Ninja -B build "$@" >build.log 2>&1 || { cat build.log >&2; exit 1; }
rm build.log
ninja -C build -j"$(nproc)"
