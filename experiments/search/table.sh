#!/usr/bin/env bash
# Optimizes every model by every search and prints the table of improvements.
#
#   experiments/search/table.sh [--models DIR] [--out DIR] [--cost SOURCE] [--budget N] [--seed N] [NAME...]
#
# One line of JSON per run goes to a file in OUT (default runs/search) named by cost, budget and
# seed; runs that stand there already are not repeated.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
reverie=${REVERIE:-$root/build/reverie}
models=${REVERIE_MODELS:-$root/../shared/models}/light
out=$root/runs/search
cost=roofline:t4
budget=100
seed=1
methods=(greedy taso rulelist random)
names=()

while [[ $# -gt 0 ]]; do
  case $1 in
    --models) models=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --cost) cost=$2; shift 2 ;;
    --budget) budget=$2; shift 2 ;;
    --seed) seed=$2; shift 2 ;;
    -h|--help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "table.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
    *) names+=("$1"); shift ;;
  esac
done
[[ -d $models ]] || {
  echo "table.sh: there is no folder $models; name one that holds ONNX files by --models" >&2
  exit 2
}
if [[ ${#names[@]} -eq 0 ]]; then
  for file in "$models"/*.onnx; do names+=("$(basename "$file" .onnx)"); done
fi
mkdir -p "$out"
results=$out/${cost//:/-}-budget$budget-seed$seed.jsonl
touch "$results"

# The number or word behind a key of a one-line JSON object.
value() { sed -n "s/.*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<<"$1"; }

# The line of a run of this model and method, if there is one.
known() { grep -F "\"model\":\"$models/$1.onnx\",\"method\":\"$2\"" "$results" | tail -1; }

for name in "${names[@]}"; do
  for method in "${methods[@]}"; do
    [[ -n $(known "$name" "$method" || true) ]] && continue
    line=$("$reverie" optimize "$models/$name.onnx" --method "$method" --cost "$cost" \
             --budget "$budget" --seed "$seed" --quiet --json | tail -1)
    echo "$line" >>"$results"
  done
done

printf '%-17s %9s' model 'initial ms'
for method in "${methods[@]}"; do printf ' %9s' "$method %"; done
printf ' %9s %10s %9s\n' 'taso s' candidates 'rel error'
for name in "${names[@]}"; do
  taso=$(known "$name" taso)
  printf '%-17s %9.4f' "$name" "$(value "$taso" initial_cost_ms)"
  for method in "${methods[@]}"; do
    printf ' %9.2f' "$(value "$(known "$name" "$method")" improvement_percent)"
  done
  printf ' %9.2f %10d %9.1e\n' "$(value "$taso" seconds)" "$(value "$taso" candidates)" \
    "$(value "$taso" max_rel_error)"
done
