#!/usr/bin/env bash
# A policy from the latent dream, with BUDGET end-to-end measurements in all. Prints a line of JSON.
#
#   experiments/measured/dream.sh MODEL DIRECTORY ARM BUDGET FIRST SEED [OPTION]...
#
# FIRST of the measurements go to `surrogate`, which leaves costs of operators fitted to them. With rewards by these costs (where
# FIRST is 0: by roofline:cpu), for which nothing is measured, ARM of learning/pays.arms is trained. What its policy comes by is
# measured with the rest of BUDGET; OPTIONs are for this last `optimize`. Steps that are there are not made anew.
set -euo pipefail

source "$(dirname "$0")/../options.sh"
[[ $# -ge 6 ]] || refuse "usage: dream.sh MODEL DIRECTORY ARM BUDGET FIRST SEED [OPTION]..."
model=$1 directory=$2/$5-$6 arm=$3 budget=$4 first=$5 seed=$6
shift 6
name=$(basename "$model" .onnx) cost=roofline:cpu fitted='{"end_to_end_measurements":0,"found_gain_percent":0,"seconds":0}'
mkdir -p "$directory"

if [[ $first -gt 0 ]]; then
  fit=$directory/$name.fit
  if [[ ! -s $fit.json ]]; then
    "$reverie" optimize "$model" --method surrogate --measurements "$first" --seed "$seed" --cost "$cost" \
      --set verify_inputs=0 --fit-out "$fit" --quiet --json | tail -1 >"$fit.json.part"
    mv "$fit.json.part" "$fit.json"
  fi
  cost=fitted:$fit fitted=$(sed 's/"trace":\[[^]]*\],//' "$fit.json")
fi
"$root/experiments/learning/run.sh" pays --only "$arm" --versus "$arm" --models "$(dirname "$model")" --out "$directory" \
  --cost "$cost" --seeds "$seed" "$name" >&2
learned=$(<"$directory/pays/$name-$arm-$seed.json")
policy=$(policy_of "$directory/pays/$name-$arm-$seed.json")
line=$("$reverie" optimize "$model" --method policy --policy "$policy" --cost "$cost" \
         --measurements $((budget - first)) --seed "$seed" --quiet --json "$@" | tail -1)
spent=$(($(number end_to_end_measurements "$fitted") + $(number end_to_end_measurements "$line")))
line=$(sed 's/"budget":[0-9]*/"budget":'"$budget"'/; s/"end_to_end_measurements":[0-9]*/"end_to_end_measurements":'"$spent"'/' <<<"$line")
printf '%s,"fit_gain_percent":%s,"fit_seconds":%s,"vae_seconds":%s,"mdnrnn_seconds":%s,"policy_seconds":%s}\n' "${line%\}}" \
  "$(number found_gain_percent "$fitted")" "$(number seconds "$fitted")" "$(number vae_seconds "$learned")" \
  "$(number mdnrnn_seconds "$learned")" "$(number policy_seconds "$learned")"
