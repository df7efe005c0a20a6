#!/usr/bin/env bash
# Plays policies on the model that they were trained on, with input shapes and widths that they never saw.
#
#   experiments/learning/shapes.sh [--out DIR] [--policies DIR] [--arm ARM] [--cost SOURCE] [--seeds LIST] [--variants]
#                                  [--tables] [VARIANT...]
#
# A VARIANT is the name of a built-in network and its sizes, as `reverie model` has them: squeezenet1_1,image=160 (by
# default seven of squeezenet1_1). Its policies are those of ARM (lean) and each seed in --policies, a folder that `run.sh pays
# --only lean` filled (runs/learning/pays). Greedy search, TASO's search, saturation, random rule lists (100 expansions or
# orders) and 16 episodes of each policy are compared, a line of JSON a run in OUT (runs/learning/shapes), all of them in
# OUT.jsonl. --variants: only makes the variants, OUT/*.onnx. --tables: only the tables.
set -euo pipefail

source "$(dirname "$0")/../options.sh"
out=$root/runs/learning/shapes
policies=$root/runs/learning/pays
arm=lean
cost=roofline:t4
seeds=1,2,3,4,5
variants=
tables=
read_options "out policies arm cost seeds" "variants tables" "$@"
[[ ${#names[@]} -gt 0 ]] || names=(squeezenet1_1,image={224,64,128,320,512} squeezenet1_1,width={0.5,2})

file_of() { echo "$out/${1//[,=]/-}.onnx"; }  # VARIANT

make_variants() {
  local variant sizes
  for variant in "${names[@]}"; do
    sizes=${variant#"${variant%%,*}"}
    [[ -s $(file_of "$variant") ]] ||
      "$reverie" model "${variant%%,*}" --light ${sizes//,/ --} --out "$(file_of "$variant")" >&2
  done
}

jobs_list() {
  local variant name file policy seed method
  for variant in "${names[@]}"; do
    name=${variant%%,*} file=$(file_of "$variant")
    for seed in ${seeds//,/ }; do
      for method in greedy taso saturation_ilp rulelist "$arm"; do
        [[ $method == "$arm" || $method == rulelist || $seed == "${seeds%%,*}" ]] || continue
        printf "%s\tset -o pipefail; '%s' optimize '%s' --cost '%s' --seed %s --set verify_inputs=0 --quiet --json" \
          "${file%.onnx}-$method-$seed.json" "$reverie" "$file" "$cost" "$seed"
        if [[ $method == "$arm" ]]; then
          policy=$(policy_of "$policies/$name-$arm-$seed.json") || exit
          printf " --method policy --budget 16 --policy '%s'" "$policy"
        else
          printf " --method %s --budget 100" "$method"
        fi
        printf " | tail -1 | sed 's/\"method\":\"[^\"]*\"/\"method\":\"%s\"/'\n" "$method"
      done
    done
  done
}

mkdir -p "$out"
[[ -n $tables ]] || make_variants
[[ -z $variants ]] || exit 0
if [[ -z $tables ]]; then
  jobs=$(jobs_list)
  queue <<<"$jobs"
fi
cat "$out"/*.json >"$out.jsonl"
"$reverie" summarize "$out.jsonl" --versus greedy
"$reverie" summarize "$out.jsonl" --versus greedy --gap-closed
