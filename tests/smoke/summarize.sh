#!/usr/bin/env bash
# From searches to tables and curves: experiments/estimated/run.sh on small models, and its results by
# reverie summarize. Usage: summarize.sh REVERIE
source "$(dirname "$0")/../support/smoke.sh"

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

begun_with() { (source "$root/experiments/options.sh" && same_settings results.jsonl "$1") 2>err; }
begun_with "--seconds 1" && begun_with "--seconds 1" || fails "equal settings are refused: $(cat err)"
begun_with "--seconds 2" && fails "results of other settings are gone on with"
grep -q 'results.jsonl is of other settings' err || fails "not said: $(cat err)"

# Two runs of an arm, one of them a failure: (60 + 60 s + 2 * 1,000 steps) for one success.
run() { printf '{"model":"m/%s.onnx","method":"%s","seed":%s,"improvement_percent":%s,"real_steps":1000,"policy_seconds":60,"trace":[]}\n' "$@"; }
{ run a lean 1 42; run a lean 2 41; run a graph 1 43; run b lean 1 44; } >arms.jsonl
break_even() { REVERIE=$reverie "$root/experiments/learning/break_even.sh" --quality 42 "$@" arms.jsonl; }
break_even >table || fails "break_even.sh"
grep -q '^| a | lean | 1 of 2 | 2000 | 1000 to - | 2.0 | 2.0 | 2.2 | 3.7 | 18.7 | 168.7 |$' table || fails "other times: $(cat table)"
grep -q '^| a | graph | 1 of 1 | 1000 | 1000 to 1000 | ' table || fails "another interval: $(cat table)"
break_even --versus graph >table || fails "break_even.sh --versus"
grep -q '^| a | lean | 1 of 2 | 2000 | 1000 to - | 200.0 | 100 to - | 2.0 ' table || fails "another ratio: $(cat table)"
grep -q '^| b | lean | 1 of 1 | 1000 | 1000 to 1000 | - | - | ' table || fails "a ratio to another model's arm: $(cat table)"
break_even --plot pays.svg 2>err && fails "times of two models in one plot"
grep -q 'by --model from a b' err || fails "the models are not told: $(cat err)"
break_even --model a --plot pays.svg >table && [[ $(wc -l <table) -eq 4 ]] || fails "other models are not left out"
[[ $(grep -c '<polyline' pays.svg) -eq 2 ]] || fails "not a curve an arm"
break_even --model a --only graph --plot pays.svg >/dev/null
[[ $(grep -c '<polyline' pays.svg) -eq 1 ]] || fails "an arm that nobody asked for is drawn"
exit $failures
