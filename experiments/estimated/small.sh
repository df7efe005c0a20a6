#!/usr/bin/env bash
# How far from the optimum do searches stay? On graphs so small that every state can be looked at.
#
#   experiments/estimated/small.sh [--out DIR] [--cost SOURCE] [--expansions N] [--methods FILE] [--tables]
#
# Makes five graphs (one and two fire modules of SqueezeNet, one to three layers of TASO's BERT), searches each exhaustively,
# which must end with every state seen, and runs run.sh on them: the best known of its tables is the optimum. DIR is
# runs/small by default, N 100.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/../options.sh"
out=$root/runs/small
cost=roofline:t4
expansions=100
methods=$here/methods
tables=
read_options "out cost expansions methods" "tables" "$@"
[[ ${#names[@]} -eq 0 ]] || refuse "takes no names"

mkdir -p "$out/models" "$out/optimum"
network() { [[ -s $out/models/$1.onnx ]] || "$reverie" model "$2" --layers "$3" --light --out "$out/models/$1.onnx" >/dev/null; }
for n in 1 2; do network "fire_$n" squeezenet1_1 "$n"; done
for n in 1 2 3; do network "attention_$n" taso_bert "$n"; done
names=(fire_1 fire_2 attention_1 attention_2 attention_3)

for name in "${names[@]}"; do
  run=$out/optimum/$name.json
  [[ ! -s $run ]] || continue
  "$reverie" optimize "$out/models/$name.onnx" --cost "$cost" --method exhaustive --set exhaustive.states=10000000 \
    --set verify_inputs=0 --quiet --json | tail -1 |
    sed 's/^{/{"setting":"optimum",/; s/,"rewrites":.*/}/' >"$run.part"
  grep -q '"optimal":true' "$run.part" || refuse "not every state of $name was seen"
  mv "$run.part" "$run"
done
cat "$out"/optimum/*.json >"$out/optimum.jsonl"
# Rollouts, chains and orders are short here: twenty times as many, of which tables take what N expansions came by.
awk '$3 ~ /^[0-9]+$/ { $3 *= 20 } { print }' "$methods" >"$out/methods"
REVERIE=$reverie exec "$here/run.sh" --models "$out/models" --out "$out" --cost "$cost" --expansions "$expansions" \
  --methods "$out/methods" ${tables:+--tables} "${names[@]}"
