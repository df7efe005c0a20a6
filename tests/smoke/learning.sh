#!/usr/bin/env bash
# Arms of the learning experiments, from one command to the table: experiments/learning/run.sh on a small
# model; and a search that one of their policies guides.
# Usage: learning.sh REVERIE
source "$(dirname "$0")/../support/smoke.sh"

mkdir "my models"
models="my models" out="my runs"
"$reverie" model squeezenet_small --light --out "$models/small.onnx" >/dev/null || exit 1
cat >two.arms <<'END'
* collect.episodes=6 env.horizon=8 vae.epochs=1 mdnrnn.epochs=1 dream.updates=0 iterate.rounds=1
* dream.validation.sampled=1 dream.validation.dreams=1
*large collect.episodes=8
imitation
dream dream.updates=1
END
arms() {
  REVERIE=$reverie "$root/experiments/learning/run.sh" two.arms --models "$models" --out "$out" --seeds 1 "$@" small >table 2>err
}

arms || fails "run.sh: $(cat err)"
[[ $(grep -c '"collect_episodes":6,' "$out"/two.jsonl) -eq 2 ]] || fails "not every arm has a line of 6 episodes"
[[ $(ls -d "$out"/steps/*-collect-*/ "$out"/steps/*-train_mdnrnn-*/ | wc -l) -eq 2 ]] || fails "arms do not share their steps"
[[ $(ls -d "$out"/steps/*-dream_train-*/ | wc -l) -eq 2 ]] || fails "arms share a policy"
grep -q '"policy_training' "$out/two.jsonl" && fails "what the policy did for real is told twice"
grep -q '^| dream | 1 | ' table || fails "no table: $(cat table)"
mv table first
arms || fails "again: $(cat err)"
cmp -s table first || fails "the same runs give another table"
arms --size large --only dream || fails "large: $(cat err)"
[[ $(grep -c '"collect_episodes":8,' "$out"/two-large.jsonl) -eq 1 ]] || fails "the large size is not taken"
mkdir other && "$reverie" model squeezenet_small --light --image 96 --out other/small.onnx >/dev/null && cp two.arms also.arms || exit 1
REVERIE=$reverie "$root/experiments/learning/run.sh" also.arms --models other --out "$out" --seeds 1 --only imitation small >table 2>err ||
  fails "another model: $(cat err)"
[[ $(ls -d "$out"/steps/*-collect-*/ | wc -l) -eq 3 ]] || fails "what was collected on another model of that name is taken"
arms --size huge && fails "a size that the arms do not have is taken"
grep -q 'no arm \*huge' err || fails "not said: $(cat err)"

"$reverie" collect "$models/small.onnx" --out all --quiet --set env.horizon=8 --set collect.episodes=4 --set collect.test=0 \
  --set collect.validation=0 >/dev/null
"$reverie" train_vae all --out v --quiet --set vae.epochs=1 | grep -q 'best training loss' ||
  fails "validation is said where nothing is held out"
"$reverie" train_mdnrnn all --encoder v/encoder.pt --out m --quiet --set mdnrnn.epochs=1 |
  grep -q '^No episodes are held out' || fails "an open-loop report of no episodes"

cat >methods <<'END'
greedy 1   1  --method greedy
random 2-3 10 --method random
guided 1   50 --method policy --search beam --policy {policy:dream}
other  1   50 --method policy --policy {policy:dream@small}
END
searches() {
  REVERIE=$reverie "$root/experiments/estimated/run.sh" --models "$models" --out searches --methods methods \
    --expansions 10 --policies "$1" "${2:-small}" >table 2>err
}
searches "$out"/two || fails "a policy as a guide: $(cat err)"
grep -q '"method":"guided"' searches/expansions10.jsonl || fails "the policy guides nothing"
[[ $(grep '"method":"random"' searches/expansions10.jsonl | grep -o '"seed":[0-9]*' | paste -sd' ') == '"seed":2 "seed":3' ]] ||
  fails "not the seeds that were named"
cp "$models/small.onnx" "$models/same.onnx"
sed -i '/^guided/d' methods
searches "$out"/two same || fails "the policy of another model: $(cat err)"
grep -q '"method":"other"' searches/expansions10.jsonl || fails "the policy of another model plays nothing"
searches nowhere && fails "a run that is not there is taken"
grep -q 'there is no run nowhere/small-dream-1.json' err || fails "not said: $(cat err)"
exit $failures
