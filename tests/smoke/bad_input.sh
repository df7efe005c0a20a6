#!/usr/bin/env bash
# Everything that a person can get wrong gives one clear line on standard error and exit status 2,
# and leaves nothing under the final name. Usage: bad_input.sh REVERIE
set -u
reverie=$1
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

reverie() { "$reverie" "$@"; }

reverie model squeezenet1_1 --size 32 --out good.onnx --quiet >/dev/null || exit 1
reverie collect good.onnx --out rollouts --set collect.episodes=6 --cost roofline:t4 --quiet >/dev/null || exit 1
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
refuses 'alpha' reverie optimize good.onnx --alpha much
refuses 'roofline:h200' reverie optimize good.onnx --cost roofline:abacus
refuses 'episodes' reverie collect good.onnx --out new --config misspelt.yaml
refuses 'epsiodes' reverie collect good.onnx --out new --set collect.epsiodes=4
refuses 'broken.yaml' reverie collect good.onnx --out new --config broken.yaml
refuses 'missing.yaml' reverie collect good.onnx --out new --config missing.yaml
refuses 'nonsense' reverie model nonsense --out new
absent new

# Models and rules
for model in cut.onnx random.onnx folder.onnx missing.onnx; do
  refuses "$model" reverie optimize $model --out new.onnx
  refuses "$model" reverie inspect $model
  refuses "$model" reverie collect $model --out new
done
refuses 'bad.rules:' reverie optimize good.onnx --rules bad.rules --out new.onnx
refuses 'random.onnx' reverie optimize good.onnx --rules random.onnx --out new.onnx
refuses 'shape' reverie optimize good.onnx --shape input=1,2 --out new.onnx
absent new new.onnx

# Rollouts and checkpoints
for data in cut random folder.onnx missing; do
  refuses "$data" reverie train_vae $data --out new
done
for checkpoint in random.pt missing.pt folder.onnx good.onnx; do
  refuses "$checkpoint" reverie train_mdnrnn rollouts --encoder $checkpoint --out new
  refuses "$checkpoint" reverie dream_train rollouts --world $checkpoint --out new
  refuses "$checkpoint" reverie evaluate good.onnx --policy $checkpoint --out new
  refuses "$checkpoint" reverie optimize good.onnx --method policy --policy $checkpoint --out new.onnx
done
absent new new.onnx

# Places that cannot be written
refuses 'file/new' reverie collect good.onnx --out file/new --set collect.episodes=2
refuses 'file/new' reverie train_vae rollouts --out file/new
refuses 'file/new' reverie optimize good.onnx --out file/new.onnx
refuses 'file/new' reverie model squeezenet1_1 --size 32 --out file/new.onnx
refuses 'rollouts' reverie collect good.onnx --out rollouts --set collect.episodes=6 --cost roofline:t4
refuses '/proc/new' reverie optimize good.onnx --out /proc/new.onnx

echo "$((checks - failures)) passed, $failures failed"
[[ $failures -eq 0 && $checks -gt 40 ]]
