#!/usr/bin/env bash
# Searches against end-to-end measurements on this machine's CPU: models x arms x budgets x seeds.
#
#   experiments/measured/run.sh [--models DIR] [--out DIR] [--arms LIST] [--budgets LIST] [--seeds LIST]
#                               [--sittings N] [--seconds S] [--policies DIR] [--set KEY=VALUE]... [--tables]
#                               [NAME...]
#
# A run is a file OUT/runs/MODEL-ARM-BUDGET-SEED.json (OUT: runs/measured) with one line of JSON; runs that
# are there are not repeated, so that the same command goes on where it was stopped. At the end all of them
# are in OUT/measured.jsonl, and a table for each budget is printed. --tables: only that. LISTs are comma
# separated; arms, fields and times are in README.md beside this file. N: sittings of the contest at the end
# (default 30), S: at most so many seconds of it. An arm policy_ARM takes the policy of the run of this model, ARM and
# seed in --policies, a folder that learning/run.sh --cost cpu filled (runs/learning/pays). NAMEs: models, by default squeezenet1_1, resnet18 and
# taso_bert. Nothing else may run meanwhile.
set -euo pipefail

source "$(dirname "$0")/../options.sh"
out=$root/runs/measured
arms=surrogate,surrogate_operators,beam,taso,rulelist,random
budgets=50,100
seeds=1,2,3,4,5
sittings=30
seconds=120
policies=$root/runs/learning/pays
set=()
tables=

read_options "models out arms budgets seeds sittings seconds policies set" "tables" "$@"
need_models
[[ ${#names[@]} -gt 0 ]] || names=(squeezenet1_1 resnet18 taso_bert)

# The method of an arm, and where its costs come from. roofline:cpu needs no operator measured.
options_of() {  # ARM MODEL SEED
  local run=$policies/$2-${1#policy_}-$3.json
  case $1 in
    policy_*)
      [[ -f $run ]] || refuse "there is no run $run; make it with learning/run.sh --cost cpu"
      echo "--method policy --policy $(grep -o '"policy_out":"[^"]*"' "$run" | cut -d'"' -f4)/policy.pt --cost cpu" ;;
    surrogate|random) echo "--method $1 --cost roofline:cpu" ;;
    surrogate_operators) echo "--method surrogate --cost cpu" ;;
    beam|taso|greedy|rulelist) echo "--method $1 --cost cpu" ;;
    *) refuse "no arm $1" ;;
  esac
}

# A job a line for queue.sh: OUTPUT, a tab, COMMAND. A run's method is its arm, its source of costs a prior.
job() {  # MODEL ARM BUDGET SEED
  local extra= setting options
  options=$(options_of "$2" "$1" "$4") || exit
  for setting in ${set[@]+"${set[@]}"}; do extra+=" --set '$setting'"; done
  printf "%s\tset -o pipefail; '%s' optimize '%s' %s --measurements %s --seed %s --confirm --contenders 1" \
    "$out/runs/$1-$2-$3-$4.json" "$reverie" "$models/$1.onnx" "$options" "$3" "$4"
  printf ' --set confirm_sittings=%s --set confirm_seconds=%s --set verify_inputs=1%s --quiet --json | tail -1' \
    "$sittings" "$seconds" "$extra"
  printf " | sed 's/\"method\":\"[^\"]*\"/\"method\":\"%s\"/; s/\"cost_source\":/\"prior\":/'\n" "$2"
}

jobs_list() {
  local name budget seed arm
  for name in "${names[@]}"; do
    for budget in ${budgets//,/ }; do
      for seed in ${seeds//,/ }; do
        for arm in ${arms//,/ }; do job "$name" "$arm" "$budget" "$seed"; done
      done
    done
  done
}

mkdir -p "$out/runs"
if [[ -z $tables ]]; then
  jobs=$(jobs_list)  # refused before any runs
  "$root/experiments/queue.sh" <<<"$jobs"
fi
cat "$out"/runs/*.json >"$out/measured.jsonl"
for budget in ${budgets//,/ }; do
  echo "Budget $budget: gain of the chosen graph end to end, percent"
  "$reverie" summarize "$out/measured.jsonl" --where "budget=$budget" --metric endpoint_gain_percent \
    --versus "${arms%%,*}"
  echo
done
