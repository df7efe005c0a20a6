#!/usr/bin/env bash
# Installs what is missing and builds into build/: everything, or the targets named. Warnings are
# errors where CI is set.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake -G Ninja -B build -DREVERIE_WERROR="$([[ -n ${CI:-} ]] && echo ON || echo OFF)" >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
ninja -C build -j"$(nproc)" "$@"
