#!/usr/bin/env bash
# From searches to tables and curves: experiments/estimated/run.sh on small models, and its results by
# reverie summarize. Usage: summarize.sh REVERIE
set -u
reverie=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failures=0
fails() { echo "FAILED: $*"; failures=$((failures + 1)); }

mkdir models
for name in squeezenet_small inception_small; do
  "$reverie" model $name --light --out models/$name.onnx >/dev/null || exit 1
done
printf 'greedy 1 1 --method greedy\nlists 2 40 --method rulelist\nlate 1 - --method taso\n' >methods
estimated() {
  REVERIE=$reverie "$root/experiments/estimated/run.sh" --models models --out out --methods methods \
    "$@" squeezenet_small inception_small
}
estimated --expansions 30 --jobs 2 >table 2>err || fails "run.sh: $(cat err)"
grep -q '^| model | greedy (1) | lists (2) |$' table || fails "no table: $(cat table)"
grep -q '^| lists | 4 | .* to .* | +[0-9.]* | .* to ' table || fails "no aggregate: $(cat table)"
[[ $(wc -l <out/expansions30.jsonl) -eq 6 ]] || fails "not every run has a line"
grep -q '"setting":"expansions30".*"method":"lists","seed":2' out/expansions30.jsonl || fails "fields are missing"
grep -q "<polyline points='[0-9., ]\{200\}" out/expansions30.html || fails "no curves are drawn"
cmp -s table out/expansions30.md || fails "the tables that are kept differ"
before=$(ls -l --time-style=full-iso out/runs/expansions30)
estimated --expansions 30 >again 2>/dev/null
cmp -s table again || fails "the same runs give another table"
[[ $(ls -l --time-style=full-iso out/runs/expansions30) == "$before" ]] || fails "runs are repeated"
estimated --expansions 1000000 >/dev/null 2>err && fails "too small a budget goes unnoticed"
grep -q 'budget ended it at expansions' err || fails "the reason is not told: $(cat err)"

summarize() { "$reverie" summarize out/expansions30.jsonl "$@"; }
summarize --metric candidates --lower-is-better --json | tail -1 | grep -q '"metric":"candidates"' || fails "no JSON"
summarize --correlate expansions candidates | grep -q '^Rank correlation (Spearman).*over 6 runs$' ||
  fails "no correlation"
summarize --x expansions --log-x --plot curve.svg && head -c 5 curve.svg | grep -q '<svg ' || fails "no curve"
summarize --x expansions --metric improvement_percent,candidates --plot both.svg
[[ $(grep -c '<polyline' both.svg) -eq 4 ]] || fails "not a curve for each method and metric"
grep -q '>lists, candidates</text>' both.svg || fails "the legend lacks a metric"
summarize --metric improvement_percent --metric candidates --json >tables
[[ $(grep -c '^| model | greedy' tables) -eq 2 && $(grep -c '^{"metric"' tables) -eq 2 ]] ||
  fails "not a table for each metric"
exit $failures
