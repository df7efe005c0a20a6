#!/usr/bin/env bash
# With estimated rewards: all arms of the file `methods` at equal expansions, or at equal time.
#
#   experiments/estimated/run.sh [--models DIR] [--out DIR] [--cost SOURCE] [--expansions N | --seconds S]
#                                [--methods FILE] [--policies DIR] [--jobs N] [--tables] [NAME...]
#
# Every arm has N expansions (default 1000) or S seconds on each model with each of its seeds. A run is
# one line of JSON in OUT/runs (default runs/estimated), those of a setting together OUT/SETTING.jsonl,
# and the same command goes on where it was stopped (experiments/queue.sh). Prints the tables, which go to
# OUT/SETTING.md; --tables alone makes them anew. The best known is that of all settings in OUT. The
# first table lists the graphs on which at least a percentage point lies between greedy and the best known.
# Graphs that are found are not compared with their originals here, which would take most of the time.
# {policy:ARM} in a line of `methods` is the policy of the run of this model, ARM and seed in --policies, a folder that
# learning/run.sh filled (runs/learning/pays); {policy:ARM@NAME}, that of the model NAME.
# --jobs runs so many jobs at a time, at equal expansions only: with a time limit they would disturb each other.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/../options.sh"
out=$root/runs/estimated
cost=roofline:t4
expansions=1000
seconds=
methods=$here/methods
policies=$root/runs/learning/pays
jobs=1
tables=

read_options "models out cost expansions seconds methods policies jobs" "tables" "$@"
need_models
[[ -z $seconds || $jobs == 1 ]] || refuse "runs at equal time must not disturb each other; leave out --jobs"
[[ ${#names[@]} -gt 0 ]] || names=(squeezenet1_1 resnet18 resnet50 inception_v3 bert_base vit_b_16 nasrnn
                                   nasnet_a taso_resnext50)
setting=expansions$expansions
[[ -z $seconds ]] || setting=seconds$seconds

# A job a line for queue.sh: OUTPUT, a tab, COMMAND. A run's line begins with its setting, has the arm's
# name as its method, and is without the rewrites.
jobs_of() {  # ARM SEEDS BUDGET OPTION...
  local arm=$1 first=1 last=$2 budget=$3 limit=0 name seed given policy
  shift 3
  if [[ $last == *-* ]]; then first=${last%-*} last=${last#*-}; fi
  if [[ -n $seconds ]]; then budget=1000000000 limit=$seconds; fi
  [[ $budget != - ]] || return 0
  for name in "${names[@]}"; do
    for ((seed = first; seed <= last; ++seed)); do
      given=${*//\{seed\}/$seed}
      given=${given//\{model\}/$name}
      if [[ $given =~ \{policy:([a-z0-9_]+)(@([A-Za-z0-9_]+))?\} ]]; then
        policy=$(policy_of "$policies/${BASH_REMATCH[3]:-$name}-${BASH_REMATCH[1]}-$seed.json") || exit
        given=${given/"${BASH_REMATCH[0]}"/"'$policy'"}
      fi
      printf "%s\tset -o pipefail; '%s' optimize '%s' --cost '%s' --budget %s --time-limit %s --seed %s %s" \
        "$out/runs/$setting/$name-$arm-$seed.json" "$reverie" "$models/$name.onnx" "$cost" "$budget" \
        "$limit" "$seed" "$given"
      printf ' --set verify_inputs=0 --quiet --json | tail -1 | sed '
      printf "'s/^{/{\"setting\":\"%s\",/; s/\"method\":\"[^\"]*\"/\"method\":\"%s\"/; s/,\"rewrites\":.*/}/'\n" \
        "$setting" "$arm"
    done
  done
}

jobs_list() {
  local line
  grep -v '^#' "$methods" | while read -ra line; do
    [[ ${#line[@]} -eq 0 ]] || jobs_of "${line[@]}"
  done
}

mkdir -p "$out"
if [[ -z $tables ]]; then
  list=$(jobs_list)
  queue -j "$jobs" <<<"$list"
fi
jobs_list | cut -f1 | while read -r file; do [[ ! -e $file ]] || cat "$file"; done >"$out/$setting.jsonl"

summary=("$reverie" summarize "$out"/*.jsonl --where "setting=$setting" --versus greedy)
[[ -n $seconds ]] || summary+=(--at "expansions=$expansions")
"${summary[@]}" --gap-closed | tee "$out/$setting.md"
echo | tee -a "$out/$setting.md"
"${summary[@]}" | tee -a "$out/$setting.md"
axis=expansions
[[ -z $seconds ]] || axis=seconds
"$reverie" summarize "$out"/*.jsonl --where "setting=$setting" --gap-closed --x $axis --log-x \
  --title "Gap between greedy and the best known, closed over $axis" --plot "$out/$setting.html"
