#!/usr/bin/env bash
# reverie optimize: table, JSON, refusal, interrupt, determinism. Usage: optimize.sh REVERIE
set -euo pipefail
source "$(dirname "$0")/../support/interrupt.sh"
reverie=$1
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"
fail() { echo "FAILED: $*" >&2; exit 1; }

"$reverie" model squeezenet_small --light --out model.onnx >/dev/null

for method in greedy taso rulelist random; do
  "$reverie" optimize model.onnx --method $method --budget 10 --cost roofline:t4 --seed 3 \
    --out $method.onnx --json --quiet >$method.txt
  grep -q '^run time ' $method.txt || fail "$method: no table"
  keys=$(tail -1 $method.txt | sed 's/"trace":\[[^]]*\]/"trace":/; s/"rewrites":.*/"rewrites"/' | grep -o '"[a-z_]*":\|"rewrites"$' | tr -d '":' | tr '\n' ' ')
  [[ $keys == "model method seed budget time_limit cost_source initial_cost_ms best_cost_ms improvement_percent changed file_improvement_percent nodes nodes_after untouched_nodes weight_bytes_before weight_bytes_after steps expansions candidates cost_lookups measurements estimates estimated_share_before estimated_share_after duplicates forgotten seconds seconds_to_best peak_memory_bytes optimal stopped_by trace verified inputs max_abs_error max_rel_error unverified_nodes rewrites " ]] ||
    fail "$method: keys are $keys"
  tail -1 $method.txt | grep -q '"rewrites":\[{"rule":"[a-z_0-9]*","location":[0-9]*}' ||
    fail "$method: no rewrites"
  "$reverie" inspect $method.onnx >/dev/null || fail "$method: the result cannot be read"
done

printf 'rule shown_nowhere\nmatch\n  c = Conv(x, w, b?; activation = "none")\n  y = Relu(c)\nwhere\n  uses(c) == 1\nreplace\n  y = Conv(x, w, b; like c, activation = "relu")\nexample x: [1, 2, 4, 4], w: [3, 2, 1, 1]\n' >fusion.rules

# Nodes tell their rule and their cost, unless that is not wanted; contenders do, too.
for note in rule cost_us cost_source; do
  grep -q "reverie.$note" greedy.onnx || fail "no node tells reverie.$note"
done
"$reverie" optimize model.onnx --method greedy --cost roofline:t4 --no-metadata --out untold.onnx --quiet >/dev/null
if grep -q 'reverie\.cost' untold.onnx; then fail "--no-metadata leaves metadata"; fi
[[ $("$reverie" inspect untold.onnx) == "$("$reverie" inspect greedy.onnx | sed 's/greedy\.onnx/untold.onnx/g')" ]] ||
  fail "with and without metadata models differ"
"$reverie" optimize greedy.onnx --method greedy --cost roofline:t4 --rules fusion.rules --out told.onnx --quiet >/dev/null
cmp -s greedy.onnx told.onnx || fail "a model with nothing to gain is not written with its metadata"

"$reverie" optimize model.onnx --method greedy --cost roofline:t4 --without conv_relu --without 'conv_a*' \
  --json --quiet | tail -1 >without.txt
grep -q '"rule":' without.txt || fail "nothing is rewritten without two kinds of rules"
if grep -q '"rule":"conv_\(relu\|add\)' without.txt; then fail "rules that were left out are used"; fi

"$reverie" optimize model.onnx --method greedy --set verify_inputs=0 --json --quiet >unproved.txt
grep -q '^not verified$' unproved.txt || fail "nothing says that nothing was verified"
tail -1 unproved.txt | grep -q '"verified":{"inputs":0,' || fail "the line does not say so"

# Confirmed end to end: whatever won, the line says how every graph did, and all are written.
"$reverie" optimize model.onnx --method greedy --cost roofline:t4 --confirm --contenders 2 \
  --contenders-out contenders --set confirm_seconds=0.01 --out confirmed.onnx --json --quiet >confirmed.txt
tail -1 confirmed.txt | grep -q '"confirmed":{"device":"[^{]*"library":"oneDNN [^{]*"winner":[012],"contestants":\[' ||
  fail "nothing was confirmed"
[[ $(tail -1 confirmed.txt | grep -o '"ratio_high"' | wc -l) -eq 3 ]] || fail "not every graph was measured"
for written in confirmed contenders/1 contenders/2; do
  "$reverie" inspect $written.onnx >/dev/null || fail "$written.onnx cannot be read"
done
grep -q "reverie.rule" contenders/1.onnx && grep -q "reverie.cost_us" contenders/2.onnx || fail "contenders tell nothing"

# Without options: what is written is verified, or the model as it was. Nothing is gained twice.
"$reverie" optimize model.onnx --time-limit 10 --out auto.onnx --json --quiet >auto.txt
grep -q '^verified on \|^nothing is rewritten\|^nothing to gain\|^no graph was faster' auto.txt || fail "no verdict: $(cat auto.txt)"
"$reverie" inspect auto.onnx >/dev/null || fail "the result of no options cannot be read"
"$reverie" optimize model.onnx --method greedy --cost roofline:t4 --rules fusion.rules --out same.onnx --json --quiet >same.txt
grep -q '^nothing to gain' same.txt || fail "a fusion that no file shows is told as a gain: $(cat same.txt)"
tail -1 same.txt | grep -q '"changed":false,"file_improvement_percent":0.0,' || fail "the line tells a gain"
tail -1 same.txt | grep -q '"rule":"shown_nowhere"' || fail "nothing was fused"
cmp -s model.onnx same.onnx || fail "a model with nothing to gain is not written as it was"

# A page of the run ends as it should, and holds that line of the console that begins so.
has_page() {  # PAGE CONSOLE LINE
  local line
  line=$(grep -m1 "^$3" "$2" | sed 's/&/\&amp;/g; s/>/\&gt;/g; s/</\&lt;/g') || fail "$2 has no line '$3'"
  [[ $(tail -1 "$1") == '</body></html>' ]] || fail "$1 is no whole page"
  grep -qF -- "<li>$line</li>" "$1" || fail "$1 lacks '$line'"
}
"$reverie" optimize model.onnx --method greedy --cost roofline:t4 --quiet --report page.html >page.txt
has_page page.html page.txt 'verified on'
has_page page.html page.txt 'roofline:t4 by greedy'
grep -q '<td>[0-9]*</td><td class=.left.><details><summary>conv_' page.html || fail "the page names no rule that was applied"
grep -q 'reverie optimize model.onnx --method greedy' page.html || fail "the page does not show the command"
"$reverie" optimize model.onnx --method greedy --cost roofline:t4 --rules fusion.rules --quiet --report page.html >page.txt
has_page page.html page.txt 'nothing to gain'

# Against end-to-end measurements: the budget, the trace and the endpoint are in the line.
for method in surrogate beam; do
  "$reverie" optimize model.onnx --method $method --measurements 7 --cost roofline:cpu --confirm --contenders 1 \
    --set confirm_seconds=0.01 --set measured.seconds=0 --out measured.onnx --json --quiet >measured.txt
  grep -q '^measured end to end 7 times' measured.txt || fail "$method: not measured: $(cat measured.txt)"
  tail -1 measured.txt | grep -q '"budget":7,.*"trace":\[{"end_to_end_measurements":1,.*"end_to_end_measurements":7,.*"endpoint_n":' ||
    fail "$method: what was measured is not in the line: $(tail -1 measured.txt)"
  "$reverie" inspect measured.onnx >/dev/null || fail "$method: what was measured cannot be read"
done
status=0
"$reverie" optimize model.onnx --method surrogate --quiet 2>err || status=$?
[[ $status -eq 2 ]] && grep -q -- '--measurements N' err || fail "a search without measurements: $(cat err)"

# What was measured is kept as fitted costs, which any search then has as its source.
"$reverie" optimize model.onnx --method surrogate --measurements 7 --cost roofline:cpu --fit-out model.fit.h5 \
  --set measured.seconds=0 --json --quiet >/dev/null
"$reverie" inspect model.fit.h5 >inspected.txt
grep -q '^costs fitted to 7 measurements of [2-7] graphs, rewrites of model$' inspected.txt ||
  fail "fitted costs are not described: $(cat inspected.txt)"
"$reverie" inspect model.fit.h5 --json | grep -q '"kind":"cost_fit",.*"prior":"roofline:cpu",.*"measurements":7,' ||
  fail "the line does not say what was fitted"
"$reverie" optimize model.onnx --method greedy --cost fitted:model.fit.h5 --json --quiet >fitted.txt
tail -1 fitted.txt | grep -q '"cost_source":"fitted:model.fit.h5",' || fail "the source is not named: $(cat fitted.txt)"
grep -q '^not from fitted:model.fit.h5: the times of [0-9]* operators are estimates, [0-9.]* % of the time before and [0-9.]* % after$' fitted.txt ||
  fail "nothing says that unmeasured operators are estimates: $(cat fitted.txt)"

without_clock() { sed 's/"\(seconds\|seconds_to_best\|peak_memory_bytes\)":[^,]*//g'; }
rerun() { "$reverie" optimize model.onnx --method "$1" --budget 10 --cost roofline:t4 --seed 3 \
            --out again.onnx --json --quiet | tail -1 | without_clock; }
for method in taso rulelist random; do
  [[ $(rerun $method) == "$(tail -1 $method.txt | without_clock)" ]] ||
    fail "$method: two runs differ"
  cmp -s again.onnx $method.onnx || fail "$method: two runs write different models"
done

# A rule that is not true is left out with a line, and with it nothing else.
printf 'rule lie\nmatch\n  y = Relu(x)\nreplace\n  y = x\n' >lie.rules
"$reverie" optimize model.onnx --method greedy --cost roofline:t4 --rules lie.rules --out lie.onnx --quiet >lie.txt
grep -q '^rewrite [0-9]* of [0-9]*, by lie, is left out: .* differs by' lie.txt || fail "no reason is given: $(cat lie.txt)"
cmp -s model.onnx lie.onnx || fail "a model whose only rewrites are untrue is not written as it was"
"$reverie" optimize model.onnx --method greedy --cost roofline:t4 --rules lie.rules --rules builtin --out partly.onnx \
  --json --quiet >partly.txt
grep -q '^verified on ' partly.txt || fail "an untrue rule is in the way of the others: $(cat partly.txt)"
tail -1 partly.txt | grep -q '"rewrites":\[.*"rule":"conv_' || fail "other rewrites are left out, too: $(tail -1 partly.txt)"
rm lie.onnx

# Rules wherever they match, whatever that costs; an untrue one is refused here too.
"$reverie" rules apply model.onnx conv_of_concat concat_single --out applied.onnx --json >applied.txt
grep -q '"taken":{"conv_of_concat":[1-9]' applied.txt || fail "nothing is applied: $(cat applied.txt)"
"$reverie" inspect applied.onnx >/dev/null || fail "what was applied cannot be read"
status=0
"$reverie" rules apply model.onnx --rules lie.rules --out lie.onnx >/dev/null 2>err || status=$?
if [[ -e lie.onnx || $status -ne 2 ]]; then fail "applying an untrue rule ended with status $status"; fi
grep -q disagrees err || fail "no reason is given for the refusal: $(cat err)"

# An interrupt ends the search, and what it found is verified and written.
"$reverie" optimize model.onnx --method rulelist --budget 1000000 --cost roofline:t4 \
  --out stopped.onnx --report stopped.html --quiet >stopped.txt & search=$!
interrupt "$reverie" $search || fail "the program does not catch an interrupt"
status=0
wait $search || status=$?
[[ $status -eq 130 ]] || fail "an interrupt ended with status $status"
grep -q 'ended by an interrupt' stopped.txt || fail "the interrupt is not reported"
[[ -s stopped.onnx ]] || fail "nothing was written after an interrupt"
has_page stopped.html stopped.txt 'roofline:t4 by rulelist'

"$reverie" optimize model.onnx --method rulelist --budget 1000000 --time-limit 0.2 --quiet \
  >limited.txt
grep -q 'ended at its time limit' limited.txt || fail "the time limit is not reported"

# That nothing was found is no "nothing to gain" where the time was over first.
"$reverie" optimize model.onnx --method greedy --cost roofline:t4 --time-limit 1e-9 --quiet >early.txt
grep -q '^nothing was found before the time limit: the model stays as it is$' early.txt ||
  fail "a search without time says something else: $(tail -1 early.txt)"

# A comparison has a share of the time, and says what it left out.
"$reverie" optimize model.onnx --method greedy --cost roofline:t4 --time-limit 0.05 --quiet >short.txt
if grep -q '^verified on 1 ' short.txt; then
  grep -q '^not compared: 1 of 2 sets of random inputs' short.txt || fail "nothing says what was left out: $(cat short.txt)"
fi

# simplify: no costs, no rewrites; and the nodes that nothing touches are named.
"$reverie" optimize model.onnx --method simplify --out simple.onnx --report simple.html --list-untouched --quiet >simple.txt
has_page simple.html simple.txt 'nodes '
grep -q '^0 of [0-9]* nodes are untouched$' simple.txt || fail "untouched nodes are not listed: $(cat simple.txt)"
grep -q '^nodes [0-9]* -> [0-9]*$' simple.txt || fail "nothing says what became of the nodes: $(cat simple.txt)"
"$reverie" inspect simple.onnx >/dev/null || fail "the simplified model cannot be read"

# Numbers of a file are rounded, which is no reason to say that a rewrite fixes the symbolic batch.
"$reverie" model zoo/efficientnet_b0 --out deep.onnx >/dev/null
"$reverie" optimize deep.onnx --method greedy --cost roofline:cpu --quiet --out deeper.onnx >deep.txt 2>&1
! grep 'fixes dimension' deep.txt || fail "rounding is taken for a dimension that is fixed"
grep -q '49 x conv_batchnorm' deep.txt || fail "convolutions keep their normalization: $(cat deep.txt)"
"$reverie" inspect deeper.onnx | grep -q 'batch' || fail "the batch is fixed"
