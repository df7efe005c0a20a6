#!/usr/bin/env bash
# TASO's search with TASO's rules on the four graphs of its artifact: time, candidates and memory.
#
#   experiments/search/taso.sh [--models DIR] [--rules FILE] [--out DIR] [--cost SOURCE] [--budget N] [--alpha X] [NAME...]
#
# The rules are the 133 published ones (FILE, graph_subst.pb of the TASO project) and the built-in ones that
# stand for TASO's own 18: convolution with relu, with batch normalization and with a factor per channel
# (soundly; each for every stride and padding), enlarging and merging parallel convolutions, and merging the
# groups of a grouped convolution. They are written to OUT/taso.rules (default runs/taso). Memory is the
# peak of the process when the search ends; `base` is that of a run without any expansion.
set -euo pipefail

source "$(dirname "$0")/../options.sh"
rules=${REVERIE_RULES:-$root/../shared/rules}/graph_subst.pb
out=$root/runs/taso
cost=roofline:t4
budget=100
alpha=1.05
own=(conv_relu conv_batchnorm conv_scale conv_enlarge conv_merge conv_merge_groups)

read_options "models rules out cost budget alpha" "" "$@"
need_models
[[ -f $rules ]] || refuse "there is no file $rules; name TASO's graph_subst.pb by --rules"
[[ ${#names[@]} -gt 0 ]] || names=(nasrnn nasnet_a taso_resnext50 taso_bert)
mkdir -p "$out"
same_settings "$out/taso.rules" "--rules $(sha256sum <"$rules")"

if [[ ! -f $out/taso.rules ]]; then
  "$reverie" rules import "$rules" --out "$out/published.rules" >"$out/import.log"
  { cat "$out/published.rules"; for rule in "${own[@]}"; do "$reverie" rules show "$rule"; done; } \
    >"$out/taso.rules.part"
  mv "$out/taso.rules.part" "$out/taso.rules"
fi

run() {
  "$reverie" optimize "$models/$1.onnx" --method taso --rules "$out/taso.rules" --cost "$cost" \
    --alpha "$alpha" --budget "$2" --set finish=false --quiet --json | tail -1
}

printf '%-15s %10s %11s %9s %13s %8s %8s %13s\n' model expansions candidates seconds candidates/s \
  'peak MB' 'base MB' 'improvement %'
for name in "${names[@]}"; do
  line=$(run "$name" "$budget")
  base=$(run "$name" 0)
  awk -v name="$name" -v expansions="$(number expansions "$line")" \
    -v candidates="$(number candidates "$line")" -v seconds="$(number seconds "$line")" \
    -v peak="$(number peak_memory_bytes "$line")" -v base="$(number peak_memory_bytes "$base")" \
    -v gain="$(number improvement_percent "$line")" 'BEGIN {
      printf "%-15s %10d %11d %9.3f %13.0f %8.1f %8.1f %13.2f\n", name, expansions, candidates,
        seconds, candidates / seconds, peak / 1e6, base / 1e6, gain }'
done
