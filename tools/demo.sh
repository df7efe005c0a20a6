#!/usr/bin/env bash
# Runs the five steps on a bundled model, prints the table and says where the report lies. Installs
# what is missing and builds before, unless a program is named.
#
#   tools/demo.sh [OUT] [--model NAME] [--cost SOURCE] [--device DEVICE] [--reverie PROGRAM]
#
# OUT is runs/demo, NAME squeezenet1_1 (`reverie model --help` lists them). SOURCE is cuda where the
# program finds a GPU, else what the settings in experiments/demo say. DEVICE is where LibTorch
# computes: cuda beside costs of cuda, if it can, else cpu. An interrupted demo goes on.
set -euo pipefail
cd "$(dirname "$0")/.."

out=runs/demo
model=squeezenet1_1
cost=
device=
reverie=
while [[ $# -gt 0 ]]; do
  case $1 in
    -h|--help) awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0"; exit 0 ;;
    --model|--cost|--device|--reverie)
      [[ $# -gt 1 ]] || { echo "demo.sh: $1 needs a value" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    -*) echo "demo.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
    *) out=$1; shift ;;
  esac
done
config=experiments/demo
file=$out/$model.onnx

if [[ -z $reverie ]]; then
  tools/build.sh reverie
  reverie=build/reverie
fi
mkdir -p "$out"

# step DIRECTORY COMMAND...: runs one step of the five, or goes on with it where it was stopped.
step() {
  local directory=$1
  shift
  printf '\n== reverie %s\n' "$*"
  "$reverie" "$@" --config "$config/$1.yaml" --out "$out/$directory" --seed 1 --resume
}

[[ -s $file ]] || "$reverie" model "$model" --out "$file"
[[ -n $cost ]] || ! "$reverie" inspect "$file" --cost cuda &>/dev/null || cost=cuda
if [[ -z $device ]]; then
  device=cpu
  [[ $cost != cuda* || $(ldd "$(realpath "$reverie")-learning") != *libtorch_cuda* ]] || device=cuda
fi
step rollouts collect "$file" ${cost:+--cost "$cost"}
step encoder train_vae "$out/rollouts" --device "$device"
step world train_mdnrnn "$out/rollouts" --encoder "$out/encoder/encoder.pt" --device "$device"
step policy dream_train "$out/rollouts" --world "$out/world/world.pt" --device "$device"
step report evaluate "$file" --policy "$out/policy/policy.pt" --device "$device"

printf '\nThe report: %s\n' "$(realpath "$out")/report/report.html"
