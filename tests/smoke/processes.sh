#!/usr/bin/env bash
# V, M and C that several processes train together are the same bytes as those that one trains; a process that dies ends the
# others, and --resume goes on. Exit status 77 where this was built without Gloo.
# Usage: processes.sh REVERIE
source "$(dirname "$0")/../support/smoke.sh"

export MASTER_ADDR=127.0.0.1
port() { MASTER_PORT=$((20000 + RANDOM % 20000)); export MASTER_PORT; }
# together COUNT COMMAND...: in so many processes; the worst status of all.
together() {
  local count=$1 worst=0
  shift
  port
  pids=()
  for ((rank = 0; rank < count; ++rank)); do
    RANK=$rank WORLD_SIZE=$count timeout 300 "$@" >"said$rank" 2>"err$rank" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || worst=$?; done
  return $worst
}

same() {  # FOLDER FOLDER FILE...
  local file
  for file in "${@:3}"; do cmp "$1/$file" "$2/$file" || fails "$1 and $2 differ in $file"; done
}

"$reverie" collect --env toy --out rollouts --seed 3 --set collect.episodes=40 --quiet >/dev/null || exit 1
RANK=5 WORLD_SIZE=2 "$reverie" train_vae rollouts --out none --quiet 2>err
if grep -q 'a build with Gloo' err; then
  echo "skipped: no Gloo"
  exit 77
fi
grep -q 'RANK=5 is not below WORLD_SIZE=2' err || fails "a rank that is too high: $(cat err)"

train_vae() { echo "$reverie" train_vae rollouts --seed 3 --threads 1 --quiet --set vae.epochs=3 --set vae.chunks=4 "$@"; }
train_mdnrnn() {
  echo "$reverie" train_mdnrnn rollouts --encoder vae_1/encoder.pt --seed 3 --threads 1 --quiet --set mdnrnn.epochs="$1" \
    --set mdnrnn.patience=40 --set mdnrnn.minibatch_episodes=8 --set mdnrnn.chunks=4 "${@:2}"
}
dream_train() {
  echo "$reverie" dream_train rollouts --world world_1/world.pt --seed 3 --threads 1 --quiet --set dream.updates="$1" \
    --set dream.batch=48 --set dream.validate_every=2 --set dream.chunks=4 "${@:2}"
}
for count in 1 2 4; do
  together $count $(train_vae --out vae_$count) || fails "$count processes: $(cat err?)"
  together $count $(train_mdnrnn 2 --out world_$count) || fails "$count processes: $(cat err?)"
  together $count $(dream_train 5 --out policy_$count) || fails "$count processes: $(cat err?)"
done
for count in 2 4; do
  same vae_1 vae_$count encoder.pt training.pt metrics.jsonl config.yaml
  same world_1 world_$count world.pt training.pt metrics.jsonl config.yaml open_loop.json
  same policy_1 policy_$count policy.pt last.pt training.pt metrics.jsonl config.yaml
done

together 3 $(train_vae --out three)
[[ $? -eq 2 ]] && grep -q 'chunks is 4, which 3 processes cannot share' err0 || fails "three processes: $(cat err?)"
together 1 $(train_mdnrnn 2 --out none --set mdnrnn.chunks=9)
[[ $? -eq 2 ]] && grep -q 'chunks is 9, more than minibatch_episodes (8)' err0 || fails "nine parts: $(cat err0)"

rm -rf none
together 2 $(dream_train 2 --out none --iterate 2)
[[ $? -eq 2 && ! -e none ]] && grep -q 'several processes train one round' err0 || fails "rounds: $(cat err0)"
together 2 $(dream_train 2 --out none --set dream.environment=live)
[[ $? -eq 2 && ! -e none ]] && grep -q 'several processes train one policy in the dream' err0 || fails "live: $(cat err0)"
together 1 $(dream_train 2 --out none --set dream.trainer=reinforce --set dream.depth=0)
[[ $? -eq 2 && ! -e none ]] && grep -q 'dream.chunks are of ppo' err0 || fails "reinforce: $(cat err0)"

# One of two is killed in the midst of training.
together 1 $(train_mdnrnn 40 --out whole) || fails "$(cat err0)"
port
for rank in 0 1; do
  RANK=$rank WORLD_SIZE=2 $(train_mdnrnn 40 --out killed) >"said$rank" 2>"err$rank" &
  pids[rank]=$!
done
for _ in {1..600}; do [[ -s killed/training.pt ]] && break; sleep 0.05; done
kill -KILL ${pids[1]}
wait ${pids[0]}
status=$?
[[ $status -ne 0 ]] && grep -q 'another process of the training is gone' err0 || fails "status $status: $(cat err0)"
[[ $(wc -l <killed/metrics.jsonl) -lt $(wc -l <whole/metrics.jsonl) ]] || fails "it was over before it was killed"
together 2 $(train_mdnrnn 40 --out killed --resume) || fails "$(cat err?)"
same whole killed world.pt training.pt metrics.jsonl

port
for rank in 0 1; do
  RANK=$rank WORLD_SIZE=2 $(dream_train 60 --out cut) >"said$rank" 2>"err$rank" &
  pids[rank]=$!
done
for _ in {1..600}; do [[ -s cut/training.pt ]] && break; sleep 0.05; done
kill -KILL ${pids[1]}
wait ${pids[0]}
status=$?
[[ $status -ne 0 ]] && grep -q 'another process of the training is gone' err0 || fails "status $status: $(cat err0)"
together 2 $(dream_train 60 --out cut --resume) || fails "$(cat err?)"
together 1 $(dream_train 60 --out uncut) || fails "$(cat err0)"
same uncut cut policy.pt last.pt training.pt metrics.jsonl

if command -v torchrun >/dev/null; then
  # Version 1.13 fails under Python 3.11 unless it is told which outputs to copy.
  torchrun --redirects 1 --tee 1 --no_python --nproc_per_node=2 --master_port=$MASTER_PORT $(train_vae --out by_torchrun) >said 2>err ||
    fails "torchrun: $(tail -3 err)"
  same vae_1 by_torchrun encoder.pt training.pt
fi

exit $failures
