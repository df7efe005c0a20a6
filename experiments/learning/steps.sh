#!/usr/bin/env bash
# One run: collect, train_vae, train_mdnrnn, dream_train, and the policy played for real. Prints a line of JSON.
#
#   experiments/learning/steps.sh MODEL TRAIN DIRECTORY ARM SEED [KEY=VALUE]...
#
# V, M and C learn on DEVICE of the environment (cpu where it is not set).
# It learns on TRAIN, models separated by commas, and is played on MODEL. A setting goes to the step that it is for, by its first word; of settings that are given twice the last
# holds. An arm without a setting for dream_train ends with its collection: an agent that learned by itself
# (collect.agent=ppo), judged by the episodes that it collected. Settings that begin with `tune.` are for learning on after
# that, on MODEL itself: with them in place of what they name it collects there, M goes on from M and C from C, and what the
# line tells is of this alone. Directories are named by step and by a hash of the models and all settings up to it: runs that agree so far
# share them, and what is there is not made anew. The line is that of `optimize --method policy` with the best
# policy, ARM as its method, with what the steps said (README.md beside this file).
set -euo pipefail

source "$(dirname "$0")/../options.sh"
[[ $# -ge 5 ]] || refuse "usage: steps.sh MODEL TRAIN DIRECTORY ARM SEED [KEY=VALUE]..."
model=$1 directory=$3 arm=$4 seed=$5
IFS=, read -ra train <<<"$2"
shift 5
for file in "$model" "${train[@]}"; do [[ -f $file ]] || refuse "there is no model $file"; done
mkdir -p "$directory"

declare -A given=() tuned=()
for setting in "$@"; do
  [[ $setting == *.*=* ]] || refuse "'$setting' is no setting KEY=VALUE"
  key=${setting%%=*}
  if [[ $key == tune.* ]]; then tuned[${key#tune.}]=${setting#tune.}; else given[$key]=$setting; fi
done

# The settings whose key begins with one of these words, in order of their keys.
settings_of() {
  local word
  for word in "$@"; do printf '%s\n' "${!given[@]}" | { grep "^$word\." || true; }; done | sort |
    while read -r key; do printf '%s\n' "${given[$key]}"; done
}
for key in "${!given[@]}" "${!tuned[@]}"; do
  [[ ${key%%.*} =~ ^(env|collect|ppo|vae|mdnrnn|open_loop|dream|iterate)$ ]] || refuse "no step has the setting $key"
done

past="$(basename -s .onnx -a "${train[@]}" | paste -sd" ") $(cat "${train[@]}" | sha1sum) $seed"
subject=$(basename "${train[0]}" .onnx)
[[ ${#train[@]} == 1 ]] || subject+=-and-$((${#train[@]} - 1))

# step NAME WORDS ARGUMENT...: runs a step, or leaves it where it is done; sets `made` to its directory and `said`
# to what it printed.
step() {
  local name=$1 words=$2 settings=() setting
  shift 2
  mapfile -t settings < <(settings_of $words)
  past+=" $name ${settings[*]-}"
  made=$directory/$subject-$seed-$name-$(sha1sum <<<"$past" | cut -c1-10)
  local options=()
  for setting in ${settings[@]+"${settings[@]}"}; do options+=(--set "$setting"); done
  exec {lock}>"$made.lock"
  flock "$lock"
  if [[ ! -s $made.json ]]; then
    "$reverie" "$name" "$@" --out "$made" --seed "$seed" ${options[@]+"${options[@]}"} --resume --json --quiet |
      tail -1 >"$made.json.part"
    mv "$made.json.part" "$made.json"
  fi
  exec {lock}>&-
  said=$(<"$made.json")
}

# The members of an object, their names behind a prefix: prefixed PREFIX '{"a":1}' -> "PREFIX_a":1
prefixed() { sed 's/^{//; s/}$//; s/"\([a-z0-9_]*\)":/"'"$1"'_\1":/g' <<<"$2"; }
# The object behind a key, which holds no other.
object() { grep -o "\"$1\":{[^{}]*}" <<<"$2" | head -1 | sed 's/^"[^"]*"://'; }

step collect "env collect ppo" "${train[@]}"
rollouts=$made collected=$said
before=$(number steps "$(object agent_training "$collected")")
cost=$(number cost_source "$collected")
if [[ -z $(settings_of dream iterate) ]]; then
  printf '{"model":"%s","method":"%s","seed":%s,"cost_source":%s,"improvement_percent":%s,"policy_sampled_improvement":%s,"real_steps":%s,"policy_seconds":%s}\n' \
    "$model" "$arm" "$seed" "$cost" "$(number best_improvement_percent "$collected")" \
    "$(number mean_improvement_percent "$collected")" "$before" "$(number seconds "$(object agent_training "$collected")")"
  exit
fi
learn=(--device "${DEVICE:-cpu}")
step train_vae vae "$rollouts" "${learn[@]}"
encoder=$made fitted_v=$said
step train_mdnrnn "mdnrnn open_loop" "$rollouts" --encoder "$encoder/encoder.pt" "${learn[@]}"
world=$made fitted_m=$said
step dream_train "dream iterate" "$rollouts" --world "$world/world.pt" "${learn[@]}"
policy=$made trained=$said
if [[ ${#tuned[@]} -gt 0 ]]; then
  for key in "${!tuned[@]}"; do given[$key]=${tuned[$key]}; done
  subject=$(basename "$model" .onnx)
  past+=" on $subject $(sha1sum <"$model")"
  step collect "env collect ppo" "$model"
  rollouts=$made collected=$said
  before=$(number steps "$(object agent_training "$collected")")
  step train_mdnrnn "mdnrnn open_loop" "$rollouts" --from "$world/world.pt" "${learn[@]}"
  world=$made fitted_m=$said fitted_v='"seconds":0'
  step dream_train "dream iterate" "$rollouts" --world "$world/world.pt" --policy "$policy/policy.pt" "${learn[@]}"
  policy=$made trained=$said
fi

played=$("$reverie" optimize "$model" --method policy --policy "$policy/policy.pt" --cost "${cost//\"/}" \
           --budget 16 --seed "$seed" --set verify_inputs=0 --quiet --json | tail -1)

training=$(object training "$trained") validation=$(object validation "$trained")
before=$((before + $(number steps "$collected")))
real=$((before + $(number steps "$training") + $(number steps "$validation")))

# A point of the trace for each validation.
trace() {
  local row spent learned
  { grep '"real/score"' "$policy/metrics.jsonl" || true; } | while read -r row; do
    learned=$(number training_steps "$row") spent=$(number validation_steps "$row")
    sed 's/^{/{"real_steps":'"$((before + ${learned%.*} + ${spent%.*}))"',/
         s/"step":/"updates":/; s/"real\//"policy_/g' <<<"$row"
  done | paste -sd,
}
line=$(sed 's/"method":"[^"]*"/"method":"'"$arm"'"/; s/,"trace":.*/}/' <<<"$played")
line=${line%\}}
line+=",\"real_steps\":$real,$(prefixed collect "$(sed 's/,"agent_training":.*/}/' <<<"$collected")")"
line+=",\"vae_seconds\":$(number seconds "$fitted_v"),\"mdnrnn_seconds\":$(number seconds "$fitted_m")"
while read -r row; do
  line+=",$(prefixed "open_loop_$(number k "$row")" "$row")"
done < <(grep -o '{"k":[^}]*}' <<<"$fitted_m")
line+=",$(prefixed training "$training"),$(prefixed validation "$validation")"
line+=",$(prefixed policy "$(sed 's/"\(training\|validation\)":{[^}]*},\{0,1\}//g' <<<"$trained")")"
[[ ! -f $policy/metrics.jsonl ]] || line+=",\"trace\":[$(trace)]"
printf '%s}\n' "$line"
