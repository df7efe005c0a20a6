#!/usr/bin/env bash
# From searches to tables and curves: experiments/run.py on small models, and its results by reverie summarize and
# experiments/figures.py. Exit status 77 where python3 is missing. Usage: summarize.sh REVERIE
source "$(dirname "$0")/../support/smoke.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }

cat >searches.toml <<'END'
question = "Which search?"
models = ["squeezenet_small", "inception_small"]
seeds = [1, 2]
[make]
squeezenet_small = "squeezenet_small --light"
inception_small = "inception_small --light"
[all]
cost = "roofline:t4"
set.verify_inputs = 0
[arms.greedy]
seeds = [1]
method = "greedy"
[arms.lists]
method = "rulelist"
budget = 40
[arms.annealing]
method = "annealing"
budget = 20
END
REVERIE=$reverie "$root/experiments/run.py" searches.toml --out out --jobs 2 2>err || fails "run.py: $(cat err)"
[[ $(wc -l <out/searches.jsonl) -eq 10 ]] || fails "not every run has a line"
gzip out/searches.jsonl
summarize() { "$reverie" summarize out/searches.jsonl.gz "$@"; }
summarize --versus greedy --at expansions=30 >table 2>err || fails "summarize: $(cat err)"
grep -q '^| model | greedy (1) | lists (2) | annealing (2) |$' table || fails "no table: $(cat table)"
grep -q '^| lists | 4 | .* to .* | +[0-9.]* | .* to ' table || fails "no aggregate: $(cat table)"
summarize --at expansions=1000000 >/dev/null 2>err && fails "too small a budget goes unnoticed"
grep -q 'budget ended it at expansions' err || fails "the reason is not told: $(cat err)"
summarize --metric candidates --lower-is-better --json | tail -1 | grep -q '"metric":"candidates"' || fails "no JSON"
summarize --correlate expansions candidates | grep -q '^Rank correlation (Spearman).*over 10 runs$' ||
  fails "no correlation"
summarize --x expansions --log-x --plot curve.svg && head -c 5 curve.svg | grep -q '<svg ' || fails "no curve"
summarize --x expansions --gap-closed --log-x --plot page.html && grep -q "<polyline points='[0-9., ]\{200\}" page.html ||
  fails "no curves are drawn"
summarize --x expansions --metric improvement_percent,candidates --plot both.svg
[[ $(grep -c '<polyline' both.svg) -eq 6 ]] || fails "not a curve for each method and metric"
grep -q '>lists, candidates</text>' both.svg || fails "the legend lacks a metric"
summarize --metric improvement_percent --metric candidates --json >tables
[[ $(grep -c '^| model | ' tables) -eq 2 && $(grep -c '^{"metric"' tables) -eq 2 ]] || fails "not a table for each metric"

figures() { "$root/experiments/figures.py" "$@" 2>err; }

# Two searches that share what one would have: each as its trace stood at half of it.
figures portfolio --at expansions=40 --methods lists,annealing out/searches.jsonl.gz >half.jsonl || fails "portfolio: $(cat err)"
summarize --at expansions=20 --json | tail -1 >searched
"$reverie" summarize half.jsonl --json | tail -1 >shared
[[ $(wc -l <half.jsonl) -eq 4 ]] && grep -q '"portfolio"' shared || fails "not a portfolio a model and seed: $(cat half.jsonl)"
python3 - <<'END' || fails "a portfolio is not the better of its two"
import gzip, json
runs = [json.loads(line) for line in gzip.open("out/searches.jsonl.gz")]
for found in map(json.loads, open("half.jsonl")):
    parts = [[p["improvement_percent"] for p in run["trace"] if p["expansions"] <= 20][-1] for run in runs
             if run["method"] != "greedy" and (run["model"], run["seed"]) == (found["model"], found["seed"])]
    assert len(parts) == 2 and max(parts) == found["improvement_percent"]
END
figures portfolio --at expansions=9000000 --methods lists,annealing out/searches.jsonl.gz && fails "too small a budget is taken"
grep -q 'figures.py: .*ended before expansions=' err || fails "the reason is not told: $(cat err)"

# Two runs of an arm, one of them a failure: (60 + 60 s + 2 * 1,000 steps) for one success.
line() {
  printf '{"model":"m/%s.onnx","method":"%s","seed":%s,"improvement_percent":%s,"real_steps":1000,"judging_steps":500,' "${@:1:4}"
  printf '"policy_seconds":60,"collect_steps":100,"collect_cost_lookups":700,"collect_best_improvement_percent":40,"trace":[]}\n'
}
{ line a lean 1 42; line a lean 2 41; line a graph 1 43; line b lean 1 44; } >arms.jsonl
break_even() { figures break-even --quality 42 "$@" arms.jsonl; }
break_even >table || fails "break-even: $(cat err)"
grep -q '^| a | lean | 1 of 2 | 1000 | 2000 | 1000 to - | 2.0 | 2.0 | 2.2 | 3.7 | 18.7 | 168.7 |$' table ||
  fails "other times: $(cat table)"
grep -q '^| a | graph | 1 of 1 | 1000 | 1000 | 1000 to 1000 | ' table || fails "another interval: $(cat table)"
break_even --versus graph >table || fails "break-even --versus"
grep -q '^| a | lean | 1 of 2 | 1000 | 2000 | 1000 to - | 200.0 | 100 to - | 2.0 ' table || fails "another ratio: $(cat table)"
grep -q '^| b | lean | 1 of 1 | 1000 | 1000 | 1000 to 1000 | - | - | ' table || fails "a ratio to another model's arm"
break_even --judged 9 | grep -q '^| a | lean | 1 of 2 | 1500 | 3000 |' || fails "judging episodes are not counted"
sed -i '2s/"judging_steps":500,//' arms.jsonl
break_even --judged 9 | grep -q '^| a | lean | 1 of 2 | 1254 | 2509 |' || fails "those that are not on record are not counted"
break_even --model a --only graph --points >points.jsonl && [[ $(wc -l <points.jsonl) -eq 31 ]] || fails "no points"
"$reverie" summarize points.jsonl --metric minutes --x step_ms --log-x --log-y --plot pays.svg || fails "no plot of minutes"
figures collected arms.jsonl | "$reverie" summarize /dev/stdin --versus collected --where model=a --where seed=1 |
  grep -q '^| graph | 1 | 43.00 |  | +3.00' || fails "what was collected is not beside the rest"
figures look-ups arms.jsonl | grep -q '^| a | 2 | 200 | 7 |$' || fails "other look-ups"
echo '{"model":"n.onnx","confirmed":{"winner":1,"contestants":[
  {"cost_ms":2,"median_ms":4,"ratio":1,"ratio_low":1,"ratio_high":1,"finalist":true},
  {"cost_ms":1.5,"median_ms":3,"ratio":0.75,"ratio_low":0.7,"ratio_high":0.8,"finalist":true,"error":1.5e-4}]}}' | tr -d '\n' >confirmed.jsonl
figures end-to-end confirmed.jsonl | grep -q '^| n | 4.000 | 3.000 | 25.0 | 20.0 to 30.0 | 25.0 |  | 1.5e-04 | 0 |$' || fails "another gain"
figures end-to-end --points confirmed.jsonl | wc -l | grep -qx 3 || fails "no points to correlate"
exit $failures
