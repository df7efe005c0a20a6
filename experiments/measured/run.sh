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

here=$(cd "$(dirname "$0")" && pwd)
source "$here/../options.sh"
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

# What an arm runs up to its budget, and where its costs come from. roofline:cpu needs no operator measured.
command_of() {  # MODEL ARM BUDGET SEED
  local optimize="'$reverie' optimize '$models/$1.onnx' --measurements $3 --seed $4 --quiet --json"
  local policy
  case $2 in
    dream_*) echo "REVERIE='$reverie' '$here/dream.sh' '$models/$1.onnx' '$out/dreams' ${2#dream_} $3 $(($3 / 2)) $4" ;;
    prior_*) echo "REVERIE='$reverie' '$here/dream.sh' '$models/$1.onnx' '$out/dreams' ${2#prior_} $3 0 $4" ;;
    policy_*)
      policy=$(policy_of "$policies/$1-${2#policy_}-$4.json" cpu) || exit
      echo "$optimize --method policy --policy '$policy' --cost cpu" ;;
    symbolic) echo "REVERIE='$reverie' '$here/dream.sh' '$models/$1.onnx' '$out/dreams' model_free_scratch $3 $(($3 / 2)) $4" ;;
    model_free) echo "$optimize --method ppo --set ppo.network=candidates --cost roofline:cpu" ;;
    model_free_graph) echo "$optimize --method ppo --cost roofline:cpu" ;;
    model_free_shaped) echo "$optimize --method ppo --set ppo.network=candidates --set ppo.shaped=true --set ppo.ppo.learning_rate=0.001 --set ppo.ppo.minibatch=32 --cost roofline:cpu" ;;
    surrogate|random) echo "$optimize --method $2 --cost roofline:cpu" ;;
    surrogate_operators) echo "$optimize --method surrogate --cost cpu" ;;
    beam|taso|greedy|rulelist) echo "$optimize --method $2 --cost cpu" ;;
    *) refuse "no arm $2" ;;
  esac
}

# A job a line for queue.sh: OUTPUT, a tab, COMMAND. A run's method is its arm, its source of costs a prior.
job() {  # MODEL ARM BUDGET SEED
  local extra= setting command
  command=$(command_of "$@") || exit
  for setting in ${set[@]+"${set[@]}"}; do extra+=" --set '$setting'"; done
  printf '%s\tset -o pipefail; %s --confirm --contenders 1 --set confirm_sittings=%s --set confirm_seconds=%s' \
    "$out/runs/$1-$2-$3-$4.json" "$command" "$sittings" "$seconds"
  printf ' --set verify_inputs=1%s | tail -1' "$extra"
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
  queue <<<"$jobs"
fi
cat "$out"/runs/*.json >"$out/measured.jsonl"
for budget in ${budgets//,/ }; do
  echo "Budget $budget: gain of the chosen graph end to end, percent"
  "$reverie" summarize "$out/measured.jsonl" --where "budget=$budget" --metric endpoint_gain_percent \
    --versus "${arms%%,*}"
  echo
done
