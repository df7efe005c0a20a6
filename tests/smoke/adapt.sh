#!/usr/bin/env bash
# reverie adapt on a small table: each method's decisions and where they stand, wrong input in one line.
# Usage: adapt.sh REVERIE LEARNING
source "$(dirname "$0")/../support/smoke.sh"
learning=$2

run_of() {  # ACCURACY DECISION DECISION
  echo '{"decisions":['"$2,$3"'],"runs":[{"seed":1,"stops":[[1,0.5,1,0.4],[2,1,1,0.4]],"curve":[[0.3,0.3,0,0.5],['"$1"',0.3,0,1]]}]}'
}
a='{"deepen":"a","rate":0.01}'
cat >table.json <<END
{"format": "reverie-adapt/1", "scenario": "small", "budget": "a minute", "rates": [0.01], "decisions": 2, "final_epochs": 1,
 "network": "image: [1, 4, 4]\nblocks:\n  - {conv: 2, name: a}\n  - {linear: 2, name: end}\n",
 "curve": [[0.2, 0.2, 0, 0.1]], "start": [0, 0.1, 1, 0.1],
 "sequences": [$(run_of 0.4 null null), $(run_of 0.5 null "$a"), $(run_of 0.7 "$a" null), $(run_of 0.6 "$a" "$a")]}
END

expect() {  # METHOD WORDS...: parts of the line of JSON
  "$reverie" adapt table.json --method "$1" --json --quiet >out 2>err || fails "$1: $(cat err)"
  for words in "${@:2}"; do tail -1 out | grep -qF -- "$words" || fails "$1 has no $words: $(tail -1 out)"; done
}
expect nothing '"decisions":"go on, go on"' '"accuracy":40.0' '"rank":4' '"sequences":4'
expect exhaustive '"decisions":"deepen a, go on"' '"rank":1' '"regret":0.0' '"episodes":4' '"mean_accuracy":55.0'
expect 'fixed:go on,deepen a' '"decisions":"go on, deepen a"' '"rank":3' '"accuracy":50.0'
expect early '"decisions":"deepen a, deepen a"' '"rank":2'
expect random '"episodes":1'

refused() {  # WORDS ARGUMENT...
  "$reverie" adapt "${@:2}" >out 2>err
  [[ $? -eq 2 && $(wc -l <err) -eq 1 ]] && grep -qF -- "$1" err || fails "${*:2}: $(cat err)"
}
refused "no method 'greedy'" table.json --method greedy
refused "'deepen: end' is not offered" table.json --method 'fixed:deepen end,go on'
refused "'deepen' is no decision" table.json --method fixed:deepen
refused 'no.json' no.json --method nothing

[[ $learning == ON || $learning == 1 || $learning == TRUE ]] || exit $failures
for method in published published_with_baseline mended mended_without_baseline; do
  "$reverie" adapt table.json --method $method --episodes 300 --seed 3 --json --quiet >out 2>err || fails "$method: $(cat err)"
  tail -1 out | grep -q '"episodes":300,' || fails "$method: $(tail -1 out)"
  "$reverie" adapt table.json --method $method --episodes 300 --seed 3 --json --quiet >again
  cmp -s <(head -1 out) <(head -1 again) || fails "$method: the same seed gives another result"
done
exit $failures
