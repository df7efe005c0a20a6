#!/usr/bin/env bash
# The five steps on an environment, from its name to the report: a step knows nothing of the environment but
# what that says of itself.
# Usage: five_steps_any.sh REVERIE ENVIRONMENT OBJECTIVE BASELINE [INPUT]
set -euo pipefail
reverie=$1 environment=$2 objective=$3 baseline=$4
inputs=("${@:5}") input=${5:-}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"
fail() { echo "FAILED: $*" >&2; exit 1; }

"$reverie" collect "${inputs[@]}" --env "$environment" --out rollouts --seed 1 --set collect.episodes=24 --quiet
"$reverie" train_vae rollouts --out encoder --seed 1 --set vae.epochs=2 --quiet
"$reverie" train_mdnrnn rollouts --encoder encoder/encoder.pt --out world --seed 1 \
  --set mdnrnn.epochs=2 --quiet
"$reverie" dream_train rollouts --world world/world.pt --out policy --seed 1 --set dream.updates=2 --quiet
evaluate() {
  "$reverie" evaluate "${inputs[@]}" --policy policy/policy.pt --seed 1 --set evaluate.seeds=1 \
    --set evaluate.samples=4 --quiet "$@"
}
evaluate --out report >table
for file in report/report.json report/report.md report/report.html; do
  [[ -s $file ]] || fail "$file is missing"
done
grep -q "By $objective the policy" table || fail "no verdict: $(cat table)"
for method in no-op 'policy (greedy)' 'policy (sampled)' random "$baseline"; do
  grep -qF "| $method |" report/report.md || fail "no row of $method"
done
grep -q "^# Evaluation: $environment" report/report.md || fail "the report does not name the environment"
grep -q 'Learning took [1-9][0-9]* real steps in 24 episodes' report/report.md || fail "learning costs nothing"
grep -q 'misses the latents by' report/report.md || fail "nothing is said of M"
grep -q 'not recorded' report/report.md && fail "a step left no record: $(cat policy/history.json)"
grep -q '<svg' report/report.html || fail "the report has no plots"
grep -qE 'NaN|nan|\binf\b' report/report.md report/report.html && fail "a figure is none"
grep -qiE 'onnx|rewrit|run time' report/report.md report/report.html &&
  fail "the report speaks of another environment"

evaluate --out json --json | grep -q "\"environment\":\"$environment\"" || fail "no summary"
status=0
evaluate --out guided --set evaluate.guided=true >/dev/null 2>err || status=$?
[[ $status -eq 2 && $(wc -l <err) -eq 1 && ! -e guided ]] && grep -q "'rewrite' alone" err ||
  fail "guided searches ($status): $(cat err)"
other=toy
[[ $environment == toy ]] && other=knapsack
status=0
inputs=()
evaluate --out other --env $other >/dev/null 2>err || status=$?
[[ $status -eq 2 && $(wc -l <err) -eq 1 && ! -e other ]] && grep -q "policy/policy.pt" err ||
  fail "a policy for another environment is taken ($status): $(cat err)"

# What has hardly learned is no worse than heuristics where `place` goes on from there.
if [[ $environment == placement ]]; then
  makespan() {
    "$reverie" place "$input" --devices 2xv100-nvlink --seed 1 --quiet --json "$@" | grep -oE '"makespan_ms":[0-9.e+-]+' | tail -1 | cut -d: -f2
  }
  after=$(makespan --policy policy/policy.pt --evaluations 20)
  for method in etf heft metis; do
    best=$(makespan --method $method)
    awk "BEGIN { exit !($after <= $best) }" || fail "a policy ends at $after ms, $method at $best ms"
  done
fi
