#!/usr/bin/env bash
# The five steps and optimize on a tiny model, each through the command line. Usage:
# five_steps.sh REVERIE
set -euo pipefail
reverie=$1
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"

"$reverie" model squeezenet_small --light --out model.onnx >/dev/null
"$reverie" collect model.onnx --out rollouts --seed 1 --set collect.episodes=12 \
  --cost roofline:t4 --quiet
"$reverie" train_vae rollouts --out encoder --seed 1 --set vae.epochs=2 --quiet
"$reverie" train_mdnrnn rollouts --encoder encoder/encoder.pt --out world --seed 1 \
  --set mdnrnn.epochs=2 --quiet
"$reverie" dream_train rollouts --world world/world.pt --out policy --seed 1 \
  --set dream.updates=2 --quiet
"$reverie" evaluate model.onnx --policy policy/policy.pt --out report --seed 1 --quiet
"$reverie" optimize model.onnx --method taso --budget 20 --cost roofline:t4 --out better.onnx \
  --json --quiet | tail -1 | grep -q '"improvement_percent":'
for file in report/report.json report/report.md report/report.html better.onnx; do
  [[ -s $file ]] || { echo "missing: $file"; exit 1; }
done
