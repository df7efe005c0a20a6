#!/usr/bin/env bash
# record.sh DIR makes the ten tables of tables.tar.xz anew: two networks, five start times, five runs a sequence. It takes
# about an hour on one core. record.sh DIR DIGITS makes the six of digits.tar.xz from the files of digits.py: three start
# times, three runs, 20 minutes. The same command goes on where it was stopped. pack.py packs tables.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
reverie=${REVERIE:-$here/../../../build/reverie}
name='' starts='0.1 0.25 0.4 0.55 0.7' options=(--runs 5)
if [[ $# -gt 1 ]]; then
  name=digits- starts='0.1 0.4 0.7'
  options=(--runs 3 --data "$2" --set adapt.train.train_images=0 --set adapt.train.test_images=0)
fi
mkdir -p "$1"
for network in chain residual; do
  for start in $starts; do
    "$reverie" adapt "$here/$network.yaml" --config "$here/scenario.yaml" --quiet "${options[@]}" \
      --set adapt.train.from="$start" --set adapt.train.extra.from="$start" \
      --record "$1/$name$network-$start.json"
  done
done
