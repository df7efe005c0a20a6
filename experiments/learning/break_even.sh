#!/usr/bin/env bash
# At which cost of a real step a dream pays: time to a policy of some quality, by arm.
#
#   experiments/learning/break_even.sh --quality PERCENT [--model NAME] [--only LIST] [--versus ARM]
#                                      [--lines] [--plot FILE.svg] RUNS.jsonl...
#
# RUNS are lines of run.sh, here or in ../measured. Of every model and arm: the expected running time to a policy that
# gains PERCENT or more (`improvement_percent`), that is the time of all runs, failures too, over the number of successes
# (Auger and Hansen 2005: restart until it works), in minutes, as a real step costs 0 to 5,000 ms. The time of a run is
# that of training V, M and C and of all real steps at this cost. Beside it the expected real steps alone, with an interval over
# runs (bootstrap; its end is a dash where too few runs get there to say). Where whole graphs were measured, each measurement
# counts as a step, `endpoint_gain_percent` as the gain, and each budget as an arm. A dash: no run got there; an arm with
# a run that does not tell these times is left out. --model, --only: of the runs those of one model, of some arms (comma
# separated). --versus: its steps in percent of ARM's too, with an interval over runs of both. --plot: draws the minutes of a model, an arm a curve, over costs of 0.5 to 500 ms. --lines: the points of these
# curves instead of the table, one JSON object for each.
set -euo pipefail

source "$(dirname "$0")/../options.sh"
quality=
model=
only=
versus=
lines=
plot=
read_options "quality model only versus plot" "lines" "$@"
[[ -n $quality && ${#names[@]} -gt 0 ]] || refuse "say --quality PERCENT and name files of runs (see --help)"
for file in "${names[@]}"; do [[ -f $file ]] || refuse "there is no file $file"; done

# The table, or with 1 the points of curves.
tell() { sed 's/,"trace":\[[^]]*\]//' "${names[@]}" | awk -v quality="$quality" -v model="$model" -v only="$only" -v versus="$versus" -v lines="$1" '
  function text(key) { return match($0, "\"" key "\":\"[^\"]*\"") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5) : "" }
  function number(key) { return match($0, "\"" key "\":[-0-9.e+]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 : 0 }
  function task(  name) { name = text("model"); sub(/.*\//, "", name); sub(/\.onnx$/, "", name); return name }
  model && task() != model || only && !index("," only ",", "," text("method") ",") { next }
  {
    measured = /"end_to_end_measurements":/
    arm = task() SUBSEP text("method") (measured ? " " number("budget") : "")
    if (!measured && !/"policy_seconds":/) timeless[arm] = 1
    if (!(arm in runs)) order[++arms] = arm
    runs[arm]++
    seconds[arm] += number("vae_seconds") + number("mdnrnn_seconds") + number("policy_seconds")
    steps[arm] += steps_of[arm, runs[arm]] = number(measured ? "end_to_end_measurements" : "real_steps")
    reached[arm] += success[arm, runs[arm]] = number(measured ? "endpoint_gain_percent" : "improvement_percent") >= quality
  }
  function minutes(arm, ms) { return (seconds[arm] + steps[arm] * ms / 1000) / reached[arm] / 60 }
  # Steps over successes of runs drawn anew, 2,000 times.
  function draw_steps(arm, drawn,  draw, i, chosen, spent, got) {
    for (draw = 1; draw <= 2000; ++draw) {
      spent = got = 0
      for (i = 1; i <= runs[arm]; ++i) {
        chosen = 1 + int(rand() * runs[arm])
        spent += steps_of[arm, chosen]
        got += success[arm, chosen]
      }
      drawn[draw] = got ? spent / got : infinite
    }
  }
  # Percentiles 2.5 and 97.5 of 2,000 numbers, which it sorts.
  function interval(drawn,  gap, held, i, j) {
    for (gap = 1000; gap >= 1; gap = int(gap / 2))
      for (i = gap + 1; i <= 2000; ++i) {
        held = drawn[i]
        for (j = i; j > gap && drawn[j - gap] > held; j -= gap) drawn[j] = drawn[j - gap]
        drawn[j] = held
      }
    return sprintf("%.0f to %s", drawn[50], drawn[1950] < infinite ? sprintf("%.0f", drawn[1950]) : "-")
  }
  function write_steps(arm, other,  mine, theirs, i) {
    if (!reached[arm]) { printf(versus ? " - | - | - | - |" : " - | - |"); return }
    draw_steps(arm, mine)
    if (versus && reached[other]) {
      draw_steps(other, theirs)
      for (i = 1; i <= 2000; ++i)
        theirs[i] = mine[i] < infinite ? 100 * mine[i] / theirs[i] : infinite
    }
    printf " %.0f | %s |", steps[arm] / reached[arm], interval(mine)
    if (versus && !reached[other]) printf " - | - |"
    else if (versus) printf " %.1f | %s |", 100 * steps[arm] / reached[arm] * reached[other] / steps[other], interval(theirs)
  }
  END {
    srand(1)
    infinite = 1e30
    if (lines) for (costs = 0; costs <= 30; ) { ms = 0.5 * 10 ^ (costs / 10); cost[++costs] = ms }
    else costs = split("0 0.5 5 50 500 5000", cost, " ")
    if (!lines) {
      printf "| model | arm | runs that gain %s %% | steps | 95 %% |", quality
      if (versus) printf " %% of %s | 95 %% |", versus
      for (i = 1; i <= costs; ++i) printf " %s ms |", cost[i]
      printf "\n| --- | --- | ---: | ---: | --- |"
      if (versus) printf " ---: | --- |"
      for (i = 1; i <= costs; ++i) printf " ---: |"
      print ""
    }
    for (n = 1; n <= arms; ++n) {
      arm = order[n]
      if (arm in timeless) continue
      split(arm, of, SUBSEP)
      if (!lines) {
        printf "| %s | %s | %d of %d |", of[1], of[2], reached[arm], runs[arm]
        write_steps(arm, of[1] SUBSEP versus)
      }
      for (i = 1; i <= costs; ++i) {
        if (!lines) { if (reached[arm]) printf " %.1f |", minutes(arm, cost[i]); else printf " - |" }
        else if (reached[arm])
          printf "{\"model\":\"%s\",\"method\":\"%s\",\"seed\":1,\"step_ms\":%.4g,\"minutes\":%.4g}\n", of[1], of[2], cost[i], minutes(arm, cost[i])
      }
      if (!lines) print ""
    }
  }'; }

draw() {
  local drawn
  points=$(mktemp)
  trap 'rm "$points"' EXIT
  tell 1 >"$points"
  drawn=$(sed 's/{"model":"\([^"]*\).*/\1/' "$points" | sort -u | paste -sd ' ')
  [[ -n $drawn ]] || refuse "no run gains $quality %, so that there is nothing to draw"
  [[ $drawn != *" "* ]] || refuse "--plot draws one model; choose by --model from $drawn"
  "$reverie" summarize "$points" --metric minutes --x step_ms --log-x --log-y --plot "$plot" \
    --title "Time to a policy that gains $quality %, $drawn" \
    --x-label "cost of a real step, ms" --y-label "minutes, training and failed runs included"
}

[[ -z $plot ]] || draw
tell "$lines"
