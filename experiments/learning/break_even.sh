#!/usr/bin/env bash
# At which cost of a real step a dream pays: time to a policy of some quality, by arm.
#
#   experiments/learning/break_even.sh --quality PERCENT [--lines] RUNS.jsonl...
#
# RUNS are lines of run.sh, here or in ../measured. Of every model and arm: the expected running time to a policy that
# gains PERCENT or more (`improvement_percent`), that is the time of all runs, failures too, over the number of successes
# (Auger and Hansen 2005: restart until it works), in minutes, as a real step costs 0 to 5,000 ms. The time of a run is
# that of training V, M and C and of all real steps at this cost. Where whole graphs were measured, each measurement
# counts as a step, `endpoint_gain_percent` as the gain, and each budget as an arm. A dash: no run got there; an arm with
# a run that does not tell these times is left out. --lines: one JSON object for each, to be drawn: `reverie summarize LINES --x step_ms --log-x --metric minutes --lower-is-better --plot FILE`.
set -euo pipefail

source "$(dirname "$0")/../options.sh"
quality=
lines=
read_options "quality" "lines" "$@"
[[ -n $quality && ${#names[@]} -gt 0 ]] || refuse "say --quality PERCENT and name files of runs (see --help)"
for file in "${names[@]}"; do [[ -f $file ]] || refuse "there is no file $file"; done

sed 's/,"trace":\[[^]]*\]//' "${names[@]}" | awk -v quality="$quality" -v lines="$lines" '
  function text(key) { return match($0, "\"" key "\":\"[^\"]*\"") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5) : "" }
  function number(key) { return match($0, "\"" key "\":[-0-9.e+]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 : 0 }
  {
    measured = /"end_to_end_measurements":/
    arm = text("model") SUBSEP text("method") (measured ? " " number("budget") : "")
    if (!measured && !/"policy_seconds":/) timeless[arm] = 1
    if (!(arm in runs)) order[++arms] = arm
    runs[arm]++
    seconds[arm] += number("vae_seconds") + number("mdnrnn_seconds") + number("policy_seconds")
    steps[arm] += number(measured ? "end_to_end_measurements" : "real_steps")
    reached[arm] += number(measured ? "endpoint_gain_percent" : "improvement_percent") >= quality
  }
  function minutes(arm, ms) { return (seconds[arm] + steps[arm] * ms / 1000) / reached[arm] / 60 }
  END {
    costs = split("0 0.5 5 50 500 5000", cost, " ")
    if (!lines) {
      printf "| model | arm | runs that gain %s %% |", quality
      for (i = 1; i <= costs; ++i) printf " %s ms |", cost[i]
      printf "\n| --- | --- | ---: |"
      for (i = 1; i <= costs; ++i) printf " ---: |"
      print ""
    }
    for (n = 1; n <= arms; ++n) {
      arm = order[n]
      if (arm in timeless) continue
      split(arm, name, SUBSEP)
      sub(/.*\//, "", name[1]); sub(/\.onnx$/, "", name[1])
      if (!lines) printf "| %s | %s | %d of %d |", name[1], name[2], reached[arm], runs[arm]
      for (i = 1; i <= costs; ++i) {
        if (!lines) { if (reached[arm]) printf " %.1f |", minutes(arm, cost[i]); else printf " - |" }
        else if (reached[arm] && cost[i] > 0)
          printf "{\"model\":\"%s\",\"method\":\"%s\",\"seed\":1,\"step_ms\":%s,\"minutes\":%.3f}\n", name[1], name[2], cost[i], minutes(arm, cost[i])
      }
      if (!lines) print ""
    }
  }'
