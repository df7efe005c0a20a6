#!/usr/bin/env bash
# reverie place: two chains go to two devices; memory, equal seeds, and wrong input.
# Usage: place.sh REVERIE LEARNING
source "$(dirname "$0")/../support/smoke.sh"

refused() {  # WORDS ARGUMENT...
  "$reverie" place "${@:2}" >out 2>err
  [[ $? -eq 2 && $(wc -l <err) -eq 1 ]] && grep -qF -- "$1" err || fails "${*:2}: $(cat err)"
}

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
[[ $(placed --devices 2xv100-nvlink --out placed) == *'"makespan_ms":0.02,"lower_bound_ms":0.02,"peak_bytes":2008,"bytes_over":0,"feasible":true,'* ]] ||
  fails "two chains: $(placed --devices 2xv100-nvlink)"
python3 - <<'PY' || fails "placement.json: $(cat placed/placement.json)"
import json
placed = json.load(open("placed/placement.json"))
at = {node["name"]: node["device"] for node in placed["nodes"]}
assert placed["format"] == "placement/1" and placed["makespan_us"] == 20
assert at["a"] == at["b"] != at["c"] == at["d"]
assert {node["name"]: node["start_us"] for node in placed["nodes"]}["b"] == 10
PY

for file in gantt.svg memory.svg trace.json graph.dot report.html; do
  [[ -s placed/$file ]] || fails "no $file"
done

# Models and synthetic graphs, a budget of evaluations, memory as the objective.
"$reverie" model squeezenet_small --light --out model.onnx >/dev/null
for graph in model.onnx generate:branches:120:1; do
  [[ $("$reverie" place $graph --devices 2xv100-nvlink --method local --evaluations 50 --quiet --json) == \
    *'"evaluations":50}' ]] || fails "$graph: $("$reverie" place $graph --devices 2xv100-nvlink --method local --evaluations 50 --quiet --json)"
done
"$reverie" place model.onnx --devices 2xv100-nvlink --evaluations 200 --peak-memory --quiet --json |
  grep -q '"feasible":true' || fails "peak memory"

# The model tells where its nodes run, and is the same otherwise.
"$reverie" place model.onnx --devices 2xv100-nvlink --evaluations 50 --model-out told.onnx --quiet || fails "--model-out"
grep -q 'reverie.device' told.onnx && grep -q 'gpu0' told.onnx || fails "no node tells its device"
[[ $("$reverie" inspect told.onnx) == "$("$reverie" inspect model.onnx | sed 's/model\.onnx/told.onnx/g')" ]] ||
  fails "a placed model is another one"
refused "--model-out writes the ONNX model that was placed, and graph.json is none" graph.json \
  --devices 2xv100-nvlink --model-out none.onnx

"$reverie" place model.onnx --devices 2xv100-nvlink --training --fuse --evaluations 100 >out 2>err &&
  grep -q ' after fusion' out || fails "training and fusion: $(cat out err)"
refused "cannot be fused" graph.json --devices 2xv100-nvlink --fuse --evaluations 10

# Learned from one graph, used on another.
if [[ ${2-} == ON ]]; then
  "$reverie" place_learn colocrl generate:layers:100:1 --devices 2xv100-nvlink --evaluations 40 \
    --out learner.pt >/dev/null || fails "place_learn"
  "$reverie" place generate:layers:100:2 --devices 2xv100-nvlink --method learner.pt --evaluations 1 \
    --quiet --json | grep -q '"evaluations":1}' || fails "the learner's placement"
  head -c 100 learner.pt >cut.pt
  refused "cut.pt: the checkpoint is damaged" graph.json --devices 2xv100-nvlink --method cut.pt
fi

# Too little memory is told in a sentence, with status 1.
cat >small.yaml <<'YAML'
devices: [{name: gpu, kind: v100, count: 2, memory: 1KiB}]
links: [{between: [gpu, gpu], latency: 5us, bandwidth: 150GB/s}]
YAML
"$reverie" place graph.json --time-limit 0.2 --json --devices small.yaml --out tight >out 2>err
[[ $? -eq 1 && $(wc -l <err) -eq 1 ]] && grep -q 'no method found a placement that fits into memory' err &&
  grep -q '"feasible":false' out && [[ -s tight/placement.json ]] || fails "memory: $(cat out err)"
"$reverie" place graph.json --time-limit 0.2 --peak-memory --devices 2xv100-nvlink >out 2>err &&
  grep -q 'with any placement a device needs at least 0.0 MiB' out || fails "the bound of memory: $(cat out err)"

# The graph of a model as a file; a graph that names its devices.
"$reverie" place model.onnx --devices 2xv100-nvlink --method one_device --graph-out written.json --json --quiet >one &&
  "$reverie" place written.json --devices 2xv100-nvlink --method one_device --json --quiet >two || fails "--graph-out"
[[ $(grep -o '"makespan_ms":[0-9.]*' one | tail -1) == $(grep -o '"makespan_ms":[0-9.]*' two | tail -1) ]] ||
  fails "the written graph has another makespan: $(cat one two)"
sed 's/"name": "chains",/"name": "chains", "devices": [{"name": "a", "kind": "v100"}, {"name": "b", "kind": "cpu"}],/' \
  graph.json >whole.json
"$reverie" place whole.json --method one_device --json --quiet >out 2>err && grep -q '"makespan_ms":0.04' out ||
  fails "devices in the graph: $(cat out err)"
"$reverie" place - --method one_device --json --quiet <whole.json >out 2>err && grep -q '"makespan_ms":0.04' out ||
  fails "from standard input: $(cat out err)"
refused 'name the devices by --devices: a YAML file, or 2xv100-nvlink' graph.json
sed 's/persistent_bytes/persistant_bytes/' graph.json >misspelt.json
refused "misspelt.json: node 0: unknown key 'persistant_bytes'" misspelt.json --devices 2xv100-nvlink

# Judged by runs on this machine.
"$reverie" place model.onnx --devices cores:1 --measure --method one_device,random --evaluations 2 \
  --json >out 2>err && grep -q 'makespans were measured' out &&
  tail -1 out | grep -q '"method":"random"[^}]*"evaluations":2,' || fails "--measure: $(cat out err)"
refused "--devices cores:N or streams:N" model.onnx --devices 2xv100-nvlink --measure
refused "exact judges placements by the simulator" model.onnx --devices cores:1 --measure --method exact
refused "'streams:1' needs a number of streams from 2 to 16" model.onnx --devices streams:1 --check 2
"$reverie" place model.onnx --devices streams:2 --check 2 --method one_device --evaluations 1 >out 2>err ||
  [[ $? -eq 2 && $(wc -l <err) -eq 1 && $(cat err) == *"streams:2: "*CUDA* ]] || fails "streams: $(cat out err)"

refused "'chains' has no costs on devices of kind 'h100'; it knows cpu, v100" graph.json --devices 8xh100
refused "none.json" none.json --devices 8xh100
refused "none.yaml: there is no such file; built in are 2xv100-nvlink" graph.json --devices none.yaml
sed 's/"from": 2, "to": 3/"from": 1, "to": 0/' graph.json >cycle.json
refused "cycle.json: 'chains' has a cycle" cycle.json --devices 2xv100-nvlink
refused "no method 'magic'" graph.json --devices 2xv100-nvlink --method magic
refused "graph.txt: is no graph to place" graph.txt --devices 2xv100-nvlink
exit $failures
