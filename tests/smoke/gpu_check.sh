#!/usr/bin/env bash
# tools/gpu_check.sh records operators and reports, with this processor in place of a GPU; a stage that is out of time
# says so, keeps nothing half done, and is gone on with. Usage: gpu_check.sh REVERIE
set -euo pipefail

reverie=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

fail() { echo "gpu_check: $*" >&2; exit 1; }
check() { "$root/tools/gpu_check.sh" "$@" --models models --build "$(dirname "$reverie")" --cost cpu --depth 0; }

mkdir models
"$reverie" model bert_tiny --layers 1 --out models/tiny.onnx >/dev/null
check profile --out out >said.txt
grep -q '^out/cpu.h5: [0-9]* operators measured, 0 known before, 0 that' said.txt || fail "profiled: $(cat said.txt)"

check report --out out >/dev/null
for text in '## TASO' '## Beam search' '| tiny |' 'operators measured'; do
  grep -qF "$text" out/report.md || fail "the report lacks $text: $(cat out/report.md)"
done

# A stage's sections share its time; the second one takes too long at first.
mkdir slow
cat >slow/reverie <<'END'
#!/usr/bin/env bash
[[ $1 == optimize ]] || exit 0
echo >>slow/calls
[[ $(wc -l <slow/calls) -ne 2 ]] || sleep 60
echo "{\"model\":\"$2\",\"confirmed\":{\"winner\":0,\"contestants\":[{\"cost_ms\":1,\"median_ms\":1,\"ratio\":1,\"ratio_low\":1," \
  "\"ratio_high\":1,\"rounds\":1,\"finalist\":true}]}}"
END
chmod +x slow/reverie
reverie=slow/reverie
status=0
check report --out late --seconds 5 >said.txt 2>&1 || status=$?
[[ $status -eq 3 && $(tail -1 said.txt) == *"report is not done in 5 s; the same command goes on" ]] ||
  fail "out of time it ended with $status and said: $(cat said.txt)"
[[ $(cat late/*/end_to_end.jsonl | wc -l) -eq 1 ]] || fail "what was done is not kept, or what was not is"
check report --out late --seconds 5 >/dev/null || fail "it does not go on"

# The five steps with costs of the source, on two models; a program without them is refused.
status=0
check steps --out out >said.txt 2>&1 || status=$?
[[ $status -eq 2 && $(tail -1 said.txt) == *"steps need a build with LibTorch"* ]] ||
  fail "without the five steps it ended with $status and said: $(cat said.txt)"
cat >slow/reverie <<END
#!/usr/bin/env bash
if [[ \$1 == --help ]]; then echo dream_train; else echo "\$*" >>$PWD/slow/steps; fi
END
check steps --out out >/dev/null || fail "the five steps fail"
for name in squeezenet1_1 nasrnn; do
  folder=$(realpath out)/steps/$name
  cut -d' ' -f1 slow/steps | tr '\n' ' ' | grep -q 'model collect train_vae train_mdnrnn dream_train evaluate' ||
    fail "not the five steps: $(cat slow/steps)"
  for step in "collect $folder/$name.onnx --cost cpu" "evaluate $folder/$name.onnx .*--device cpu"; do
    grep -q "^$step " slow/steps || fail "no '$step' in $(cat slow/steps)"
  done
done

# The demo takes costs of a GPU where the program finds one, and else those of its settings.
for gpu in true false; do
  printf '#!/usr/bin/env bash\n[[ $1 != inspect ]] || exec %s\necho "$*" >>%s/slow/gpu-%s\n' $gpu "$PWD" $gpu >slow/reverie
  "$root/tools/demo.sh" "$PWD/demo" --device cpu --reverie "$PWD/slow/reverie" >/dev/null || fail "the demo fails"
done
grep -q '^collect .* --cost cuda ' slow/gpu-true && ! grep -q -- --cost slow/gpu-false ||
  fail "costs of the demo: $(grep ^collect slow/gpu-*)"

# Both models on two and four streams; where that fails, so does the stage.
mkdir streams
printf '#!/usr/bin/env bash\necho "$@" >>streams/calls\n[[ ! -e streams/fails ]]\n' >streams/reverie
chmod +x streams/reverie
reverie=streams/reverie
check streams --out out >/dev/null || fail "streams"
[[ $(grep -c ' --check 50 ' streams/calls) -eq 4 ]] || fail "on streams it called $(cat streams/calls)"
grep -q '^place models/inception_v3.onnx --devices streams:4 .* --out out/streams/inception_v3-streams-4 ' streams/calls ||
  fail "on streams it called $(cat streams/calls)"
touch streams/fails
! check streams --out out >/dev/null 2>&1 || fail "a failure on streams is not told"
