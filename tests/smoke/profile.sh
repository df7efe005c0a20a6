#!/usr/bin/env bash
# Operators are listed, measured, gone on with, and searched with; what is wrong is one line and status 2.
set -euo pipefail

reverie=$(realpath "$1")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

fail() { echo "profile: $*" >&2; exit 1; }
refused() {  # TEXT COMMAND...
  local expected=$1 said status=0
  shift
  said=$("$@" 2>&1 >/dev/null) || status=$?
  [[ $status -eq 2 && $said == *"$expected"* && $(wc -l <<<"$said") -eq 1 ]] ||
    fail "$* ended with status $status and said: $said"
}

"$reverie" model bert_tiny --layers 1 --out model.onnx >/dev/null
"$reverie" profile model.onnx --search-depth 0 --list --out few.txt --quiet >/dev/null
"$reverie" profile model.onnx --search-depth 2 --list --out many.txt --quiet >/dev/null
[[ $(comm -23 few.txt many.txt | wc -l) -eq 0 ]] || fail "depth 2 lacks operators of depth 0"
[[ $(wc -l <many.txt) -gt $(wc -l <few.txt) ]] || fail "rewriting reaches nothing"

"$reverie" profile --from few.txt --out costs.h5 --quiet >/dev/null
line=$("$reverie" profile --from many.txt --out costs.h5 --quiet --json | tail -1)
[[ $line == *"\"known\":$(wc -l <few.txt),"* && $line == *'"complete":true'* ]] || fail "measured anew: $line"
"$reverie" optimize model.onnx --cost table:costs.h5 --method greedy --quiet --json | tail -1 >found.json
grep -q '"estimates":0' found.json || fail "not from the table: $(grep -o '"estimates":[0-9]*' found.json)"

refused "or by --from a list" "$reverie" profile --out costs.h5
refused "--out TABLE" "$reverie" profile --from few.txt
refused "nowhere/costs.h5: cannot be written" "$reverie" profile --from few.txt --out nowhere/costs.h5
echo "Relu(float32" >wrong.txt
refused "wrong.txt: line 1:" "$reverie" profile --from wrong.txt --out costs.h5
refused "no machine 'gpu'" "$reverie" profile --from few.txt --out costs.h5 --cost gpu
