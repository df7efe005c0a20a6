#!/usr/bin/env bash
# experiments/peers without PyTorch: the order of cases, intervals, tables of rows, and what it refuses.
# Usage: peers_table.sh REVERIE
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

fail() { echo "peers_table: $*" >&2; exit 1; }
peers() { "$python" -B "$root/experiments/peers/peers.py" "$@"; }

PYTHONPATH=$root/experiments/peers "$python" -B - <<'END' || fail "rows.py"
import rows

interval = rows.median_interval(range(100, 0, -1))
assert interval == {"median": 50.5, "low": 40, "high": 61}, interval
assert rows.median_interval([3.0]) == {"median": 3, "low": 3, "high": 3}
assert rows.ratios([1, 4, 9], [1, 2, 3]) == {"median": 2, "low": 1, "high": 3}

order = [tuple(case.values()) for case in rows.cases(["a", "b"], [1, 32], rows.PRECISIONS)]
first = [("default", network, batch, precision) for batch, precision in
         ((1, "tf32"), (1, "fp32"), (32, "tf32"), (32, "fp32"), (1, "fp16"), (32, "fp16"))
         for network in ("a", "b")]
assert order == first + [("autotune", *rest) for _, *rest in first], order
assert rows.AUTOTUNE not in rows.contestants({"pass": "default"}, rows.CONTESTANTS)
assert rows.contestants({"pass": "autotune"}, ["ours", rows.AUTOTUNE]) == [rows.AUTOTUNE, "ours"]

rows.append("cut", [{"network": "a"}])
with open("cut", "a") as file:
    file.write('{"network": ')
rows.append("cut", [{"network": "b"}])
assert [row["network"] for row in rows.read("cut").values()] == ["a", "b"]
rows.append("cut", [{"network": "b", "again": 1}])
assert [row["network"] for row in rows.read("cut").values()] == ["a", "b"]
assert rows.read("cut")[rows.key({"network": "b"})]["again"] == 1 and rows.read("none") == {}
END

row() {  # NETWORK CONTESTANT MS RATIO_TO_COMPILE LOW HIGH [MORE]
  printf '{"device":"card","pass":"%s","network":"%s","batch":1,"precision":"tf32","contestant":"%s",' "${pass:-default}" "$1" "$2"
  printf '"ms":{"median":%s,"low":1,"high":1},"to_compile":{"median":%s,"low":%s,"high":%s}%s}\n' "${@:3:4}" "${7-}"
}
failed() {  # NETWORK CONTESTANT REASON
  printf '{"device":"card","pass":"default","network":"%s","batch":1,"precision":"tf32","contestant":"%s","failure":"%s"}\n' "$@"
}
{
  row a compile 2 1 1 1 ',"compile_seconds":7.25,"max_error":0.001,"torch":"PyTorch 9"'
  row a ours 3 1.5 1.4 1.6
  row a ours_beam 1 0.5 0.4 0.6 ',"max_error":0.002,"machine":"card, tf32"'
  row b compile 2 1 1 1
  row b ours 1.9 0.95 0.9 1.1
  row c compile 2 1 1 1
  row c ours 4 2 1.9 2.1 ',"no_graph":"it synchronizes"'
  failed c ours_beam 'no such rule'
  failed d eager 'no memory'
  failed d ours 'no memory'
  pass=autotune row a compile_autotune 2 1 1 1
} >peers.jsonl
peers --table peers.jsonl >table.md
for text in '## card: batch 1, tf32' \
  '| a | - | 2.000 | 3.000 | 1.000 | ours_beam | 0.500 (0.400 to 0.600) | - | 1.0e-03 | 2.0e-03 | 7.2 |' \
  '| d | - | - | - | - | - | - | - | - | - | - |' \
  'Ours is faster than torch.compile on 1 of 4 networks, slower on 1, beyond the interval of the ratio.' \
  'Ours is faster than torch.compile with max-autotune on 0 of 1 networks' \
  '- ours_beam failed on c/1/tf32: no such rule' '- ours failed on d/1/tf32: no memory' \
  '- ours ran launch by launch on c/1/tf32: it synchronizes' '- PyTorch 9' '- card, tf32'; do
  grep -qF -- "$text" table.md || fail "the table lacks $text: $(cat table.md)"
done

refused() {  # WORDS ARGUMENT...
  local status=0
  REVERIE=$directory/none/reverie peers "${@:2}" >said.txt 2>&1 || status=$?
  [[ $status -eq 2 && $(tail -1 said.txt) == *"$1"* ]] || fail "${*:2} ended with $status: $(cat said.txt)"
}
refused 'there are no rows' --table none.jsonl
refused 'libreverie_run.so is not there' --dry-run
refused 'no alexnet; there are squeezenet1_1,' --networks alexnet
