#!/usr/bin/env bash
# Optimizes every model by every search and prints the tables.
#
#   experiments/search/table.sh [--models DIR] [--out DIR] [--cost SOURCE] [--seconds S] [--budget N]
#                               [--seed N] [--methods LIST] [--set KEY=VALUE]... [NAME...]
#
# Every method has S seconds (default 10; 0: no limit) and N units of its own budget (default: more
# than fit into that time). One line of JSON per run goes to a file in OUT (default runs/search) named
# by cost, seconds, budget, seed and settings; runs that stand there already are not repeated, so that
# the same command goes on where it was stopped. The tables are Markdown. LIST is comma separated,
# default: all but random. What the other files in OUT say of the same cost source counts as best
# known, too. Twelve models take about half an hour at the defaults.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/../options.sh"
out=$root/runs/search
cost=roofline:t4
seconds=10
budget=
seed=1
methods=greedy,taso_published,taso,beam,mcts,annealing,softmax,rulelist,rulelist_cmaes
methods+=,saturation_greedy,saturation_ilp
set=()

read_options "models out cost seconds budget seed methods set" "" "$@"
need_models
if [[ -z $budget ]]; then
  budget=100
  [[ $seconds == 0 ]] || budget=1000000000
fi
[[ ${#names[@]} -gt 0 ]] || mapfile -t names < <(all_models)
mkdir -p "$out"
file_word() { tr -c 'A-Za-z0-9._=\n' '-' <<<"$1"; }
label=seconds$seconds-budget$budget-seed$seed
for setting in ${set[@]+"${set[@]}"}; do label+=-$setting; done
results=$out/$(file_word "$cost")-$(file_word "$label").jsonl
same_settings "$results" "--models $models"
touch "$results"

has_run() { grep -F "/$1.onnx\",\"method\":\"$2\"" "$results" | grep -q '}$'; }

extra=()
for setting in ${set[@]+"${set[@]}"}; do extra+=(--set "$setting"); done
for name in "${names[@]}"; do
  for method in ${methods//,/ }; do
    has_run "$name" "$method" && continue
    line=$("$reverie" optimize "$models/$name.onnx" --method "$method" --cost "$cost" \
             --time-limit "$seconds" --budget "$budget" --seed "$seed" --quiet --json \
             ${extra[@]+"${extra[@]}"} | tail -1)
    echo "$line" >>"$results"
    echo "$name: $method" >&2
  done
done

# Every file in OUT that is about this cost source; the one of this call comes last.
others=()
for file in "$out/$(file_word "$cost")"-seconds*.jsonl; do
  [[ $file == "$results" ]] || others+=("$file")
done
awk -v names="${names[*]}" -v methods="${methods//,/ }" -v results="$results" \
  -f "$here/table.awk" ${others[@]+"${others[@]}"} "$results"
