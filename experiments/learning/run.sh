#!/usr/bin/env bash
# Trains every arm of a file on every model with every seed, and tells what its policy reaches for real.
#
#   experiments/learning/run.sh ARMS [--models DIR] [--out DIR] [--cost SOURCE] [--seeds LIST] [--jobs N]
#                               [--only LIST] [--train LIST] [--size large] [--device cuda] [--versus ARM]
#                               [--tables] [NAME...]
#
# ARMS is a file of this folder (without .arms) or any other: a line has an arm's name and settings of the five
# steps, KEY=VALUE; settings of the arm `*` hold for all below unless an arm says otherwise. A step is run once for all arms
# that agree in it and in what comes before (steps.sh). A run is one line of JSON in OUT/ARMS (OUT: runs/learning),
# all of them OUT/ARMS.jsonl; the same command goes on where it was stopped, in the middle of a step too. At the
# end the tables are printed; --tables: only that. LIST is comma separated (1,2,3,4,5). NAMEs: models, by default
# squeezenet1_1. --only: some of the arms. --train: learn on the models of this list instead, and play on NAMEs. N jobs run at a time.
# --size large: the settings of the arm `*large` hold for all too, instead of those of `*`. --device: where V, M and C learn.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/../options.sh"
out=$root/runs/learning
cost=roofline:t4
seeds=1,2,3,4,5
jobs=1
only=
train=
size=
device=cpu
versus=
tables=
read_options "models out cost seeds jobs only train size device versus" "tables" "$@"
need_models
[[ ${#names[@]} -gt 0 ]] || refuse "name a file of arms (see --help)"
arms=${names[0]}
names=("${names[@]:1}")
[[ ${#names[@]} -gt 0 ]] || names=(squeezenet1_1)
[[ -f $arms ]] || arms=$here/$arms.arms
[[ -f $arms ]] || refuse "there is no file of arms $arms"
[[ -z $size ]] || grep -q "^\*$size " "$arms" || refuse "$arms has no arm *$size, and so no such size"
setting=$(basename "$arms" .arms)${size:+-$size}
[[ -z $train ]] || setting+=-from-${train//,/-}

known=$(awk '!/^[#*]/ && NF { print $1 }' "$arms")
for arm in ${only//,/ }; do
  grep -qxF -- "$arm" <<<"$known" || refuse "--only $arm: $arms has no such arm; it has $(paste -sd ' ' <<<"$known")"
done

# The files of models, separated by commas.
files_of() { local name; for name in "$@"; do printf '%s\n' "$models/$name.onnx"; done | paste -sd,; }

# A job a line for queue.sh: OUTPUT, a tab, COMMAND.
jobs_list() {
  local common= arm settings name seed
  while read -r arm settings; do
    [[ -n $arm && $arm != \#* ]] || continue
    if [[ $arm == \** ]]; then
      [[ $arm != "*" && $arm != "*$size" ]] || common+=" $settings"
      continue
    fi
    [[ -z $only || ,$only, == *,$arm,* ]] || continue
    for name in "${names[@]}"; do
      for seed in ${seeds//,/ }; do
        printf "%s\tREVERIE='%s' DEVICE='%s' '%s/steps.sh' '%s' '%s' '%s' '%s' %s 'env.cost=%s' %s %s\n" \
          "$out/$setting/$name-$arm-$seed.json" "$reverie" "$device" "$here" "$models/$name.onnx" \
          "$(files_of $(tr , " " <<<"${train:-$name}"))" "$out/steps" "$arm" "$seed" "$cost" "$common" "$settings"
      done
    done
  done <"$arms"
}

mkdir -p "$out"
if [[ -z $tables ]]; then
  list=$(jobs_list)
  queue -j "$jobs" <<<"$list"
fi
jobs_list | cut -f1 | while read -r file; do [[ ! -e $file ]] || cat "$file"; done >"$out/$setting.jsonl"

[[ -n $versus ]] || versus=${only%%,*}
[[ -n $versus ]] || versus=${known%%$'\n'*}
table() {
  if grep -q "\"$1\":" "$out/$setting.jsonl"; then
    "$reverie" summarize "$out/$setting.jsonl" --versus "$versus" --metric "$@"
    echo
  fi
}
table improvement_percent
table policy_greedy_improvement
table policy_sampled_improvement
table policy_phantom_share --lower-is-better
table real_steps --lower-is-better
