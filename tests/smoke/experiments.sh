#!/usr/bin/env bash
# experiments/run.py: what is done is not repeated, what failed is tried again, an interrupt keeps nothing of what ran,
# arms share their steps, wrong files are refused. Exit status 77 where python3 is missing.
# Usage: experiments.sh REVERIE LEARNING
source "$(dirname "$0")/../support/smoke.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
learning=$2

# A program that logs how it was called, fails for one method until there is a file, and waits for another.
cat >fake <<'END'
#!/usr/bin/env bash
echo "$*" >>calls
case "$*" in
  *" bad "*) [[ -e ready ]] || { echo reason >&2; exit 1; } ;;
  *" slow "*) trap 'exit 0' TERM; sleep 60 & echo $! >sleeper; wait ;;
  *" pair "*) touch "here$$"; for i in {1..200}; do [[ $(ls here* | wc -l) -ge 2 ]] && break; sleep 0.05; done
              [[ $(ls here* | wc -l) -ge 2 ]] || exit 1 ;;
esac
echo "progress"
echo '{"model":"x","improvement_percent":1,"cost_source":"c","rewrites":[1]}'
END
chmod +x fake
mkdir models && touch models/m.onnx
cat >queue.toml <<'END'
question = "Does it go on?"
models = ["m"]
seeds = [1, 2]
[all]
cost = "c"
[arms.good]
method = "greedy"
set.search.queue = 3
[arms.bad]
seeds = [1]
method = "bad"
without = ["a", "b"]
finish = true
END
run() { REVERIE=$here/fake timeout 60 "$root/experiments/run.py" "$1" --models models --out out "${@:2}" >said 2>err; }

run queue.toml --dry-run || fails "dry run: $(cat err)"
[[ $(wc -l <said) -eq 3 && ! -e calls && ! -e out/queue.jsonl ]] || fails "a dry run does something: $(cat said)"
grep -q -- 'models/m.onnx --cost c --method greedy --set search.queue=3 --seed 2 --quiet --json$' said || fails "$(cat said)"
grep -q -- '--finish --method bad --without a --without b --seed 1' said || fails "$(cat said)"
run queue.toml
[[ $? -eq 1 ]] && grep -q 'm bad 1: status 1: .*bad.* (see .*log)' err || fails "a failure is not told: $(cat err)"
[[ $(wc -l <out/queue.jsonl) -eq 2 ]] || fails "the runs beside a failure must be done"
grep -q '"method":"good","seed":2' out/queue.jsonl && ! grep -q rewrites out/queue.jsonl || fails "$(cat out/queue.jsonl)"
run queue.toml --dry-run
[[ $(wc -l <said) -eq 1 ]] && grep -q bad said || fails "what is done is to be done again: $(cat said)"
touch ready
run queue.toml || fails "what failed is not tried again: $(cat err)"
[[ $(wc -l <calls) -eq 4 && $(wc -l <out/queue.jsonl) -eq 3 ]] || fails "what was done is run again: $(cat calls)"
printf '{"half' >>out/queue.jsonl
run queue.toml || fails "a line that was cut off: $(cat err)"
[[ $(wc -l <calls) -eq 4 && $(wc -l <out/queue.jsonl) -eq 3 ]] || fails "a line that was cut off is kept"
sed -i '/"method":"good","seed":2/d' out/queue.jsonl
run queue.toml || fails "a line that was removed: $(cat err)"
[[ $(wc -l <calls) -eq 5 && $(wc -l <out/queue.jsonl) -eq 3 ]] || fails "a run whose line was removed is not made anew"
run queue.toml --set search.queue=4
[[ $? -eq 2 ]] && grep -q 'queue.jsonl has m good 1 by other commands' err || fails "other commands: $(cat err)"
run queue.toml --only good --seeds 3-4 --option budget=7 --cost d || fails "$(cat err)"
grep -q -- '--budget 7 --cost d --method greedy .* --seed 4' calls || fails "options are not taken: $(tail -1 calls)"

# Parts: together all runs, those that share a step in one part; the whole call takes their lines over.
cat >parts.toml <<'END'
question = "Do parts make a whole?"
models = ["m"]
seeds = [1, 2, 3]
[arms.one]
method = "greedy"
[arms.same]
method = "greedy"
[arms.other]
method = "beam"
END
rm -f calls
for part in 3/3 1/3 2/3; do run parts.toml --part $part || fails "part $part: $(cat err)"; done
[[ $(sort calls | uniq -c | wc -l) -eq 6 && $(wc -l <calls) -eq 9 ]] || fails "runs are left out: $(cat calls)"
for seed in 1 2 3; do
  [[ $(grep -l "\"same\",\"seed\":$seed" out/parts.part-*) == $(grep -l "\"one\",\"seed\":$seed" out/parts.part-*) ]] ||
    fails "runs that share a step are in two parts"
done
[[ $(cat out/parts.part-?-of-3.jsonl | wc -l) -eq 9 ]] || fails "parts are not all runs"
run parts.toml || fails "the whole after its parts: $(cat err)"
[[ $(wc -l <calls) -eq 9 && $(wc -l <out/parts.jsonl) -eq 9 ]] || fails "what parts did is done again"
run parts.toml --part 4/3
[[ $? -eq 2 ]] && grep -q 'part 4/3: write 3/16' err || fails "a part that there is not: $(cat err)"
printf '#!/bin/sh\nfor word; do echo "$word"; done >submitted\n' >sbatch && chmod +x sbatch
PATH=$here:$PATH run parts.toml --only one --slurm 4 || fails "Slurm: $(cat err)"
[[ $(sed -n 1p submitted) == --array=1-4 ]] || fails "no array: $(cat submitted)"
rm -rf out/parts* calls && PATH=$PATH SLURM_ARRAY_TASK_ID=2 REVERIE=$here/fake bash -c "$(sed -n 3p submitted)" 2>err ||
  fails "what was submitted does not run: $(cat err)"
[[ -s out/parts.part-2-of-4.jsonl ]] || fails "what was submitted is no part"

# Another command, on files of another kind.
touch models/t.json
printf 'question="q"\ncommand="adapt"\nending="json"\n[arms.fixed]\nmethod="fixed:go on"\n' >other.toml
run other.toml || fails "another command: $(cat err)"
grep -q '^adapt models/t.json --method fixed:go on --seed 1 --quiet --json$' calls || fails "$(tail -1 calls)"

# A graph that the command makes is no file.
printf 'question="q"\ncommand="place"\nmodels=["generate:layers:100:1"]\n[arms.a]\nmethod="heft"\n' >made.toml
run made.toml || fails "a synthetic graph: $(cat err)"
grep -q '^place generate:layers:100:1 --method heft --seed 1 --quiet --json$' calls || fails "$(tail -1 calls)"

# So many at a time: two runs that wait for each other end only side by side.
printf 'question="q"\nmodels=["m"]\nseeds=[1,2]\n[arms.pair]\nmethod="pair"\n' >pair.toml
run pair.toml --jobs 2 || fails "two runs do not go side by side: $(cat err)"
(sed 's/pair/other/; 1i alone=true' pair.toml) >alone.toml
run alone.toml --jobs 2
[[ $? -eq 2 ]] && grep -q 'leave out --jobs' err || fails "runs that must not disturb each other: $(cat err)"

# An interrupt ends what runs, with all that it started, and keeps nothing of it, also where it ends well.
printf 'question="q"\nmodels=["m"]\n[arms.slow]\nmethod="slow"\n[arms.never]\nmethod="never"\n' >slow.toml
for signal in TERM INT HUP; do
  rm -f sleeper
  (trap - INT HUP; REVERIE=$here/fake exec setsid python3 "$root/experiments/run.py" slow.toml --models models --out out) \
    >said 2>err & process=$!
  for ((i = 0; i < 200; ++i)); do [[ -s sleeper ]] && break; sleep 0.05; done
  kill -$signal $process
  wait $process
  [[ $? -eq 130 ]] && grep -q 'interrupted; the same command goes on' err || fails "$signal: $(cat err)"
  [[ ! -s out/slow.jsonl ]] && ! grep -q never calls || fails "an interrupted run left something"
  for ((i = 0; i < 40; ++i)); do kill -0 "$(cat sleeper)" 2>/dev/null || break; sleep 0.05; done
  kill -0 "$(cat sleeper)" 2>/dev/null && fails "what a run started goes on ($signal)"
done

# Wrong input: one line, status 2.
refused() {  # WORDS ARGUMENT...
  run "${@:2}"
  [[ $? -eq 2 && $(wc -l <err) -eq 1 ]] && grep -q -- "$1" err || fails "${*:2}: $(cat err)"
}
printf 'question = "q"\narm = 1\n' >key.toml
printf 'question = "q"\n' >none.toml
printf 'question = \n' >torn.toml
printf 'question="q"\n[arms.a]\nlearn.deram.depth=1\n' >step.toml
printf 'question="q"\n[arms.a]\nlike="b"\n[arms.b]\n' >later.toml
refused "unknown key 'arm'" key.toml
refused 'has no `arms`' none.toml
refused 'torn.toml: ' torn.toml
refused 'No such file' missing.toml
refused "no step has the setting 'deram.depth'" step.toml
refused "no arm 'b'" later.toml
refused "no arm 'nonsense'; there are good, bad" queue.toml --only nonsense
refused 'there is no model models/no.onnx' queue.toml no
refused "is no seed" queue.toml --seeds 1-x
refused "'x' is no KEY=VALUE" queue.toml --set x

# Every experiment of this folder can be planned: its arms, models, settings and the policies that it takes are there.
mkdir all
for name in squeezenet1_1 bert_tiny bert_base vit_b_16 nasrnn nasnet_a inception_v3 resnet18 resnet50 resnext50_32x4d \
            taso_bert taso_resnext50; do echo $name >all/$name.onnx; done
for name in cnn1-early cnn1-middle cnn1-late cnn2-early-middle {chain,residual}-{0.1,0.25,0.4,0.55,0.7} \
            digits-{chain,residual}-{0.1,0.4,0.7}; do
  echo $name >all/$name.json
done
for name in chain residual; do echo $name >all/$name.yaml; done
for file in "$root"/experiments/*/*.toml; do
  REVERIE=$here/fake "$root/experiments/run.py" "$file" --models all --out plans --dry-run >said 2>err ||
    fails "$file: $(cat err)"
  [[ -s said ]] || fails "$file plans nothing"
done

# Searches on a small model, to the table.
"$reverie" model squeezenet_small --light --out models/small.onnx >/dev/null || exit 1
cat >search.toml <<'END'
question = "Which?"
models = ["small"]
seeds = [1, 2]
chosen = ["short"]
tables = ["--versus greedy", "--where setting=short --at expansions=5 --versus greedy"]
[all]
cost = "roofline:t4"
set.verify_inputs = 0
[settings.short]
[settings.long]
budget = 80
[arms.greedy]
seeds = [1]
method = "greedy"
[arms.lists]
method = "rulelist"
budget = 20
END
real() { REVERIE=$reverie "$root/experiments/run.py" "$1" --models models --out out "${@:2}" >table 2>err; }
real search.toml || fails "a search: $(cat err)"
[[ $(grep -c '^| lists | 2 | ' table) -eq 2 ]] || fails "no tables: $(cat table)"
mv table first
real search.toml && cmp -s table first || fails "the same runs give another table: $(cat err)"
gzip -k out/search.jsonl
"$reverie" summarize out/search.jsonl.gz --versus greedy >packed && cmp -s packed <(head -n "$(wc -l <packed)" table) ||
  fails "packed results give another table: $(cat packed)"

[[ $learning == ON || $learning == 1 || $learning == TRUE ]] || exit $failures
cat >learn.toml <<'END'
question = "Does it learn?"
models = ["small"]
[all]
cost = "roofline:t4"
learn.collect.episodes = 6
learn.env.horizon = 8
learn.vae.epochs = 1
learn.mdnrnn.epochs = 1
learn.dream.updates = 0
learn.dream.validation.sampled = 1
learn.dream.validation.dreams = 1
learn.iterate.rounds = 1
[arms.imitation]
[arms.dream]
learn.dream.updates = 1
END
cat >guided.toml <<'END'
question = "Does it guide?"
models = ["small"]
[all]
cost = "roofline:t4"
[arms.guided]
policy = "learn:dream"
search = "beam"
budget = 50
END
cat >agent.toml <<'END'
question = "Does it learn alone?"
models = ["small"]
[arms.agent]
cost = "roofline:t4"
learn.collect.agent = "ppo"
learn.collect.episodes = 2
learn.env.horizon = 8
learn.ppo.updates = 1
learn.ppo.batch = 1
END
real learn.toml || fails "learning: $(cat err)"
[[ $(grep -c '"collect_episodes":6,' out/learn.jsonl) -eq 2 ]] || fails "not every arm has a line of 6 episodes"
grep -q '"trace":\[{"real_steps":' out/learn.jsonl || fails "a validation leaves no point"
for step in collect train_vae train_mdnrnn; do
  [[ $(ls -d out/steps/*-$step-*/ | wc -l) -eq 1 ]] || fails "arms do not share $step"
done
[[ $(ls -d out/steps/*-dream_train-*/ | wc -l) -eq 2 ]] || fails "arms share a policy"
real guided.toml || fails "a policy as a guide: $(cat err)"
[[ $(ls -d out/steps/*-dream_train-*/ | wc -l) -eq 2 ]] || fails "the policy of another experiment is trained again"
grep -q '"method":"guided"' out/guided.jsonl || fails "the policy guides nothing"
real agent.toml || fails "an agent: $(cat err)"
grep -q '"real_steps":[1-9].*"judging_steps":[1-9]' out/agent.jsonl || fails "steps are not told: $(cat out/agent.jsonl)"

# Where nothing is held out the steps say what chose.
"$reverie" collect models/small.onnx --out whole --quiet --set env.horizon=8 --set collect.episodes=4 --set collect.test=0 \
  --set collect.validation=0 >/dev/null
"$reverie" train_vae whole --out v --quiet --set vae.epochs=1 | grep -q 'best training loss' ||
  fails "validation is said where nothing is held out"
"$reverie" train_mdnrnn whole --encoder v/encoder.pt --out m --quiet --set mdnrnn.epochs=1 |
  grep -q '^No episodes are held out' || fails "an open-loop report of no episodes"
exit $failures
