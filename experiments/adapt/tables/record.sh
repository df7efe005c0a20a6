#!/usr/bin/env bash
# Makes the ten tables of tables.tar.xz anew: two networks, five start times, five runs a sequence.
# record.sh DIR; the same command goes on where it was stopped. It takes about an hour on one core.
# pack.py tables.tar.xz DIR/*.json packs them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
reverie=${REVERIE:-$here/../../../build/reverie}
mkdir -p "$1"
for network in chain residual; do
  for start in 0.1 0.25 0.4 0.55 0.7; do
    "$reverie" adapt "$here/$network.yaml" --config "$here/scenario.yaml" --quiet --runs 5 \
      --set adapt.train.from=$start --set adapt.train.extra.from=$start \
      --record "$1/$network-$start.json"
  done
done
