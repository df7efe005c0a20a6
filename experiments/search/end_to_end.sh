#!/usr/bin/env bash
# Optimizes every model by measured operators, confirms the result end to end, and prints the gains and how
# well the sum over operators predicts them.
#
#   experiments/search/end_to_end.sh [--models DIR] [--out DIR] [--cost SOURCE] [--machine NAME] [--method NAME]
#                                    [--policy FILE] [--contenders N] [--seconds S] [--budget N] [--seed N]
#                                    [NAME...]
#
# One line of JSON per model goes to a file in OUT (default runs/end_to_end) named by cost, machine and method;
# models that stand there already are not run again, and other settings than it was begun with are refused. S bounds
# the runs of one model (default 60). Graphs run where costs are measured, or on the machine NAME.
# The method policy plays FILE, as `dream_train` wrote it.
set -euo pipefail

source "$(dirname "$0")/../options.sh"
out=$root/runs/end_to_end
cost=cpu
machine=
method=taso
policy=
contenders=4
seconds=60
budget=100
seed=1

read_options "models out cost machine method policy contenders seconds budget seed" "" "$@"
need_models
[[ ${#names[@]} -gt 0 ]] || mapfile -t names < <(all_models)
mkdir -p "$out"
results=$out/$(tr ":/" "--" <<<"$cost${machine:+-on-$machine}")-$method${policy:+-$(cksum <"$policy" | cut -d' ' -f1)}-budget$budget-seed$seed.jsonl
same_settings "$results" "--models $models --contenders $contenders --seconds $seconds"
touch "$results"

known() { grep -F "\"model\":\"$models/$1.onnx\"" "$results" | tail -1; }

for name in "${names[@]}"; do
  [[ -n $(known "$name" || true) ]] && continue
  line=$("$reverie" optimize "$models/$name.onnx" --method "$method" --cost "$cost" --confirm \
           --contenders "$contenders" --set confirm_seconds="$seconds" --set verify_inputs=1 \
           --set machine="$machine" ${policy:+--policy "$policy"} \
           --budget "$budget" --seed "$seed" --quiet --json | tail -1)
  echo "$line" >>"$results"
done

# model, winner, then cost ms, median ms, ratio, low, high, finalist of each contestant: a line each
contestants() {
  for name in "${names[@]}"; do
    local line winner
    line=$(known "$name" || true)
    winner=$(sed -n 's/.*"winner":\([0-9]*\).*/\1/p' <<<"$line")
    grep -o '{"cost_ms":[^}]*"finalist":[a-z]*}' <<<"$line" |
      sed 's/[{}]//g; s/"[a-z_]*"://g; s/,/ /g' |
      awk -v name="$name" -v winner="$winner" '{ print name, winner, NR - 1, $1, $2, $3, $4, $5, $7 }'
  done
}

sums=${results%.jsonl}-sums changes=${results%.jsonl}-changes
contestants | awk -v sums="$sums" -v changes="$changes" '
function gain(ratio) { return 100 * (1 - ratio) }
BEGIN { printf "| model | before: ms | after: ms | gain %% | 95%% interval | sum before | sum after | gain by sum %% |\n"
        printf "| --- | --: | --: | --: | --- | --: | --: | --: |\n"
        printf "" >sums; printf "" >changes }
$3 == 0 { before = $4; time = $5 }
$3 == $2 {  # the winner, or the original where nothing won
  printf "| %s | %.3f | %.3f | %.1f | %.1f to %.1f | %.3f | %.3f | %.1f |\n", $1, time, $5, gain($6), gain($8), gain($7), before, $4, gain($4 / before)
  ++models; gained += $3 > 0
}
$3 == 0 || $3 == $2 { printf "{\"sum\":%s,\"time\":%s}\n", $4, $5 >sums }
$3 > 0 && $9 == "true" { printf "{\"change_by_sum\":%.9g,\"change_of_time\":%s}\n", $4 / before, $6 >changes }
END { printf "\n%d of %d gain beyond the interval; the others stay as they are.\n", gained, models }'
[[ ! -s $sums ]] || "$reverie" summarize "$sums" --correlate sum time
[[ ! -s $changes ]] || "$reverie" summarize "$changes" --correlate change_by_sum change_of_time
fallbacks=$(for name in "${names[@]}"; do known "$name" || true; done | grep -o '"fallbacks":[0-9]*' || true)
[[ -z $fallbacks ]] || awk -F: '$2 > most { most = $2 }
END { if (most > 0) printf "\nUp to %d nodes of a graph ran on the reference kernels: ", most
      if (most > 0) print "these, and on a GPU all transfers for them, are in the times." }' <<<"$fallbacks"
shares=$(for name in "${names[@]}"; do known "$name" || true; done | grep -o '"estimated_share_[a-z]*":[^,]*' || true)
[[ -z $shares ]] || awk -F: '$2 > most { most = $2 } END { printf "\nOf a sum over operators at most %.1f %% is estimated.\n", 100 * most }' <<<"$shares"
