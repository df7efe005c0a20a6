#!/usr/bin/env bash
# The contest of experiments/runtimes goes to the fastest, and ONNX Runtime computes the same from a
# model and from what `reverie optimize` makes of it. Exit status 77 where node or the package
# onnxruntime-node is missing (npm install --ignore-scripts in this folder installs it).
# Usage: compare.sh REVERIE
set -euo pipefail
reverie=$1
scripts=$(cd "$(dirname "$0")" && pwd)
command -v node >/dev/null || { echo "skipped: no node"; exit 77; }
node "$scripts/contest_test.mjs"
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

compare() {  # MODEL OPTION...
  local model=$1
  shift
  "$reverie" model "$model" "$@" --out "$here/$model.onnx" >/dev/null
  "$reverie" optimize "$here/$model.onnx" --method taso --budget 30 --cost roofline:t4 \
    --out "$here/$model-better.onnx" --quiet >"$here/table"
  cmp -s "$here/$model.onnx" "$here/$model-better.onnx" && { echo "$model: not changed"; exit 1; }
  echo "$model"
  node "$scripts/compare.mjs" "$reverie" "$here/$model.onnx" "$here/$model-better.onnx"
}

compare squeezenet_small
compare resnet18 --image 64
compare bert_tiny
