#!/usr/bin/env bash
# Same seed and configuration, same bytes: for any number of workers, on one thread, and however
# often a run was killed and resumed. Usage: determinism.sh REVERIE [LEARNING: ON or OFF]
set -euo pipefail
reverie=$1
learning=${2:-ON}
here=$(mktemp -d)
running=
trap '[[ -z $running ]] || kill -9 $running 2>/dev/null || true; rm -rf "$here"' EXIT
cd "$here"
checks=0
fail() { echo "FAILED: $*" >&2; exit 1; }

# same FIRST SECOND PATTERN...: the files of two directories that match are equal, and there are some.
same() {
  local first=$1 second=$2 pattern names
  shift 2
  for pattern in "$@"; do
    names=$(cd "$first" && ls -d $pattern)
    [[ $names == "$(cd "$second" && ls -d $pattern)" ]] || fail "$first and $second hold other files"
    for name in $names; do
      cmp "$first/$name" "$second/$name" || fail "$first and $second differ in $name"
      checks=$((checks + 1))
    done
  done
}

# killed_after FILE COMMAND...: kills the command as soon as the file is there. It must not have ended
# by itself.
killed_after() {
  local file=$1 status=0
  shift
  "$@" & running=$!
  until [[ -e $file ]]; do
    kill -0 $running 2>/dev/null || fail "'$*' ended before it wrote $file"
    sleep 0.01
  done
  kill -9 $running
  wait $running 2>/dev/null || status=$?
  running=
  [[ $status -eq 137 ]] || fail "'$*' could not be killed in time (status $status)"
}

"$reverie" model squeezenet_small --light --out model.onnx >/dev/null
collect() {  # OUT OPTION...
  local out=$1
  shift
  "$reverie" collect model.onnx --out "$out" --seed 5 --cost roofline:t4 --quiet \
    --set collect.episodes=16 --set collect.shard_episodes=4 --set env.horizon=10 "$@" >/dev/null
}
for workers in 1 2 4; do collect by_$workers --workers $workers; done
for workers in 2 4; do same by_1 by_$workers 'shard-*.h5' config.yaml metrics.jsonl; done

many() { collect "$@" --set collect.episodes=600 --set collect.shard_episodes=20; }
many whole
killed_after killed/shard-00001.h5 "$reverie" collect model.onnx --out killed --seed 5 \
  --cost roofline:t4 --quiet --set env.horizon=10 --set collect.episodes=600 \
  --set collect.shard_episodes=20
[[ ! -e killed/shard-00029.h5 ]] || fail "the collection was complete before it was killed"
many killed --resume
same whole killed 'shard-*.h5' config.yaml metrics.jsonl
if ls killed/*.part 2>/dev/null; then fail "parts are left after resuming"; fi

# Three parts write one folder at the same time; one of them is killed.
mkdir parts
for part in 1 3; do many parts --part $part/3 & done
killed_after parts/shard-00011.h5 "$reverie" collect model.onnx --out parts --seed 5 \
  --cost roofline:t4 --quiet --set env.horizon=10 --set collect.episodes=600 \
  --set collect.shard_episodes=20 --part 2/3
wait
[[ ! -e parts/shard-00019.h5 ]] || fail "the part was complete before it was killed"
[[ -e parts/shard-00029.h5 ]] || fail "the last part did not end"
many parts --resume
same whole parts 'shard-*.h5' config.yaml metrics.jsonl
if ls parts/*.part 2>/dev/null; then fail "parts of files are left"; fi

if [[ $learning == ON ]]; then
  train_vae() { "$reverie" train_vae by_1 --seed 5 --threads 1 --quiet --set vae.epochs=2 "$@"; }
  for run in 1 2; do
    train_vae --out vae_$run >/dev/null
    "$reverie" train_mdnrnn by_1 --encoder vae_$run/encoder.pt --out world_$run --seed 5 --threads 1 \
      --set mdnrnn.epochs=1 --quiet >/dev/null
    "$reverie" dream_train by_1 --world world_$run/world.pt --out policy_$run --seed 5 --threads 1 \
      --set dream.updates=2 --set dream.batch=4 --quiet >/dev/null
  done
  same vae_1 vae_2 encoder.pt training.pt
  same world_1 world_2 world.pt training.pt
  same policy_1 policy_2 policy.pt training.pt
  killed_after vae_killed/training.pt "$reverie" train_vae by_1 --seed 5 --threads 1 --quiet \
    --set vae.epochs=2 --out vae_killed >/dev/null
  train_vae --out vae_killed --resume >/dev/null
  same vae_1 vae_killed encoder.pt training.pt
fi
echo "$checks files are equal"
[[ $checks -gt 40 ]]
