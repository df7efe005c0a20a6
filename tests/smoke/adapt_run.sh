#!/usr/bin/env bash
# reverie adapt on a network to train: killed at random moments and resumed, it writes the bytes of a run
# that nobody stopped. What it writes is read again. Wrong input is one line.
# Usage: adapt_run.sh REVERIE LEARNING
source "$(dirname "$0")/../support/smoke.sh"
learning=$2

cat >network.yaml <<'END'
image: [1, 8, 8]
blocks:
  - {conv: 4, name: a}
  - {conv: 4, name: b, add: a}
  - {max_pool: 2, name: pool}
  - {conv: 4, name: c}
  - {global_pool: true, name: mean}
  - {linear: 2, name: end}
END
refused() {  # WORDS ARGUMENT...
  "$reverie" adapt "${@:2}" --quiet >out 2>err
  [[ $? -eq 2 && $(wc -l <err) -eq 1 ]] && grep -qF -- "$1" err || fails "${*:2}: $(cat err)"
}
if [[ $learning != ON && $learning != 1 && $learning != TRUE ]]; then
  refused 'needs LibTorch' network.yaml --method early --out run
  [[ -e run ]] && fails "it left a folder"
  exit $failures
fi

# Images whose class is the bright half.
python3 - <<'END'
import os, random, struct
def write(folder, side):
    os.mkdir(folder)
    random.seed(1)
    for name, count in ("train", 960), ("t10k", 160):
        labels = [i % 2 for i in range(count)]
        pixels = bytes(random.randrange(100) + 100 * ((x < side / 2) == (label == 0))
                       for label in labels for y in range(side) for x in range(side))
        with open(f"{folder}/{name}-images-idx3-ubyte", "wb") as file:
            file.write(struct.pack(">4i", 2051, count, side, side) + pixels)
        with open(f"{folder}/{name}-labels-idx1-ubyte", "wb") as file:
            file.write(struct.pack(">2i", 2049, count) + bytes(labels))
write("data", 8)
write("other", 6)
END
few=(--set adapt.train.train_images=0 --set adapt.train.test_images=0 --set adapt.train.every=4)
early=(network.yaml --method early "${few[@]}")
run=("${early[@]}" --data data --budget 40)
train() { "$reverie" adapt "${run[@]}" "$@"; }

begun=$(date +%s%3N)
train --out whole --json >out 2>rows || fails "an unbroken run: $(cat rows)"
took=$(($(date +%s%3N) - begun))
grep -q '"onnx_error":' <(tail -1 out) || fails "its line of JSON: $(tail -1 out)"
grep -qE '^ +1 +[0-9.]+ % +[0-9.]+ % ' rows || fails "the first row: $(cat rows)"
grep -q 'deepen a at 0.001' rows || fails "no decision in the rows: $(cat rows)"
for file in config.yaml network.onnx network.yaml report.json report.md report.html; do
  [[ -s whole/$file ]] || fails "$file is missing"
done
grep -qE 'trained on 960 of 960 images, accuracy on 160 of 160' out || fails "its images: $(cat out)"
grep -q '<svg' whole/report.html && grep -q 'The same run without a change reached' whole/report.html ||
  fails "the page does not say what no change reaches"
"$reverie" adapt network.yaml --method nothing "${few[@]}" --data data --budget 40 --out unchanged --json --quiet >same
[[ $(grep -o '"unchanged_accuracy":[0-9.]*' <(tail -1 out) | cut -d: -f2) == \
   $(grep -o '"accuracy":[0-9.]*' <(tail -1 same) | cut -d: -f2) ]] || fails "no change reaches otherwise: $(cat out same)"
[[ -e whole/state/epoch.job || -e whole/state/unchanged/epoch.job ]] && fails "it kept the file of an epoch"
grep -q '<svg' whole/report.html || fails "the page has no curve"
grep -q 'deepen a at 0.001' whole/report.html || fails "the page has no decisions"
grep -qE 'NaN|nan|\binf\b' whole/report.md whole/report.html && fails "a figure is none"

kills=0
for trial in 1 2 3; do
  rm -rf broken
  for kill in 1 2 3 4; do
    "$reverie" adapt "${run[@]}" --out broken --quiet --resume >out 2>err &
    process=$!
    wait=$((RANDOM % took))
    sleep "$((wait / 1000)).$(printf %03d $((wait % 1000)))"
    kill -KILL $process 2>/dev/null
    wait $process 2>/dev/null
    (($? == 137)) && kills=$((kills + 1))
  done
  mkdir -p broken/state
  touch broken/report.md.1-1.part broken/state/epoch.job.1-1.part  # killed while it wrote
  train --out broken --quiet --resume >out 2>err || fails "trial $trial: $(cat err)"
  diff -r whole broken || fails "trial $trial: killed and resumed it is another run"
done
((kills >= 2)) || fails "only $kills runs were killed"

# Processors leave between the decisions of a plan.
"$reverie" adapt network.yaml --data data --budget 12 --method thompson --episodes 3 --seed 3 "${few[@]}" \
  --set adapt.train.extra.{from=0,until=0.4,factor=2} --out lent --json --quiet >out 2>err ||
  fails "lent processors: $(cat err)"
grep -q '"epochs":' <(tail -1 out) || fails "lent processors: $(tail -1 out)"

source "$root/tests/support/interrupt.sh"
"$reverie" adapt "${early[@]}" --data data --budget 100000 --out stopped --quiet >out 2>err &
process=$!
interrupt "$reverie" $process || fails "it cannot be interrupted"
wait $process
[[ $? -eq 130 ]] && grep -q -- '--resume goes on' err || fails "an interrupt: $(cat err)"

"$reverie" inspect whole/network.onnx >out 2>err || fails "inspect: $(cat err)"
"$reverie" optimize whole/network.onnx --out better.onnx >out 2>err || fails "optimize: $(cat err)"
for network in whole/network.onnx whole/network.yaml; do
  "$reverie" adapt $network --data data --budget 2s --method nothing "${few[@]}" --out again --quiet >out 2>err ||
    fails "$network again: $(cat err)"
  rm -r again
done

# A policy decides; what it was trained on is a table.
table=$root/tests/golden/adapt_table.json
{
  "$reverie" collect "$table" --env adapt --out rollouts --seed 1 --set collect.episodes=24 --quiet &&
  "$reverie" train_vae rollouts --out encoder --seed 1 --set vae.epochs=2 --quiet &&
  "$reverie" train_mdnrnn rollouts --encoder encoder/encoder.pt --out world --seed 1 --set mdnrnn.epochs=2 --quiet &&
  "$reverie" dream_train rollouts --world world/world.pt --out policy --seed 1 --set dream.updates=2 --quiet
} >out 2>err || fails "training a policy: $(cat err)"
played=(network.yaml --data data --budget 20 --policy policy/policy.pt "${few[@]}" --set 'adapt.train.rates=[0.003]')
"$reverie" adapt "${played[@]}" --out played >out 2>rows || fails "a policy: $(cat rows)"
grep -q '"decisions"' played/report.json || fails "a policy: no report"
mkdir -p again/state
cp played/config.yaml again && cp played/state/stop-[01].job again/state
"$reverie" adapt "${played[@]}" --out again --resume --quiet >out 2>err || fails "a policy, resumed: $(cat err)"
diff -r played again || fails "a policy, resumed, decides another way"
"$reverie" adapt "$table" --policy policy/policy.pt --json --quiet >out 2>err || fails "a policy on a table: $(cat err)"
tail -1 out | grep -q '"rank":' || fails "a policy on a table: $(tail -1 out)"
"$reverie" adapt "${played[@]}" --episodes 2 --set adapt.train.decisions=2 --out tried --json --quiet >out 2>err || fails "a policy that tries: $(cat err)"
tail -1 out | grep -q '"episodes":2' || fails "a policy that tries: $(tail -1 out)"
refused 'leave it out' "$table" --method early --episodes 3
refused "policy/policy.pt" network.yaml --data data --policy policy/policy.pt "${few[@]}" --out new

refused 'give --out' "${run[@]}"
refused 'is not empty' "${run[@]}" --out whole
refused 'config.yaml' "${run[@]}" --out whole --resume --seed 2
refused 'decisions by early' network.yaml --data data --budget 40 --method nothing "${few[@]}" --out whole --resume
refused '6x6' "${early[@]}" --data other --out new
refused 'is less than one' "${early[@]}" --data data --budget 0.5 --out new
refused '--budget 5m' "${early[@]}" --data data --budget 5m --out new
refused "no method 'greedy'" network.yaml --data data --budget 40 --method greedy "${few[@]}" --out new
refused "'deepen' is no decision" network.yaml --data data --method fixed:deepen "${few[@]}" --out new
refused 'excludes' "${run[@]}" --policy network.yaml --out new
refused 'network.yaml' network.yaml --policy network.yaml --out new
refused 'leave out --budget' "$table" --method early --budget 40
sed 's/conv: 4, name: b/conv: 5, name: b/' network.yaml >wide.yaml
refused 'wide.yaml' wide.yaml --data data --method early --out new
"$reverie" model squeezenet_small --light --out other.onnx >/dev/null 2>&1
refused 'other.onnx: MaxPool' other.onnx --data data --method early --out new
[[ -e new ]] && fails "wrong input left a folder"
refused 'the first decision' "${early[@]}" --data data --budget 1.5 --set adapt.train.from=0.9 --out short
refused 'within the first epoch' "${early[@]}" --data data --budget 0.001s --out shorter
refused 'the training loss is' "${run[@]}" --set adapt.train.rate=1e30 --out loss
for folder in short shorter loss; do
  [[ -z $(find $folder -name 'network.*' -o -name 'report.*') ]] || fails "$folder: $(ls $folder)"
done
truncate -s 2000 whole/state/stop-2.job
refused 'stop-2.job: is damaged' "${run[@]}" --out whole --resume
exit $failures
