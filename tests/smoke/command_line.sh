#!/usr/bin/env bash
# What a person types and reads: help, suggestions, standard input and output, the status of an interrupt.
# Usage: command_line.sh REVERIE LEARNING
source "$(dirname "$0")/../support/smoke.sh"
source "$root/tests/support/interrupt.sh"

[[ $("$reverie" --version) == "$("$reverie" version)" ]] || fails "--version: $("$reverie" --version)"
cmp -s <("$reverie" help) <("$reverie" --help) || fails "help is not --help"
cmp -s <("$reverie" help rules apply) <("$reverie" rules apply --help) || fails "help of a command in a group"

# LibTorch is left to the program beside it, wherever a link to this one lies.
ldd "$reverie" | grep -q libtorch && fails "it loads LibTorch"
cp "$reverie" alone && reverie=$here/alone
"$reverie" train_vae rollouts --out new >out 2>err
[[ $? -eq 2 ]] && grep -q 'train_vae needs LibTorch, and reverie-learning' err || fails "alone: $(cat err)"
reverie=$1
if [[ ${2-} == ON ]]; then
  ln -s "$reverie" linked
  ./linked train_vae nowhere --out new >out 2>err
  [[ $? -eq 2 && $(wc -l <err) -eq 1 ]] && grep -q nowhere err || fails "by a link: $(cat err)"
  ./linked optimize --help-all | grep -q 'ppo\.' || fails "--help-all does not show settings of what LibTorch is needed for"
fi

# Every command shows examples first, of options that it has, and the rest where it is asked for.
commands=$("$reverie" --help | sed -n '/^Subcommands:/,$s/^  \([a-z_]*\) .*/\1/p')
[[ $(wc -w <<<"$commands") -ge 11 ]] || fails "commands: $commands"
for command in $commands "rules apply" "rules verify" "rules generate"; do
  [[ $command == help ]] && continue
  text=$("$reverie" help $command) && all=$("$reverie" $command --help-all) || fails "no help of $command"
  [[ $(sed -n 3p <<<"$text") == Examples: ]] || fails "$command does not begin with examples: $text"
  while read -r option; do
    grep -qE -- "(^|[ ,])$option( |,|$)" <<<"$all" || fails "an example of $command has $option, which is none of its options"
  done < <(sed -n '/^Examples:/,/^$/p' <<<"$text" | grep -oE -- ' --?[a-z][a-z-]*' | tr -d ' ')
  [[ $(wc -l <<<"$all") -ge $(wc -l <<<"$text") ]] || fails "--help-all of $command is shorter"
done
"$reverie" optimize --help | grep -q 'saturation.rounds' && fails "optimize --help shows all settings"
"$reverie" optimize --help-all | grep -q 'saturation.rounds' || fails "optimize --help-all does not show all settings"

meant() {  # WORDS ARGUMENT...
  "$reverie" "${@:2}" >out 2>err </dev/null
  [[ $? -eq 2 && $(wc -l <err) -eq 1 ]] && grep -qF -- "$1" err || fails "${*:2}: $(cat err)"
}
meant "unknown command 'optimise'; did you mean optimize? (see reverie --help)" optimise model.onnx
meant "unknown command 'optimise'" help optimise
meant "unknown command 'optimise'" optimise --help
meant "unknown option '--tiem-limit'; did you mean --time-limit? (see reverie optimize --help)" optimize model.onnx --tiem-limit 3
meant "unknown option '--tiem-limit'" optimize --tiem-limit=3
meant "unknown command 'aply'; did you mean apply? (see reverie rules --help)" rules aply model.onnx
meant "'more' is one argument too many (see reverie optimize --help)" optimize model.onnx more
meant "(see reverie place --help)" place

# Standard input and output, by pipes and by files.
"$reverie" model squeezenet_small --light --out model.onnx >/dev/null
greedy=(--method greedy --cost roofline:cpu)
"$reverie" optimize model.onnx "${greedy[@]}" --out file.onnx >/dev/null 2>&1
cat model.onnx | "$reverie" optimize - "${greedy[@]}" -o - >piped.onnx 2>told || fails "a pipe: $(cat told)"
"$reverie" optimize - "${greedy[@]}" -o - <model.onnx >redirected.onnx 2>told || fails "a file: $(cat told)"
cmp file.onnx piped.onnx && cmp file.onnx redirected.onnx || fails "- gives another model"
grep -q 'run time' told || fails "the table is not on standard error: $(cat told)"
"$reverie" model squeezenet_small --light -o - 2>/dev/null | cmp - model.onnx || fails "model -o -"
cat model.onnx | "$reverie" inspect - | grep -q '^nodes' || fails "inspect -"
meant "/dev/stdin" inspect -

# Environments describe their start states.
inspects() {  # TEXT ARGUMENT...
  "$reverie" inspect --env "${@:2}" >out 2>err && grep -qxF -- "$1" out || fails "inspect --env ${*:2}: $(cat out err)"
}
inspects '  place group 1 (Input_0, 0 B of weights) on gpu1' placement generate:layers:100:1
inspects '  place group 1 (Input_0, 0 B of weights) on gpu7' placement generate:layers:100:1 --devices 8xh100
inspects 'objective run time, less is better, by roofline:a100' rewrite - --cost roofline:a100 <model.onnx
inspects '     0  3 activation, 3 join, 3 narrow, 3 scale, 3 wide, 1 input, 1 output  3 enlarge, 3 swap, 1 NO-OP' toy
inspects '  deepen a at 0.01' adapt "$root/tests/golden/adapt_table.json"
inspects 'drop, 1 choice' knapsack --set env.knapsack.items=3 --set env.knapsack.start_states=1
"$reverie" inspect --env toy --json | grep -q '"text":"swap block 2"' || fails "inspect --env --json lists too little"

# Arrays bind symbolic dimensions, and inspect calls them by name.
"$reverie" model zoo/mlp --out mlp.onnx >/dev/null
"$reverie" inspect mlp.onnx 2>/dev/null | grep -E '^input .*\[[a-z_]+=[0-9]+' >bound || fails "inspect shows no symbol"
name=$(sed -E 's/^input +([^ ]+) .*/\1/' bound | head -1)
extents=$(sed -E 's/.*\[(.*)\].*/\1/; s/[a-z_]+=[0-9]+/5/g; s/ //g' bound | head -1)
python3 - "$name" "$extents" <<'PY'
import struct, sys, zipfile
name, shape = sys.argv[1], tuple(int(x) for x in sys.argv[2].split(","))
count = 1
for extent in shape: count *= extent
header = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).encode()
header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
with zipfile.ZipFile("inputs.npz", "w") as file:
    file.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                  struct.pack(f"<{count}f", *[0.5] * count))
PY
"$reverie" optimize mlp.onnx "${greedy[@]}" --inputs inputs.npz --out bound.onnx >out 2>err || fails "--inputs: $(cat out err)"
grep -q assumed err && fails "--inputs leaves a dimension to be assumed: $(cat err)"

# One count of nodes and of kernels for one file.
"$reverie" optimize model.onnx "${greedy[@]}" >out 2>/dev/null
counts=$(awk '$1 == "nodes" || $1 == "kernels" {printf "%d ", $2}' out)
"$reverie" inspect model.onnx --json >out
[[ $counts == "$(sed -E 's/.*"nodes":([0-9]+),"work_nodes".*"kernels":([0-9]+),.*/\1 \2 /' out)" ]] ||
  fails "inspect counts otherwise than optimize: $counts, $(cat out)"

# Without a home, costs are measured and not kept.
env -u HOME -u XDG_CACHE_HOME -u REVERIE_CACHE "$reverie" inspect model.onnx --cost cpu >out 2>err ||
  fails "no home: $(cat err)"
[[ $(grep -c 'measured costs are not kept' err) -eq 1 ]] || fails "no home, and nothing is said: $(cat err)"

# An interrupt has one status, also where the best so far is written.
"$reverie" optimize model.onnx --method annealing --cost roofline:cpu --budget 1000000 --out stopped.onnx --quiet >out 2>&1 &
process=$!
interrupt "$reverie" $process || fails "it cannot be interrupted"
wait $process
status=$?
[[ $status -eq 130 && -s stopped.onnx ]] || fails "an interrupt ended with status $status: $(cat out)"
exit $failures
