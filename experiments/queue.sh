#!/usr/bin/env bash
# Runs a list of commands, each of which prints a result, and goes on where it was stopped.
#
#   experiments/queue.sh [-j N] [--quiet] [JOBS]
#
# JOBS (default: standard input) has a job a line: OUTPUT, a tab, a command for bash. What a command
# prints appears as OUTPUT when it has ended with status 0, never before; jobs whose OUTPUT is there are
# skipped. The command stands in OUTPUT.cmd; where the list has another for an OUTPUT that is there, nothing
# runs. What fails leaves OUTPUT.log, its standard error, and is tried again by the next call. N jobs run at
# a time: leave it at 1 where anything is measured, as jobs disturb each other. An interrupt, or a terminal that is closed, ends the jobs
# that run and keeps nothing of them. Ends with status 0 when every OUTPUT is there, 1 when jobs failed, 2 when
# the list is wrong or an OUTPUT is of another command, 130 after an interrupt.
set -uo pipefail

at_once=1
quiet=
list=/dev/stdin
while [[ $# -gt 0 ]]; do
  case $1 in
    -j) at_once=${2:-}; shift $(($# < 2 ? 1 : 2)) ;;
    --quiet) quiet=1; shift ;;
    -h|--help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "queue.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
    *) list=$1; shift ;;
  esac
done
refuse() { echo "queue.sh: $*" >&2; exit 2; }
[[ $at_once =~ ^[1-9][0-9]*$ ]] || refuse "-j needs a number of at least 1, not '$at_once'"
[[ -r $list ]] || refuse "there is no list $list"

outputs=()
commands=()
declare -A listed=()
number=0
while IFS= read -r line || [[ -n $line ]]; do
  number=$((number + 1))
  [[ -z $line || $line == \#* ]] && continue
  output=${line%%$'\t'*}
  [[ $output != "$line" && -n $output ]] || refuse "$list:$number: write OUTPUT, a tab, a command"
  [[ -z ${listed[$output]:-} ]] || refuse "$list:$number: $output is there twice"
  listed[$output]=1
  outputs+=("$output")
  commands+=("${line#*$'\t'}")
done <"$list"
total=${#outputs[@]}

for job in "${!outputs[@]}"; do
  output=${outputs[$job]}
  [[ ! -e $output || ! -e $output.cmd || $(<"$output.cmd") == "${commands[$job]}" ]] ||
    refuse "$output is of another command ($output.cmd): remove it, or choose another --out"
done

declare -A running=()  # job by process, which leads a group of its own
done_before=0 succeeded=0 failed=0 stopped= shown=-10 status=0

stop() {
  stopped=1
  local process
  for process in "${!running[@]}"; do kill -TERM -- "-$process" 2>/dev/null; done
  sleep 0.2
  for process in "${!running[@]}"; do kill -KILL -- "-$process" 2>/dev/null; done
}
trap stop INT TERM HUP

clock_text() { printf '%d:%02d:%02d' $(($1 / 3600)) $(($1 / 60 % 60)) $(($1 % 60)); }

# A line that is drawn over on a terminal; elsewhere one every ten seconds, and where $1 is "last".
show() {
  [[ -n $quiet ]] && return
  local ended=$((succeeded + failed)) all=$((done_before + succeeded + failed)) end=$'\n' text
  if [[ -t 2 ]]; then [[ ${1:-} == last ]] || end=$'\r'
  elif ((SECONDS - shown < 10)) && [[ ${1:-} != last ]]; then return; fi
  shown=$SECONDS
  text="queue $all/$total jobs"
  if ((ended > 0 && SECONDS > 0)); then
    text+=$(awk -v n=$ended -v s=$SECONDS 'BEGIN { printf "  %.3g/min", 60 * n / s }')
    ((all == total)) || text+="  $(clock_text $((SECONDS * (total - all) / ended))) left"
  fi
  ((failed == 0)) || text+="  $failed failed"
  printf '%s%s' "$text" "$end" >&2
}

begin() {
  local output=${outputs[$1]}
  mkdir -p "$(dirname "$output")"
  setsid bash -c "${commands[$1]}" >"$output.part" 2>"$output.log" </dev/null &
  running[$!]=$1
}

# Waits for any job to end.
finish_one() {
  local process= code output command
  wait -n -p process "${!running[@]}"
  code=$?
  [[ -n $stopped || -z $process ]] && return
  output=${outputs[${running[$process]}]}
  command=${commands[${running[$process]}]}
  unset "running[$process]"
  if ((code == 0)); then
    printf '%s\n' "$command" >"$output.cmd"
    mv "$output.part" "$output"
    rm -f "$output.log"
    succeeded=$((succeeded + 1))
  else
    rm -f "$output.part"
    failed=$((failed + 1))
    echo "queue.sh: failed with status $code: $output (see $output.log)" >&2
  fi
  show
}

for job in "${!outputs[@]}"; do
  [[ -n $stopped ]] && break
  if [[ -e ${outputs[$job]} ]]; then
    done_before=$((done_before + 1))
    continue
  fi
  while ((${#running[@]} >= at_once)) && [[ -z $stopped ]]; do finish_one; done
  [[ -n $stopped ]] || begin "$job"
done
while ((${#running[@]} > 0)) && [[ -z $stopped ]]; do finish_one; done

if [[ -n $stopped ]]; then
  for process in "${!running[@]}"; do
    wait "$process" 2>/dev/null
    rm -f "${outputs[${running[$process]}]}".{part,log}
  done
  echo "queue.sh: interrupted; the same command goes on" >&2
  exit 130
fi
((failed == 0)) || status=1
show last
exit $status
