#!/usr/bin/env bash
# What is left to gain for a person who already has a good runtime: ONNX Runtime runs models and what
# `reverie optimize` makes of them, its own optimizer off and on, on one thread.
#
#   experiments/runtimes/run.sh [--models DIR] [--out DIR] [--costs LIST] [--method NAME]
#                               [--contenders N] [--seconds S] [--prepare] [NAME...]
#
# Light models in DIR get random weights. Each is optimized by every cost source of LIST (comma
# separated), once with all rules and once without those that stand in the runtime's way. N graphs of each
# search, and what the plans below make of the model, run against the original (`reverie compare`), and what is
# faster beyond its 95% interval is kept in OUT/best, the original otherwise. Results: OUT/results.jsonl, a
# line per model and setting, those that stand there already are not repeated; OUT/results.md, the table.
# ONNX Runtime comes from `tools/setup.sh --ort`. --prepare stops before anything runs, and what it wrote is not made
# anew. All twelve models take about an hour.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/../options.sh"
out=$root/runs/runtimes
costs=cpu,roofline:t4
method=rulelist
contenders=2
seconds=60
prepare=

read_options "models out costs method contenders seconds" "prepare" "$@"
need_models
[[ ${#names[@]} -gt 0 ]] || mapfile -t names < <(all_models)
trap 'exit 130' INT TERM HUP  # a search that is interrupted ends well, with what it has
mkdir -p "$out/models" "$out/best"
results=$out/results.jsonl
same_settings "$results" "--models $models --costs $costs --method $method --contenders $contenders --seconds $seconds"
touch "$results"

declare -A machine_of=([disabled]=ort:off [all]=ort)

known() { grep -qF "{\"model\":\"$1\",\"level\":\"$2\"" "$results"; }

# Rules that stand in the way of what the runtime does itself: those that merge convolutions, as it has
# no Split in the blocked layout of its convolutions and leaves that layout around each; and those that
# move constant factors, as it knows Gelu (and with it the bias before) by the constants in it.
fusing=()
for rule in conv_merge conv_merge_grouped conv_enlarge 'matmul_scale_*' transpose_scale reshape_scale \
            div_constant sub_constant mul_constant_outwards mul_mul_constant mul_associate \
            mul_distribute pow_two; do
  fusing+=(--without "$rule")
done

# Plans: rules applied wherever they match, in this order, whatever a sum of operators says of them. They are
# there because of what this runtime does well (runtime.rules), and the contest is what judges them.
splits="split_of_split_first split_of_split_second"
pools="average_pool_pad average_pool_conv"
concats="conv_of_concat_first concat_single"
plans=(
  "pools $pools"
  "depthwise $pools average_pool_as_conv conv_sum_weights"
  "concats $pools $concats"
  "depthwise-concats $pools average_pool_as_conv conv_sum_weights $concats"
  "merge matmul_merge $splits"
  "gemm matmul_add_as_gemm matmul_as_gemm"
  "merge-gemm matmul_sum_merge $splits matmul_add_as_gemm matmul_as_gemm"
  "bias matmul_add_bias"
  "rows matmul_add_bias matmul_rows_as_gemm"
)

# plan_into FOLDER MODEL RULE...
plan_into() {
  local folder=$1 model=$2 taken
  shift 2
  [[ -e $folder/done ]] && return
  mkdir -p "$folder"
  taken=$("$reverie" rules apply "$model" "$@" --rules builtin --rules "$here/runtime.rules" \
            --out "$folder/1.onnx" --json)
  [[ $taken != *'"taken":{}'* ]] || rm "$folder/1.onnx"
  touch "$folder/done"
}

# optimize_into FOLDER MODEL COST OPTION...
optimize_into() {
  local folder=$1 model=$2 cost=$3
  shift 3
  [[ -e $folder/done ]] && return
  "$reverie" optimize "$model" --method "$method" --cost "$cost" --contenders "$contenders" \
    --contenders-out "$folder" --set verify_inputs=1 --quiet "$@" >"$out/optimize.log"
  mkdir -p "$folder" && touch "$folder/done"
}

# Writes the graphs that are to run against model $1, and prints their files, equal ones once.
contenders_of() {
  local folder=$out/contenders/$1 cost into plan words
  declare -A seen=()
  for cost in ${costs//,/ }; do
    case $cost in table:*) into=$folder/table ;; *) into=$folder/${cost/:/-} ;; esac
    optimize_into "$into" "$out/models/$1.onnx" "$cost"
    optimize_into "$into-fusing" "$out/models/$1.onnx" "$cost" "${fusing[@]}"
  done
  for plan in "${plans[@]}"; do
    read -ra words <<<"$plan"
    plan_into "$folder/${words[0]}" "$out/models/$1.onnx" "${words[@]:1}"
  done
  for file in "$folder"/*/*.onnx; do
    [[ -e $file ]] || continue
    local content
    content=$(sha256sum <"$file")
    [[ -n ${seen[$content]:-} ]] || echo "$file"
    seen[$content]=1
  done
}

# Keeps what won model $1's line with the optimizer on.
keep_best() {
  local winner
  winner=$(grep -F "{\"model\":\"$1\",\"level\":\"all\"" "$results" | tail -1 |
             node -e 'const { found } = JSON.parse(require("fs").readFileSync(0)); console.log(found.files[found.winner].file)')
  cp "$winner" "$out/best/$1.onnx"
}

for name in "${names[@]}"; do
  known "$name" disabled && known "$name" all && continue
  [[ -e $out/models/$name.onnx ]] ||
    "$reverie" model --fill "$models/$name.onnx" --out "$out/models/$name.onnx" >/dev/null
  contenders_of "$name" >"$out/files"
  mapfile -t files <"$out/files"
  [[ -n $prepare ]] && continue
  for level in disabled all; do
    known "$name" "$level" && continue
    echo "$name, optimizer $level: ${#files[@]} contenders" >&2
    "$reverie" compare "$out/models/$name.onnx" "${files[@]}" --machine "${machine_of[$level]}" \
      --seconds "$seconds" --json | tail -1 >"$out/line"
    echo "{\"model\":\"$name\",\"level\":\"$level\",\"found\":$(<"$out/line")}" >>"$results"
  done
  keep_best "$name"
  rm -rf "$out/contenders/$name" "$out/models/$name.onnx"
done
[[ -n $prepare ]] && exit
node "$here/table.mjs" "$results" | tee "$out/results.md"
