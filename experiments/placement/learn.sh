#!/usr/bin/env bash
# Has agents learn to place synthetic graphs. learn.sh DIR memory: from 64 graphs of 400 to 1,000
# operators of all families, for memory.toml; learn.sh DIR transfer: from three families, the fourth
# left out, for transfer.toml.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
reverie=${REVERIE:-$here/../../build/reverie}
families="layers branches recurrent random"

# learn KIND EVALUATIONS FILE GRAPH...
learn() {
  "$reverie" place_learn "$1" "${@:4}" --devices 2xv100-nvlink --evaluations "$2" --out "$3"
}
# small FAMILY...: four graphs of 200 operators each
small() {
  for family in "$@"; do
    for seed in 31 32 33 34; do echo "generate:$family:200:$seed"; done
  done
}
large() {
  for family in $families; do
    for seed in {101..116}; do echo "generate:$family:$((400 + seed * 7919 % 601)):$seed"; done
  done
}

mkdir -p "$1"
case ${2:-} in
  memory)
    learn regal 60000 "$1/regal.pt" $(large) --peak-memory ;;
  transfer)
    for left_out in $families; do
      learn go_placement 2000 "$1/go_$left_out.pt" $(small ${families/$left_out/})
      learn placeto 4000 "$1/placeto_$left_out.pt" $(small ${families/$left_out/})
    done ;;
  *)
    echo "learn.sh DIR memory|transfer" >&2
    exit 2 ;;
esac
