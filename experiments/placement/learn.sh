#!/usr/bin/env bash
# Has agents learn to place 16 synthetic graphs, for memory.toml. learn.sh DIR.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
reverie=${REVERIE:-$here/../../build/reverie}
graphs=()
for family in layers branches recurrent random; do
  for seed in 31 32 33 34; do graphs+=("generate:$family:200:$seed"); done
done
mkdir -p "$1"
for learner in regal regal_placement regal_scheduling gas; do
  "$reverie" place_learn $learner "${graphs[@]}" --devices 2xv100-nvlink --peak-memory \
    --evaluations 20000 --out "$1/$learner.pt"
done
