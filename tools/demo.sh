#!/usr/bin/env bash
# Installs what is missing, builds, runs the five steps on a bundled model, prints the table and says
# where the report lies. Usage: tools/demo.sh [OUT]   (default runs/demo; an interrupted demo goes on)
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-runs/demo}
config=experiments/demo
model=$out/squeezenet1_1.onnx

tools/build.sh reverie
mkdir -p "$out"

# step DIRECTORY COMMAND...: runs one step of the five, or goes on with it where it was stopped.
step() {
  local directory=$1
  shift
  printf '\n== reverie %s\n' "$*"
  build/reverie "$@" --out "$directory" --seed 1 --resume
}

[[ -s $model ]] || build/reverie model squeezenet1_1 --out "$model"
step "$out/rollouts" collect "$model" --config $config/collect.yaml
step "$out/encoder" train_vae "$out/rollouts" --config $config/train_vae.yaml
step "$out/world" train_mdnrnn "$out/rollouts" --encoder "$out/encoder/encoder.pt" \
  --config $config/train_mdnrnn.yaml
step "$out/policy" dream_train "$out/rollouts" --world "$out/world/world.pt" \
  --config $config/dream_train.yaml
printf '\n== reverie evaluate\n'
build/reverie evaluate "$model" --policy "$out/policy/policy.pt" --out "$out/report" --seed 1 \
  --config $config/evaluate.yaml --resume

printf '\nThe report: %s\n' "$PWD/$out/report/report.html"
