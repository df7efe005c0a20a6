#!/usr/bin/env bash
# reverie adapt: each method's decisions on a small table and where they stand, wrong input in one line,
# a table of real training. adapt_run.sh has what a training writes.
# Usage: adapt.sh REVERIE LEARNING
source "$(dirname "$0")/../support/smoke.sh"
learning=$2

cp "$root/tests/golden/adapt_table.json" table.json

expect() {  # METHOD WORDS...: parts of the line of JSON
  "$reverie" adapt table.json --method "$1" --json --quiet >out 2>err || fails "$1: $(cat err)"
  for words in "${@:2}"; do tail -1 out | grep -qF -- "$words" || fails "$1 has no $words: $(tail -1 out)"; done
}
expect nothing '"decisions":"go on, go on"' '"accuracy":40.0' '"rank":4' '"sequences":4'
expect exhaustive '"decisions":"deepen a, go on"' '"rank":1' '"regret":0.0' '"episodes":4' '"mean_accuracy":55.0'
expect 'fixed:go on,deepen a' '"decisions":"go on, deepen a"' '"rank":3' '"accuracy":50.0'
expect early '"unchanged_accuracy":40.0' '"decisions":"deepen a, deepen a"' '"rank":2'
expect random '"episodes":1'

refused() {  # WORDS ARGUMENT...
  "$reverie" adapt "${@:2}" >out 2>err
  [[ $? -eq 2 && $(wc -l <err) -eq 1 ]] && grep -qF -- "$1" err || fails "${*:2}: $(cat err)"
}
refused "no method 'greedy'" table.json --method greedy
refused "'deepen end' is not offered" table.json --method 'fixed:deepen end,go on'
refused "'deepen' is no decision" table.json --method fixed:deepen
refused 'no.json' no.json --method nothing

[[ $learning == ON || $learning == 1 || $learning == TRUE ]] || exit $failures
for method in published published_with_baseline mended mended_without_baseline; do
  "$reverie" adapt table.json --method $method --episodes 300 --seed 3 --json --quiet >out 2>err || fails "$method: $(cat err)"
  tail -1 out | grep -q '"episodes":300,' || fails "$method: $(tail -1 out)"
  "$reverie" adapt table.json --method $method --episodes 300 --seed 3 --json --quiet >again
  cmp -s <(head -1 out) <(head -1 again) || fails "$method: the same seed gives another result"
done

# Images whose class is the bright half.
python3 - <<'END'
import random, struct
random.seed(1)
for name, count in ("train", 96), ("t10k", 32):
    labels = [i % 2 for i in range(count)]
    pixels = bytes(random.randrange(100) + 150 * ((x < 4) == (label == 0))
                   for label in labels for y in range(8) for x in range(8))
    open(f"{name}-images-idx3-ubyte", "wb").write(struct.pack(">4i", 2051, count, 8, 8) + pixels)
    open(f"{name}-labels-idx1-ubyte", "wb").write(struct.pack(">2i", 2049, count) + bytes(labels))
END
cat >network.yaml <<'END'
image: [1, 8, 8]
blocks:
  - {conv: 2, name: a}
  - {global_pool: true}
  - {linear: 2, name: end}
END
training=(--set adapt.train.data=. --set adapt.train.train_images=0 --set adapt.train.test_images=0
  --set 'adapt.train.rates=[0.01]' --set adapt.train.budget=8 --set adapt.train.decisions=2
  --set adapt.train.every=1)
record() { "$reverie" adapt network.yaml --record "$1" "${@:2}" "${training[@]}" --quiet; }
record two.json --runs 2 >out 2>err || fails "recording: $(cat err)"
grep -qE '^two.json: [0-9]+ sequences, 2 runs of each' out || fails "what was recorded: $(cat out)"
record one.json --runs 1 >out && record one.json --runs 2 >out
cmp -s one.json two.json || fails "a table that was completed is another"
"$reverie" adapt two.json --method exhaustive --json --quiet >out 2>err || fails "its table: $(cat err)"
refused 'is a table already' two.json --record three.json
refused 'either --method' network.yaml
"$reverie" adapt network.yaml --method 'fixed:deepen a,widen a' "${training[@]}" --out grown --json --quiet >out 2>err ||
  fails "training: $(cat err)"
tail -1 out | grep -qF '"decisions":"deepen a, widen a"' || fails "training: $(tail -1 out)"
exit $failures
