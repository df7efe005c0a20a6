#!/usr/bin/env bash
# What a second process brings to collecting and to training V, M and C, on this machine.
# Usage: scaling.sh OUT MODEL.onnx [RUNS]; the program is $REVERIE, or build/reverie. A line for each step and run: the
# seconds of one process and of two. Nothing else should run meanwhile.
set -euo pipefail
reverie=${REVERIE:-$(dirname "$0")/../../build/reverie}
out=$1 model=$2 runs=${3:-3}
export MASTER_ADDR=127.0.0.1 OMP_NUM_THREADS=1
mkdir -p "$out"

seconds() {
  local begin=$EPOCHREALTIME
  "$@" >/dev/null
  awk "BEGIN { printf \"%.2f\\n\", $EPOCHREALTIME - $begin }"
}

collect() { # COUNT FOLDER [EPISODES]
  for ((part = 1; part <= $1; ++part)); do
    "$reverie" collect "$model" --out "$2" --part "$part/$1" --workers 1 --seed 1 --cost roofline:t4 --quiet \
      --set collect.episodes="${3:-1024}" --set collect.shard_episodes=16 &
  done
  wait
}
together() { # COUNT COMMAND...
  local count=$1
  shift
  export MASTER_PORT=$((20000 + RANDOM % 20000))
  for ((rank = 0; rank < count; ++rank)); do RANK=$rank WORLD_SIZE=$count "$reverie" "$@" & done
  wait
}
train_vae() { # COUNT FOLDER
  together "$1" train_vae "$out/rollouts" --out "$2" --seed 1 --threads 1 --quiet --set vae.epochs=6 --set vae.chunks=2
}
train_mdnrnn() {
  together "$1" train_mdnrnn "$out/rollouts" --encoder "$out/encoder/encoder.pt" --out "$2" --seed 1 --threads 1 --quiet \
    --set mdnrnn.epochs=6 --set mdnrnn.minibatch_episodes=16 --set mdnrnn.chunks=2
}
dream_train() {
  together "$1" dream_train "$out/rollouts" --world "$out/world/world.pt" --out "$2" --seed 1 --threads 1 --quiet \
    --set dream.updates=20 --set dream.validate_every=10 --set dream.chunks=2
}

collect 1 "$out/rollouts" 128
train_vae 1 "$out/encoder" >/dev/null
train_mdnrnn 1 "$out/world" >/dev/null
for step in collect train_vae train_mdnrnn dream_train; do
  for ((run = 1; run <= runs; ++run)); do
    one=$(seconds $step 1 "$out/$step-$run-1")
    two=$(seconds $step 2 "$out/$step-$run-2")
    echo "$step $run $one $two"
  done
done
