#!/usr/bin/env bash
# The five steps and optimize on a tiny model, each through the command line, small enough to end
# within a minute on two cores. V, M and C learn on DEVICE of the environment, cpu by default.
# Usage: five_steps.sh REVERIE
set -euo pipefail
reverie=$1
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"
fail() { echo "FAILED: $*" >&2; exit 1; }
learn() { "$reverie" "$1" --device "${DEVICE:-cpu}" "${@:2}"; }

"$reverie" model squeezenet_small --light --out model.onnx >/dev/null
"$reverie" collect model.onnx --out rollouts --seed 1 --set collect.episodes=20 \
  --set env.horizon=12 --set env.rewrite.region_nodes=8 --cost roofline:t4 --quiet
learn train_vae rollouts --out encoder --seed 1 --set vae.epochs=1 --quiet
learn train_mdnrnn rollouts --encoder encoder/encoder.pt --out world --seed 1 \
  --set mdnrnn.epochs=1 --quiet
learn dream_train rollouts --world world/world.pt --out policy --seed 1 \
  --set dream.updates=1 --quiet
rounds() {
  learn dream_train rollouts --world world/world.pt --out rounds --seed 1 --iterate 2 \
    --set dream.updates=1 --set iterate.episodes=4 --set iterate.epochs=1 --json --quiet "$@" |
    grep -o '"training":{"resets":[0-9]*,"steps":[0-9]*'
}
# Rollouts find their models from another directory, and where they are said to be.
(cd / && learn dream_train "$here/rollouts" --world "$here/world/world.pt" --out "$here/from_afar" \
  --seed 1 --set dream.updates=0 --quiet) || fail "rollouts are not found from another directory"
mkdir moved
cp -r rollouts moved/
from_moved() {
  learn dream_train moved/rollouts --world world/world.pt --out "$@" --seed 1 \
    --set dream.updates=0 --quiet
}
status=0
from_moved lost 2>err || status=$?
[[ $status -eq 2 && $(wc -l <err) -eq 1 ]] && grep -q 'model.onnx is not there.*--inputs' err ||
  fail "a model that is not there is not named ($status): $(cat err)"
from_moved given --inputs . || fail "--inputs does not say where the models are"
work=$(rounds)
grep -A20 '"step": "dream_train"' rounds/history.json | grep -q '"episodes": 4,' ||
  fail "what a round collects is not in the history: $(cat rounds/history.json)"
rm rounds/round-2/training.pt
[[ $(rounds --resume) == "$work" ]] || fail "collected before an interrupt, and not counted: not $work"
learn evaluate model.onnx --policy policy/policy.pt --out report --seed 1 --quiet
for step in collect train_vae train_mdnrnn dream_train; do
  [[ $(grep -c "\"step\": \"$step\"" policy/history.json) -eq 1 ]] || fail "the history lacks $step"
done
grep -q 'Learning took [1-9][0-9]* real steps in 20 episodes, and [1-9][0-9]* real steps to validate' report/report.md ||
  fail "the report does not say what learning cost"
grep -q 'One step ahead M misses' report/report.md || fail "the report does not say how good M is"
grep -q 'Evaluated with seed 1 by reverie ' report/report.md || fail "the report names no versions"
"$reverie" optimize model.onnx --method taso --budget 20 --cost roofline:t4 --out better.onnx \
  --json --quiet | tail -1 | grep -q '"improvement_percent":' || fail "optimize prints no JSON"

# A rule that came later than the rollouts is none of their actions, in further rounds neither.
"$reverie" rules show squeeze_as_reshape >later.rules
"$reverie" rules show conv_relu >my.rules
"$reverie" rules show conv_merge >>my.rules
"$reverie" collect model.onnx --out ruled --seed 1 --set collect.episodes=6 --set env.horizon=6 \
  --set "env.rewrite.rules=[$here/my.rules]" --cost roofline:t4 --quiet
learn train_vae ruled --out ruled_v --seed 1 --set vae.epochs=1 --quiet
learn train_mdnrnn ruled --encoder ruled_v/encoder.pt --out ruled_m --seed 1 --set mdnrnn.epochs=1 --quiet
cat later.rules >>my.rules
learn dream_train ruled --world ruled_m/world.pt --out ruled_c --seed 1 --iterate 2 --set dream.updates=1 \
  --set iterate.episodes=2 --set iterate.epochs=1 --quiet || fail "a later rule stops further rounds"

# Choices that are left out are told.
"$reverie" collect model.onnx --out few --set env.rewrite.max_locations=1 --set collect.episodes=1 --set env.horizon=2 \
  --cost roofline:t4 >/dev/null 2>err
grep -q 'more choices of an action than the 1 that are offered' err || fail "the cap on locations is not told: $(cat err)"

# What was learned on one model goes on on another, whose graph has more regions.
"$reverie" model bert_tiny --light --out other.onnx >/dev/null
"$reverie" optimize other.onnx --method policy --policy policy/policy.pt --budget 2 \
  --cost roofline:t4 --quiet | grep -q 'by policy:' || fail "the policy knows no other model"
"$reverie" collect other.onnx --out others --seed 2 --set collect.episodes=6 --set env.horizon=9 \
  --set env.rewrite.region_nodes=8 --cost roofline:t4 --quiet
learn train_mdnrnn others --from world/world.pt --out world_on --seed 2 \
  --set mdnrnn.epochs=1 --quiet
learn dream_train others --world world_on/world.pt --policy policy/policy.pt --out policy_on \
  --seed 2 --set dream.updates=1 --quiet
"$reverie" optimize other.onnx --method policy --policy policy_on/policy.pt --budget 2 \
  --cost roofline:t4 --quiet | grep -q 'by policy:' || fail "the policy that went on does not play"

# Two files of one name: the results of both are kept.
mkdir twin
cp model.onnx twin/
twins() {
  learn evaluate model.onnx twin/model.onnx --policy "$1" --out twins --seed 1 --set evaluate.measure=never \
    --set evaluate.seeds=1 --set evaluate.samples=1 --solvers random,greedy,rulelist:2,taso:5 --quiet \
    "${@:2}"
}
twins policy/policy.pt >/dev/null
[[ -s twins/models/model.greedy.onnx && -s twins/models/model-2.greedy.onnx ]] ||
  fail "results of models of one name overwrite each other: $(ls twins/models)"
twins policy/policy.pt --resume >/dev/null || fail "evaluate does not go on"
status=0
cp twins/report.json kept.json
twins rounds/policy.pt --resume >/dev/null 2>err || status=$?
[[ $status -eq 2 && $(wc -l <err) -eq 1 ]] && grep -q 'rounds/policy.pt' err && cmp -s kept.json twins/report.json ||
  fail "another policy goes on with the report of the first ($status): $(cat err)"

# Where validation's costs are measured, graphs are as well, and decide.
export REVERIE_CACHE=$here/cache
learn dream_train rollouts --world world/world.pt --out measured --seed 1 --validate-source cpu --json --quiet \
  --set dream.updates=0 --set dream.validation.sampled=1 >measured.txt
grep -q '"judged_by":"end to end on cpu".*"validation":{.*"measurements":[1-9][0-9]*}.*"greedy_measured":.*"sampled_measured":' measured.txt ||
  fail "validation measures no graphs: $(cat measured.txt)"

# The grey box: exact rewrites, by the environment's own costs or others, no real work; and what it cannot have as costs.
known() {
  learn dream_train rollouts --world world/world.pt --seed 1 --set dream.environment=grey_box \
    --set dream.updates=1 --set dream.batch=8 --json --quiet "$@"
}
for cost in '' roofline:cpu; do
  known --out "known$cost" --set dream.known_source="$cost" >known.txt
  grep -q '"training":{"resets":0,"steps":0,"cost_lookups":0,"measurements":0},"computed_steps":[1-9]' \
    known.txt || fail "the grey box is counted as real work: $(cat known.txt)"
done
status=0
known --out refused --set dream.known_source=cpu >/dev/null 2>err || status=$?
[[ $status -eq 2 && $(wc -l <err) -eq 1 && ! -e refused ]] && grep -q measures err ||
  fail "known rewards that are measured ended with status $status: $(cat err)"
status=0
known --out refused --set dream.known_source=roofline:cpu --set dream.environment=dream >/dev/null 2>err || status=$?
[[ $status -eq 2 && $(wc -l <err) -eq 1 && ! -e refused ]] && grep -q dream.known_source err ||
  fail "a source that nothing reads ended with status $status: $(cat err)"

# By the costs that the policy was trained with, unless others are named, which is said.
own=$("$reverie" optimize model.onnx --method policy --policy policy/policy.pt --budget 2 --set verify_inputs=0 \
  --json --quiet 2>err | tail -1)
[[ $own == *'"cost_source":"roofline:t4"'* && ! -s err ]] || fail "not the costs of the policy: $own $(cat err)"
"$reverie" optimize model.onnx --method policy --policy policy/policy.pt --budget 2 --set verify_inputs=0 \
  --cost roofline:cpu --quiet 2>err | grep -q roofline:cpu || fail "the costs that are named are not taken"
[[ $(cat err) == *'policy.pt was trained with costs by roofline:t4, not roofline:cpu' ]] ||
  fail "other costs than the policy's are taken without a word: $(cat err)"

status=0
"$reverie" optimize model.onnx --policy policy/policy.pt --quiet >/dev/null 2>err || status=$?
[[ $status -eq 2 && $(cat err) == *'--policy is for --method policy, not rulelist' ]] ||
  fail "a policy that is not asked for is passed over ($status): $(cat err)"

# In the environment that the policy was trained for, which nothing here names.
for search in episodes beam; do
  "$reverie" optimize model.onnx --method policy --policy policy/policy.pt --search $search \
    --budget 10 --cost roofline:t4 --out guided.onnx --quiet | grep -q 'by policy:' ||
    fail "optimize --search $search prints no table"
done
"$reverie" optimize model.onnx --method policy --policy policy/policy.pt --budget 5 --measurements 3 \
  --cost roofline:t4 --quiet | grep -q 'measured end to end 3 times' ||
  fail "what a policy comes by is not measured"
"$reverie" optimize model.onnx --method ppo --measurements 3 --cost roofline:t4 --set ppo.batch=2 --quiet |
  grep -q 'measured end to end 3 times' || fail "nothing is learned from measurements"
for file in rollouts/shard-00000.h5 report/report.json report/report.md report/report.html \
            rounds/policy.pt rounds/round-2/rollouts/shard-00000.h5 better.onnx; do
  [[ -s $file ]] || fail "$file is missing"
done
for directory in rollouts encoder world policy report; do
  [[ -s $directory/config.yaml ]] || fail "$directory holds no configuration"
done
for file in rollouts encoder/encoder.pt world/world.pt policy/policy.pt better.onnx; do
  "$reverie" inspect $file --json | grep -q '"kind":' || fail "inspect does not know $file"
done

# Start graphs that are held out for testing are neither learned on nor judged on: a validation begins seven
# episodes on the one that is left. And a model that is no longer what was collected on is refused.
"$reverie" collect model.onnx other.onnx --out two --seed 1 --set collect.test_graphs=1 --set collect.episodes=12 \
  --set env.horizon=6 --set env.rewrite.region_nodes=8 --cost roofline:t4 --quiet
learn train_vae two --out two_v --seed 1 --set vae.epochs=1 --quiet
learn train_mdnrnn two --encoder two_v/encoder.pt --out two_m --seed 1 --set mdnrnn.epochs=1 --quiet
held_out() {
  learn dream_train two --world two_m/world.pt --seed 1 --set dream.updates=1 --set dream.validate_start=false \
    --set dream.environment=live --set dream.batch=4 --json --quiet "$@"
}
held_out --out two_c >two.txt
grep -q '"validation":{"resets":7,' two.txt || fail "a held out graph is judged on: $(cat two.txt)"
mv other.onnx kept.onnx && cp model.onnx other.onnx
held_out --out changed 2>changed.txt && fail "a model that changed is taken"
[[ $(cat changed.txt) == *"'other' is no longer what the rollouts were collected on"* && ! -e changed ]] ||
  fail "a model that changed: $(cat changed.txt)"
