#!/usr/bin/env bash
# Has agents learn to place synthetic graphs. learn.sh DIR memory: from all families, for memory.toml;
# learn.sh DIR transfer: from three families, the fourth left out, for transfer.toml.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
reverie=${REVERIE:-$here/../../build/reverie}
families="layers branches recurrent random"

# learn KIND EVALUATIONS FILE FAMILY... [-- OPTION...]
learn() {
  local kind=$1 evaluations=$2 file=$3 graphs=()
  shift 3
  while (($#)) && [ "$1" != -- ]; do
    for seed in 31 32 33 34; do graphs+=("generate:$1:200:$seed"); done
    shift
  done
  "$reverie" place_learn "$kind" "${graphs[@]}" --devices 2xv100-nvlink --evaluations "$evaluations" \
    --out "$file" "${@:2}"
}

mkdir -p "$1"
case ${2:-} in
  memory)
    for learner in regal regal_placement regal_scheduling gas; do
      learn $learner 20000 "$1/$learner.pt" $families -- --peak-memory
    done ;;
  transfer)
    for left_out in $families; do
      learn go_placement 2000 "$1/go_$left_out.pt" ${families/$left_out/}
      learn placeto 4000 "$1/placeto_$left_out.pt" ${families/$left_out/}
    done ;;
  *)
    echo "learn.sh DIR memory|transfer" >&2
    exit 2 ;;
esac
