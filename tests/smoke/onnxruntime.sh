#!/usr/bin/env bash
# ONNX Runtime computes the same from a model and from what `reverie optimize` makes of it, and what it confirms
# as faster `reverie compare` finds no slower. Exit status 77 where the runtime is not installed (tools/setup.sh --ort).
# Usage: onnxruntime.sh REVERIE
set -euo pipefail
reverie=$1
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"
fail() { echo "FAILED: $*" >&2; exit 1; }

"$reverie" model bert_tiny --out bert_tiny.onnx >/dev/null
if ! "$reverie" compare bert_tiny.onnx bert_tiny.onnx --machine ort:off --seconds 0.01 >same.txt 2>err; then
  if grep -q 'ONNX Runtime is not installed' err; then
    echo "skipped: $(cat err)"
    exit 77
  fi
  fail "a model cannot be compared with itself: $(cat err)"
fi
grep -q '0.0e+00  bert_tiny.onnx' same.txt || fail "a model differs from itself: $(cat same.txt)"

agrees() {  # MODEL OPTION... : the result of a search that changes the model agrees with it
  local model=$1
  shift
  "$reverie" model "$model" "$@" --out "$model.onnx" >/dev/null
  "$reverie" optimize "$model.onnx" --method taso --budget 30 --cost roofline:t4 --out "$model-better.onnx" \
    --quiet >table.txt
  ! cmp -s "$model.onnx" "$model-better.onnx" || fail "$model: not changed"
  "$reverie" compare "$model.onnx" "$model-better.onnx" --seconds 0.01 --json | tail -1 >line.txt
  node -e 'const { files } = JSON.parse(require("fs").readFileSync(0));
           process.exit(files.length === 2 && files.every((f) => f.max_rel_error <= 1e-4) ? 0 : 1)' <line.txt ||
    fail "$model: outputs disagree: $(cat line.txt)"
}
agrees squeezenet_small
agrees resnet18 --image 64
agrees bert_tiny

# Without options the runtime confirms: its benchmark is in the line.
"$reverie" optimize bert_tiny.onnx --out best.onnx --time-limit 20 --json --quiet >confirmed.txt
grep -q '^no graph was faster\|^nothing to gain\|^nothing is rewritten\|^verified on' confirmed.txt || fail "no verdict: $(cat confirmed.txt)"
tail -1 confirmed.txt | grep -q '"confirmed":{"device":"[^{]*"library":"onnxruntime ' ||
  fail "nothing was confirmed in the runtime: $(tail -1 confirmed.txt)"
