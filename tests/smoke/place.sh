#!/usr/bin/env bash
# reverie place: two chains go to two devices; memory, equal seeds, and wrong input.
# Usage: place.sh REVERIE
source "$(dirname "$0")/../support/smoke.sh"

cat >graph.json <<'JSON'
{"format": "placement-graph/1", "name": "chains",
 "nodes": [
  {"id": 0, "name": "a", "op": "x", "cost_us": {"v100": 10, "cpu": 50}, "persistent_bytes": 1000},
  {"id": 1, "name": "b", "op": "x", "cost_us": {"v100": 10, "cpu": 50}, "persistent_bytes": 1000},
  {"id": 2, "name": "c", "op": "x", "cost_us": {"v100": 10, "cpu": 50}, "persistent_bytes": 1000},
  {"id": 3, "name": "d", "op": "x", "cost_us": {"v100": 10, "cpu": 50}, "persistent_bytes": 1000}],
 "edges": [{"from": 0, "to": 1, "bytes": 8}, {"from": 2, "to": 3, "bytes": 8}]}
JSON
placed() { "$reverie" place graph.json --time-limit 0.2 --json "$@" | tail -1; }
[[ $(placed --devices 2xv100-nvlink --out placed.json) == *'"makespan_ms":0.02,"lower_bound_ms":0.02,"peak_bytes":2008,"bytes_over":0,"feasible":true,'* ]] ||
  fails "two chains: $(placed --devices 2xv100-nvlink)"
python3 - <<'PY' || fails "placed.json: $(cat placed.json)"
import json
placed = json.load(open("placed.json"))
at = {node["name"]: node["device"] for node in placed["nodes"]}
assert placed["format"] == "placement/1" and placed["makespan_us"] == 20
assert at["a"] == at["b"] != at["c"] == at["d"]
assert {node["name"]: node["start_us"] for node in placed["nodes"]}["b"] == 10
PY

# Too little memory is told, and no error.
cat >small.yaml <<'YAML'
devices: [{name: gpu, kind: v100, count: 2, memory: 1KiB}]
links: [{between: [gpu, gpu], latency: 5us, bandwidth: 150GB/s}]
YAML
[[ $(placed --devices small.yaml) == *'"feasible":false'* ]] || fails "memory: $(placed --devices small.yaml)"

refused() {  # WORDS ARGUMENT...
  "$reverie" place "${@:2}" >out 2>err
  [[ $? -eq 2 && $(wc -l <err) -eq 1 ]] && grep -qF -- "$1" err || fails "${*:2}: $(cat err)"
}
refused "'chains' has no costs on devices of kind 'h100'; it knows cpu, v100" graph.json --devices 8xh100
refused "none.json" none.json --devices 8xh100
refused "none.yaml" graph.json --devices none.yaml
sed 's/"from": 2, "to": 3/"from": 1, "to": 0/' graph.json >cycle.json
refused "cycle.json: 'chains' has a cycle" cycle.json --devices 2xv100-nvlink
exit $failures
