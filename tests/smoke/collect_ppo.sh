#!/usr/bin/env bash
# Rollouts by agents that PPO trained: the same for any number of workers, their training counted.
# Usage: collect_ppo.sh REVERIE
set -euo pipefail
reverie=$1
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"

"$reverie" model squeezenet_small --light --out model.onnx >/dev/null
for kind in graph candidates; do
  for workers in 1 3; do
    "$reverie" collect model.onnx --out "$kind$workers" --seed 1 --workers $workers \
      --cost roofline:t4 --set collect.agent=ppo --set ppo.network=$kind --set collect.episodes=4 \
      --set ppo.updates=1 --set ppo.batch=2 --set env.horizon=12 --json --quiet | tail -1 >result
    grep -q '"agent_training":{"resets":2,"steps":[1-9]' result ||
      { echo "the work of training is not reported:"; cat result; exit 1; }
  done
  for file in "$kind"1/*.h5; do
    cmp "$file" "${kind}3/${file#*/}"
  done
done
