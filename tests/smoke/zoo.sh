#!/usr/bin/env bash
# experiments/runtimes/zoo.py makes a model of the zoo, has it optimized, runs both files in ONNX Runtime and writes
# its table; a model that stands there is not run again, and a file that computes something else is found out.
# Exit status 77 where node or ONNX Runtime is missing (tools/setup.sh --ort).
# Usage: zoo.sh REVERIE
set -euo pipefail
export REVERIE=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
export REVERIE_ORT=${REVERIE_ORT:-$(dirname "$root")/reverie-ort}
[[ -d $REVERIE_ORT/node_modules/onnxruntime-node ]] || { echo "skipped: no ONNX Runtime in $REVERIE_ORT"; exit 77; }
command -v node >/dev/null || { echo "skipped: no node"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

zoo() { "$root/experiments/runtimes/zoo.py" --out "$here" --rounds 6 --seconds 0 "$@" 2>/dev/null; }
fails() { echo "FAILED: $*"; exit 1; }

zoo mlp -- --method greedy --cost roofline:cpu >"$here/table"
grep -q '^| mlp | yes |' "$here/table" || fails "mlp has no row"
grep -q '^1 of 1 accepted' "$here/table" || fails "mlp was not accepted"
grep -q '^disagree: none' "$here/table" || fails "mlp disagrees"
zoo mlp >/dev/null
[[ $(wc -l <"$here/results.jsonl") -eq 1 ]] || fails "mlp ran twice"

# A program that gives out a network of other weights for an optimized one.
cat >"$here/other" <<OTHER
#!/usr/bin/env bash
if [[ \$1 != optimize ]]; then exec "$REVERIE" "\$@"; fi
"$REVERIE" model zoo/mlp --seed 7 --out "\$4" >/dev/null
OTHER
chmod +x "$here/other"
rm "$here/results.jsonl"
REVERIE=$here/other zoo mlp >"$here/table"
grep -q '^disagree: mlp' "$here/table" || fails "other weights agree"
echo "zoo.py: all as it should be"
