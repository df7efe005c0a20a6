#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: builds, runs the tests that need one, records what operators cost there,
# and says how well that predicts whole networks before and after they are optimized.
#
#   tools/gpu_check.sh [STAGE...] [--models DIR] [--out DIR] [--build DIR] [--cost SOURCE] [--depth N] [--seconds S]
#                      [--policy FILE] [--learning ON] [--dry-run] [-- OPTION...]
#
# Stages, by default the first four in this order:
#   build    into --build (build-gpu); with LibTorch where --learning ON says so, which $Torch_DIR helps to find
#   test
#   profile  the operators that rewriting of the models reaches, into OUT/SOURCE.h5
#   report   OUT/report.md: TASO's search and beam search; with LibTorch the policy FILE, which dream_train can
#            have trained anywhere on costs of that table
#   streams  squeezenet1_1 and inception_v3 of the models on two and four streams of the GPU, into OUT/streams
#   steps    with LibTorch: the demo on squeezenet1_1 and on nasrnn, rewards and validation by SOURCE, V, M and C on
#            the GPU, into OUT/steps
#   peers    Reverie beside PyTorch, into OUT/peers.md (experiments/peers says how). Needs PyTorch in $PYTHON (python3).
#            With --dry-run it needs no GPU, and a build of reverie and reverie_run alone. OPTIONs are those of
#            experiments/peers/peers.py. It may take all the time that there is
# SOURCE is cuda (the default) or cuda:<precision>, N what `reverie profile --search-depth` takes (3), OUT runs/gpu. No
# network is needed. A stage has S seconds (500) in all, and ends with status 3 where that is not enough. The same
# command goes on with what was compiled, measured, and reported of a model; tests, streams, and the search for the
# operators, begin anew.
set -euo pipefail

refuse() { echo "gpu_check.sh: $*" >&2; exit 2; }

root=$(cd "$(dirname "$0")/.." && pwd)
models=${REVERIE_MODELS:-$root/../shared/models}/light
out=$root/runs/gpu
build=$root/build-gpu
cost=cuda
depth=3
seconds=500
policy=
learning=OFF
python=${PYTHON:-python3}
peers_options=()
stages=()
while [[ $# -gt 0 ]]; do
  case $1 in
    -h|--help) awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0"; exit 0 ;;
    --models|--out|--build|--cost|--depth|--seconds|--policy|--learning)
      [[ $# -gt 1 ]] || refuse "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    --dry-run) peers_options+=(--dry-run); shift ;;
    --) shift; peers_options+=("$@"); break ;;
    -*) refuse "unknown option $1 (see --help)" ;;
    *) stages+=("$1"); shift ;;
  esac
done
[[ ${#stages[@]} -gt 0 ]] || stages=(build test profile report)
reverie=$build/reverie
table=$out/${cost//:/-}.h5
profiled=${table%.h5}-profile.txt
operators=$out/operators-depth$depth.txt

need_models() { [[ -d $models ]] || refuse "there is no folder $models; name one that holds ONNX files by --models"; }

not_done() { echo "gpu_check.sh: $1 not done in $seconds s; ${2:-the same command goes on}" >&2; exit 3; }

left() { echo $((SECONDS < deadline ? deadline - SECONDS : 1)); }  # of the stage's seconds

# Ends a command that takes longer than what is left. What it has done by then is kept by itself.
within_time() {  # WHAT HOW_TO_GO_ON COMMAND...
  local what=$1 how=$2 status=0
  shift 2
  timeout --signal=INT --kill-after=60 "$(left)" "$@" || status=$?
  [[ $status -ne 124 && $status -ne 137 ]] || not_done "$what" "$how"
  return "$status"
}

stage_build() {
  cmake -G Ninja -S "$root" -B "$build" -DREVERIE_LEARNING="$learning" -DREVERIE_BENCHMARKS=OFF
  within_time "build is" "" ninja -C "$build" reverie reverie_cuda reverie_run test_gpu
}

stage_test() {
  within_time "test is" "it begins anew: give it more by --seconds" "$build/test_gpu" | tee "$out/test.log" | tail -20
}

stage_profile() {
  need_models
  [[ -s $operators ]] ||
    within_time "the search for operators is" "it begins anew: give it more by --seconds, or a lower --depth" \
      "$reverie" profile "$models"/*.onnx --cost "$cost" --search-depth "$depth" --list --out "$operators"
  "$reverie" profile --from "$operators" --cost "$cost" --out "$table" --seconds "$(left)" --json >"$profiled"
  cat "$profiled"
  [[ $(tail -1 "$profiled") == *'"complete":true'* ]] || not_done "profile is"
}

# A section of the report: every model by METHOD, confirmed on the device.
section() {  # TITLE METHOD OPTION...
  local results=$out/$2-on-${cost//:/-}
  within_time "report is" "" "$root/experiments/run.py" "$root/experiments/search/end_to_end.toml" --quiet \
    --models "$models" --out "$results" --cost "table:$table" --option method="$2" --set machine="$cost" \
    --set confirm_seconds=20 "${@:3}"
  {
    printf '\n## %s\n\n' "$1"
    "$root/experiments/figures.py" end-to-end "$results/end_to_end.jsonl"
  } >>"$out/sections.md"
}

learns() { [[ $("$reverie" --help) == *dream_train* ]]; }  # built with LibTorch

stage_report() {
  need_models
  [[ -z $policy ]] || learns || refuse "--policy needs a build with LibTorch: build with --learning ON"
  : >"$out/sections.md"
  section "TASO's search" taso
  section "Beam search" beam
  [[ -z $policy ]] || section "The policy" policy --option policy="$policy"
  {
    printf '# %s\n\n```\n' "$cost"
    "$reverie" inspect "$table" | sed '/by operator/,$d'
    [[ ! -s $profiled ]] || sed '/^{/d' "$profiled"  # how many could not be measured, and why
    printf '```\n'
    cat "$out/sections.md"
  } >"$out/report.md"
  rm "$out/sections.md"
  echo "$out/report.md"
}

stage_steps() {
  learns || refuse "steps need a build with LibTorch: build with --learning ON"
  local device=cpu model
  [[ $cost != cuda* ]] || device=cuda
  for model in squeezenet1_1 nasrnn; do
    within_time "steps are" "" "$root/tools/demo.sh" "$(realpath "$out")/steps/$model" --model "$model" \
      --cost "$cost" --device "$device" --reverie "$(realpath "$reverie")"
  done
}

stage_streams() {
  need_models
  for model in squeezenet1_1 inception_v3; do
    for devices in streams:2 streams:4; do
      within_time "streams is" "it begins anew: give it more by --seconds" "$reverie" place "$models/$model.onnx" \
        --devices "$devices" --check 50 --out "$out/streams/$model-${devices/:/-}" --evaluations 2000 --json
    done
  done
}

stage_peers() {
  local status=0
  "$python" -c 'import torch, torchvision' || refuse "peers needs PyTorch and torchvision: name their Python by PYTHON"
  "$python" "$root/experiments/peers/peers.py" --out "$out/peers" --seconds "$(left)" ${peers_options[@]+"${peers_options[@]}"} ||
    status=$?
  [[ ! -s $out/peers/peers.jsonl ]] ||
    "$python" "$root/experiments/peers/peers.py" --table "$out/peers/peers.jsonl" >"$out/peers.md"
  [[ $status -ne 3 ]] || not_done "peers is"
  [[ $status -eq 0 ]] || exit "$status"
  echo "$out/peers.md"
}

mkdir -p "$out"
export REVERIE=$reverie
for stage in "${stages[@]}"; do
  [[ $stage =~ ^(build|test|profile|report|streams|steps|peers)$ ]] ||
    refuse "no stage '$stage'; there are build, test, profile, report, streams, steps and peers"
done
for stage in "${stages[@]}"; do
  echo "== $stage"
  deadline=$((SECONDS + seconds))
  "stage_$stage"
done
