#!/usr/bin/env bash
# experiments/peers on the processor: rows of two networks, going on, and what fails: a contestant, and the process.
# Exit status 77 where Python has no PyTorch ($PYTHON names another). Usage: peers.sh REVERIE
set -euo pipefail

reverie=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
export PYTHON=${PYTHON:-python3}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

fail() { echo "peers: $*" >&2; exit 1; }
"$PYTHON" -c 'import torch, torchvision' 2>err || { echo "skipped: $PYTHON: $(tail -1 err)"; exit 77; }

"$PYTHON" -B "$root/tests/smoke/peers_gpu.py" "$root/experiments/peers" || fail "what needs a GPU"

# The program, which fails at one method and ends its caller at another, once.
ln -s "$(dirname "$reverie")/libreverie_run.so" .
cat >reverie <<END
#!/usr/bin/env bash
case "\$*" in
  *' beam '*) echo 'no beam today' >&2; exit 2 ;;
  *' rulelist '*) [[ -e died ]] || { touch died; kill -SEGV \$PPID; } ;;
esac
exec "$reverie" "\$@"
END
chmod +x reverie
export REVERIE=$directory/reverie OMP_NUM_THREADS=1

check() { "$root/tools/gpu_check.sh" peers --dry-run --out out --build "$directory" -- "$@" >said.txt 2>&1; }
rows() { grep -c "$1" out/peers/peers.jsonl || true; }

check --networks nasrnn,squeezenet1_1 --batches 1 --precisions tf32 --search 5 || fail "$(cat said.txt)"
[[ $(rows '"pass": "default"') -eq 14 && $(rows '"pass": "autotune"') -eq 16 ]] || fail "rows: $(cat out/peers/peers.jsonl)"
[[ $(rows 'the process ended with SIGSEGV') -eq 7 ]] || fail "a process that dies: $(cat said.txt)"
[[ $(rows 'reverie optimize: no beam today') -eq 3 ]] || fail "a contestant that fails: $(cat said.txt)"
grep -q '"network": "squeezenet1_1".*"contestant": "ours_saturation_ilp".*"ms".*"to_eager"' out/peers/peers.jsonl ||
  fail "nothing is timed: $(cat said.txt)"
"$PYTHON" - <<'END' || fail "errors: $(cat out/peers/peers.jsonl)"
import json
rows = [json.loads(line) for line in open("out/peers/peers.jsonl")]
errors = [row["max_error"] for row in rows if "ms" in row]
assert len(errors) > 10 and max(errors) < 1e-4, errors
END
grep -q '^| nasrnn | ' out/peers.md || fail "the table: $(cat out/peers.md)"

# It goes on with what is not there, and with no more.
cp out/peers/peers.jsonl before.jsonl
check --networks nasrnn,squeezenet1_1 --batches 1 --precisions tf32 || fail "$(cat said.txt)"
cmp -s before.jsonl out/peers/peers.jsonl || fail "what is done is done again"
sed -i '/SIGSEGV/d' out/peers/peers.jsonl
check --networks nasrnn,squeezenet1_1 --batches 1 --precisions tf32 || fail "$(cat said.txt)"
[[ $(rows '"pass": "default"') -eq 14 && $(rows SIGSEGV) -eq 0 ]] || fail "what was taken out is not done again"

# Out of time, and nothing is lost or half done.
status=0
check --networks resnet18 --batches 2 --precisions fp16 --seconds 1 || status=$?
[[ $status -eq 3 && $(rows resnet18) -eq 0 ]] || fail "out of time it ended with $status: $(cat said.txt)"
