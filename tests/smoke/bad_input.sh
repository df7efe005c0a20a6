#!/usr/bin/env bash
# Everything that a person can get wrong gives one clear line on standard error and exit status 2,
# and leaves nothing under the final name. Usage: bad_input.sh REVERIE [LEARNING: ON or OFF]
set -u
reverie=$1
learning=${2:-ON}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failures=0
checks=0

# refuses PATTERN COMMAND...: the command must fail as said above, with a message that matches.
refuses() {
  local pattern=$1
  shift
  checks=$((checks + 1))
  "$@" >out 2>err </dev/null
  local status=$?
  if [[ $status -ne 2 || $(wc -l <err) -ne 1 ]] || ! grep -qE -- "$pattern" err; then
    failures=$((failures + 1))
    echo "FAILED ($status): $*"
    echo "  expected one line that matches: $pattern"
    sed 's/^/  | /' err | head -5
  fi
}

# absent PATH...: none of these may exist.
absent() {
  local path
  for path in "$@"; do
    checks=$((checks + 1))
    [[ ! -e $path ]] || { failures=$((failures + 1)); echo "FAILED: $path was left behind"; }
  done
}

# holds WHAT COMMAND...: the command must succeed.
holds() {
  local what=$1
  shift
  checks=$((checks + 1))
  "$@" || { failures=$((failures + 1)); echo "FAILED: $what"; }
}

reverie() { "$reverie" "$@"; }
collect() { reverie collect "$@" --set collect.episodes=6 --set env.horizon=4 --cost roofline:t4 --quiet; }

reverie model squeezenet_small --light --out good.onnx >/dev/null || exit 1
collect good.onnx --out rollouts >/dev/null || exit 1
shard=$(find rollouts -name '*.h5' | head -1)

head -c 1000 good.onnx >cut.onnx
head -c 5000 /dev/urandom >random.onnx
mkdir folder.onnx cut random
head -c 2000 "$shard" >cut/"$(basename "$shard")"
head -c 5000 /dev/urandom >random/"$(basename "$shard")"
cp rollouts/*.yaml cut/ 2>/dev/null
head -c 5000 /dev/urandom >random.pt
printf 'collect: [' >broken.yaml
printf 'collect:\n  epsiodes: 4\n' >misspelt.yaml
printf 'rule x\n  match y = Nonsense(a)\n' >bad.rules
printf 'text' >file

# Options and keys
refuses 'unknown|not expected' reverie --nonsense
refuses 'nonsense' reverie nonsense
refuses 'nonsense' reverie optimize good.onnx --nonsense
refuses "no machine 'gpu'; known are cpu" reverie optimize good.onnx --confirm --set machine=gpu --quiet
refuses 'alpha' reverie optimize good.onnx --alpha much
refuses 'episodes.*beam' reverie optimize good.onnx --method policy --search nonsense
refuses '--without nonsense' reverie optimize good.onnx --without nonsense
refuses 'verify_inputs=0' reverie optimize good.onnx --set verify_inputs=0 --out new.onnx
refuses 'verify_inputs=0' reverie optimize good.onnx --set verify_inputs=0 --contenders-out new
refuses 'no/page.html' reverie optimize good.onnx --report no/page.html
refuses 'would replace the model' reverie optimize good.onnx --report ./good.onnx
refuses 'would replace the model' reverie optimize good.onnx --out new.onnx --report new.onnx
refuses "'abacus'.*h200" reverie optimize good.onnx --cost roofline:abacus
if [[ ! -e /proc/driver/nvidia/version && ! -e /dev/dxg ]]; then  # there is no driver of a GPU
  for cost in cuda cuda:fp16; do
    refuses 'CUDA' reverie optimize good.onnx --cost $cost --out new.onnx
    refuses 'CUDA' reverie profile good.onnx --cost $cost --search-depth 0 --out new.h5 --quiet
  done
fi
for seed in -1 99999999999999999999 1.5 much; do
  refuses "seed.*$seed" reverie collect good.onnx --out new --seed $seed
  refuses "seed.*$seed" reverie optimize good.onnx --seed $seed
done
refuses 'misspelt.yaml.*epsiodes' reverie collect good.onnx --out new --config misspelt.yaml
refuses 'epsiodes' reverie collect good.onnx --out new --set collect.epsiodes=4
refuses "'3/2' is no part: write 3/16" reverie collect good.onnx --out new --part 3/2
refuses "part 1/9: there are fewer shards .1." collect good.onnx --out new --part 1/9
refuses 'broken.yaml' reverie collect good.onnx --out new --config broken.yaml
refuses 'missing.yaml' reverie collect good.onnx --out new --config missing.yaml
refuses 'nonsense' reverie model nonsense --out new
refuses 'the zoo has no model .quagga.' reverie model zoo/quagga --out new
refuses 'no option but seed' reverie model zoo/mlp --image 32 --out new
absent new new.onnx new.h5

# Models and rules
for model in cut.onnx random.onnx folder.onnx missing.onnx; do
  refuses "$model" reverie optimize $model --out new.onnx
  refuses "$model" reverie inspect $model
  refuses "$model" reverie collect $model --out new
done
refuses 'bad.rules:' reverie optimize good.onnx --rules bad.rules --out new.onnx
refuses 'random.onnx' reverie optimize good.onnx --rules random.onnx --out new.onnx
refuses "input 'input' is 1,3,64,64" reverie optimize good.onnx --shape input=1,2 --out new.onnx
refuses "no input 'nobody'; it has input" reverie optimize good.onnx --range nobody=0,1 --out new.onnx
refuses "range input=1: expected NAME=LOW,HIGH" reverie optimize good.onnx --range input=1 --out new.onnx
refuses "2 is above 1" reverie rules apply good.onnx --range input=2,1 --out new.onnx
refuses "good.onnx: is no .npz archive" reverie optimize good.onnx --inputs good.onnx --out new.onnx
refuses "nonsense.*reverie rules list" reverie rules show nonsense
refuses 'bad.rules:' reverie rules verify bad.rules
refuses 'missing.rules' reverie rules list missing.rules
refuses "nonsense" reverie rules apply good.onnx nonsense --out new.onnx
refuses 'missing.onnx' reverie rules apply missing.onnx --out new.onnx
refuses 'nowhere' reverie rules apply good.onnx --out nowhere/new.onnx
for rules in random.onnx bad.rules missing.pb; do
  refuses "$rules" reverie rules import $rules --out new.rules
done
absent new new.onnx new.rules

# Rollouts, checkpoints, cost tables and fitted costs
for data in cut random folder.onnx missing; do
  refuses "$data" reverie inspect $data
done
for table in random.pt missing.h5 good.onnx; do
  refuses "$table" reverie optimize good.onnx --cost table:$table --out new.onnx
  refuses "$table" reverie optimize good.onnx --cost fitted:$table --out new.onnx
done
refuses 'a file or --operators' reverie inspect
refuses 'a file or --operators' reverie inspect some.onnx --operators
refuses 'a file or --operators' reverie inspect some.onnx other.onnx
refuses '--devices requires --env' reverie inspect some.onnx --devices 8xh100
refuses "toy takes no --cost" reverie inspect --env toy --cost roofline:t4
refuses "no inputs, such as 'some.onnx'" reverie inspect --env toy some.onnx
refuses 'leave out --operators' reverie inspect --env toy --operators
refuses "unknown key 'env.toy.size'" reverie inspect --env toy --set env.toy.size=3
refuses 'too long' reverie inspect "$(printf 'x%.0s' {1..300})"
refuses 'finite number' reverie optimize good.onnx --set max_weight_growth=inf
refuses '--measurements N' reverie optimize good.onnx --fit-out new.h5
refuses '--measurements N' reverie optimize good.onnx --method ppo
refuses "'cpu', which measures" reverie optimize good.onnx --method surrogate --measurements 7 --cost cpu --fit-out new.h5
refuses 'file/new.h5' reverie optimize good.onnx --method surrogate --measurements 7 --cost roofline:cpu --fit-out file/new.h5
absent new.h5
if [[ $learning == ON ]]; then
  for data in cut random folder.onnx missing; do
    refuses "$data" reverie train_vae $data --out new
  done
  for checkpoint in random.pt missing.pt folder.onnx good.onnx; do
    refuses "$checkpoint" reverie train_mdnrnn rollouts --encoder $checkpoint --out new
    refuses "$checkpoint" reverie train_mdnrnn rollouts --from $checkpoint --out new
    refuses "$checkpoint" reverie dream_train rollouts --world $checkpoint --out new
    refuses "$checkpoint" reverie evaluate good.onnx --policy $checkpoint --out new
    refuses "$checkpoint" reverie optimize good.onnx --method policy --policy $checkpoint --out new.onnx
  done
  refuses 'either --encoder, or --from' reverie train_mdnrnn rollouts --out new
  refuses 'dream.updates=0' reverie dream_train rollouts --world random.pt --set dream.trainer=plan --out new
  refuses 'threads' reverie train_vae rollouts --threads 0 --out new
  refuses 'file/new' reverie train_vae rollouts --out file/new
fi
absent new new.onnx

# Options that would do nothing
refuses '--search is for --method policy, not greedy' reverie optimize good.onnx --method greedy --search beam
[[ $learning != ON ]] ||
  refuses 'random.pt' reverie optimize good.onnx --policy random.pt
refuses 'toy.*--cost' reverie collect --env toy --cost roofline:t4 --out new
refuses 'toy.*--rules' reverie collect --env toy --rules bad.rules --out new
refuses 'toy.*--shape' reverie collect --env toy --shape input=1,2 --out new
absent new

# Too much of something
refuses 'threads: 100000.*1024' reverie optimize good.onnx --threads 100000
refuses 'threads' reverie rules generate --threads 100000 --out new.rules
refuses "cpu:100000|'100000'" reverie optimize good.onnx --cost cpu:100000
printf 'rule grow\nmatch\n  y = Relu(a)\nreplace\n  y = Relu(Relu(a))\nexample a: [2, 3]\n' >grow.rules
holds 'a growing rule ends and says so' timeout 60 "$reverie" rules apply good.onnx grow --rules grow.rules >out 2>err
holds 'the end of a growing rule is told' grep -q 'ended after 10000 nodes; [0-9]* matches are left' err
holds 'rounds end it, too' timeout 60 "$reverie" rules apply good.onnx grow --rules grow.rules --rounds 2 >out 2>err
holds 'the end by rounds is told' grep -q 'ended after 2 rounds; [0-9]* matches are left' err
refuses 'no_[x]*[.][.][.]x' reverie optimize good.onnx --method "no_$(printf 'x%.0s' {1..100000})"
holds 'long names are shortened' test "$(wc -c <err)" -lt 1000
absent new.rules

# A pipe is waited for by nobody
mkfifo pipe.onnx
refuses 'pipe.onnx.*regular' timeout 20 "$reverie" inspect pipe.onnx
refuses 'pipe.onnx.*regular' timeout 20 "$reverie" optimize pipe.onnx --out new.onnx

# Two that write one directory
refuses "rollouts: process [0-9]* writes it|rollouts: another process writes it" \
  flock rollouts "$reverie" collect good.onnx --out rollouts --resume --set collect.episodes=6 --set env.horizon=4 \
  --cost roofline:t4 --quiet

# Streams that cannot be written
status_is() {
  local wanted=$1 is
  shift
  "$@"
  is=$?
  [[ $is -eq $wanted ]] || { echo "  status $is, not $wanted"; return 1; }
}
holds 'standard output that is full is an error' status_is 2 "$reverie" rules list >/dev/full 2>err
holds 'and one line says so' grep -q '^reverie: standard output cannot be written: No space left' err
holds 'standard output that is closed is an error' status_is 2 "$reverie" rules list >&- 2>err
holds 'standard error that is full changes nothing' "$reverie" optimize good.onnx --method greedy --cost roofline:cpu --out full.onnx >out 2>/dev/full
holds 'standard error that is closed changes nothing' "$reverie" optimize good.onnx --method greedy --cost roofline:cpu --out closed.onnx >out 2>&-
holds 'the result is there' cmp full.onnx closed.onnx
holds 'with standard output full the result is there' status_is 2 "$reverie" optimize good.onnx --method greedy --cost roofline:cpu --out kept.onnx >/dev/full 2>err
holds 'and the same' cmp full.onnx kept.onnx
holds 'an error that cannot be told has its status' status_is 2 "$reverie" optimize missing.onnx 2>/dev/full

# What is missing is told before anything is searched
refuses '--out TABLE says where' reverie profile good.onnx --quiet

# Results of experiments
printf '{"model":"a","method":"x","seed":1,"improvement_percent":3}\n' >runs.jsonl
printf '{"model":"a"\n' >torn.jsonl
: >empty.jsonl
refuses "runs.jsonl:1: has no field 'nonsense'; its fields are" reverie summarize runs.jsonl --metric nonsense
refuses "runs.jsonl:1: has no field 'nonsense'" reverie summarize runs.jsonl --metric seed,nonsense --x seed --plot new.svg
refuses "runs.jsonl:1: has no field ''" reverie summarize runs.jsonl --metric ''
refuses "runs.jsonl:1: field 'method' is x, no number" reverie summarize runs.jsonl --metric method
refuses 'runs.jsonl:1: x on a .*runs.jsonl:1' reverie summarize runs.jsonl runs.jsonl
refuses "there are x" reverie summarize runs.jsonl --versus nonsense
for option in '--x seed' --log-x --log-y --straight '--x-label x' '--y-label y' '--title t'; do
  # shellcheck disable=SC2086
  refuses "${option%% *} requires --plot" reverie summarize runs.jsonl $option
done
for option in '--gap-base x' '--min-gap 2'; do
  # shellcheck disable=SC2086
  refuses "${option%% *} requires --gap-closed" reverie summarize runs.jsonl $option
done
refuses 'its values are x' reverie summarize runs.jsonl --where method=nonsense
refuses 'FIELD=VALUE' reverie summarize runs.jsonl --where nonsense
refuses 'much.*no number' reverie summarize runs.jsonl --at seconds=much
refuses 'greedy has no run on a' reverie summarize runs.jsonl --gap-closed
refuses 'new.png' reverie summarize runs.jsonl --plot new.png
refuses 'runs.jsonl:1: has neither' reverie summarize runs.jsonl --plot new.svg --x seconds
refuses 'torn.jsonl:1: is no JSON' reverie summarize torn.jsonl
for results in random.pt empty.jsonl missing.jsonl folder.onnx; do
  refuses "$results" reverie summarize $results
done
absent new.png new.svg

# Places that cannot be written
refuses 'file/new' collect good.onnx --out file/new
refuses 'file/new' reverie optimize good.onnx --out file/new.onnx
refuses 'file/new' reverie model squeezenet_small --light --out file/new.onnx
refuses 'rollouts' collect good.onnx --out rollouts
refuses 'file.*directory' reverie optimize good.onnx --contenders-out file
refuses '/proc/new' reverie optimize good.onnx --out /proc/new.onnx

echo "$((checks - failures)) passed, $failures failed"
[[ $failures -eq 0 && $checks -gt 40 ]]
