#!/usr/bin/env bash
# experiments/queue.sh: what is done is skipped, what failed is tried again, an interrupt keeps nothing
# of what ran, wrong lists are refused. Usage: queue.sh REVERIE
source "$(dirname "$0")/../support/smoke.sh"
queue=$root/experiments/queue.sh

# Two that work, one that fails until there is a file, and one behind it.
{
  printf 'out/a\techo a; echo a >>log\n'
  printf '# a comment\n\n'
  printf 'out/b\techo reason >&2; test -e ready && echo b\n'
  printf 'out/c\techo c; echo c >>log\n'
} >jobs
"$queue" --quiet jobs 2>err
[[ $? -eq 1 ]] || fails "a failure must end with status 1"
[[ $(cat out/a out/c) == $'a\nc' ]] || fails "the jobs beside a failure must be done"
[[ ! -e out/b && $(cat out/b.log) == reason ]] || fails "a failure leaves its log and no result"
grep -q 'status 1: out/b (see out/b.log)' err || fails "the failure is not named: $(cat err)"
touch ready
"$queue" <jobs 2>err || fails "what failed is not tried again"
[[ $(cat out/b) == b && ! -e out/b.log ]] || fails "what failed before is not done now"
[[ $(cat log) == $'a\nc' ]] || fails "what was done is run again"
grep -q 'queue 3/3 jobs' err || fails "no progress: $(cat err)"

# An option without its value.
timeout 5 "$queue" jobs -j 2>err
[[ $? -eq 2 ]] && grep -q -- '-j needs a number' err || fails "an option without a value: $(cat err)"

# What another command printed is not passed off as this one's; a result without a record of its command is.
sed 's/echo c;/echo other;/' jobs >changed
printf 'out/new\techo new\n' >>changed
"$queue" changed 2>err
[[ $? -eq 2 && $(wc -l <err) -eq 1 && $(cat out/c) == c && ! -e out/new ]] || fails "the result of another command: $(cat err)"
grep -q 'out/c is of another command' err || fails "the result is not named: $(cat err)"
rm out/c.cmd
"$queue" --quiet changed || fails "a result without its command"
[[ $(cat out/c out/new) == $'c\nnew' ]] || fails "a result without its command is made anew"

# So many at a time: two jobs that wait for each other end only side by side.
for me in 1 2; do
  printf 'pair/%s\ttouch here%s; for i in {1..200}; do test -e here%s && exit 0; sleep 0.05; done; exit 1\n' \
    $me $me $((3 - me))
done >pair.jobs
"$queue" -j 2 --quiet pair.jobs || fails "two jobs do not run side by side"

# An interrupt: what ran is ended, with all that it started, and leaves nothing, also where it ends well.
printf 'long\ttrap "exit 0" TERM; touch begun; sleep 60 & echo $! >sleeper; wait; echo done\nnever\techo\n' >long.jobs
(trap - INT; exec setsid bash -c 'trap - INT; exec "$0" --quiet long.jobs' "$queue") 2>err & process=$!
for ((i = 0; i < 200; ++i)); do [[ -s sleeper ]] && break; sleep 0.05; done
kill -TERM $process
wait $process
[[ $? -eq 130 ]] || fails "an interrupt must end with status 130"
[[ ! -e long && ! -e long.part && ! -e never ]] || fails "an interrupted job left something"
for ((i = 0; i < 40; ++i)); do kill -0 "$(cat sleeper)" 2>/dev/null || break; sleep 0.05; done
kill -0 "$(cat sleeper)" 2>/dev/null && fails "what the job started runs on"
grep -q 'interrupted' err || fails "the interrupt is not reported"

# A script that runs a queue by options.sh takes it along when it is ended.
cat >script <<END
set -euo pipefail
source "$(dirname "$queue")/options.sh"
queue --quiet <<<\$'within\\tsleep 60 & echo \$! >script_sleeper; wait'
END
for signal in TERM HUP; do
  rm -f script_sleeper
  bash script 2>/dev/null & process=$!
  for ((i = 0; i < 200; ++i)); do [[ -s script_sleeper ]] && break; sleep 0.05; done
  kill -$signal $process
  wait $process
  [[ $? -eq 130 ]] || fails "a script whose queue is interrupted ($signal) must end with status 130"
  for ((i = 0; i < 40; ++i)); do kill -0 "$(cat script_sleeper)" 2>/dev/null || break; sleep 0.05; done
  kill -0 "$(cat script_sleeper)" 2>/dev/null && fails "what the queue of an ended script started runs on ($signal)"
done

# Wrong input.
printf 'no tab\n' >wrong
printf 'x\ttrue\nx\ttrue\n' >twice
for arguments in wrong twice missing "-j 0 jobs" --nonsense; do
  # shellcheck disable=SC2086
  "$queue" $arguments 2>err </dev/null
  [[ $? -eq 2 && $(wc -l <err) -eq 1 ]] || fails "$arguments: $(cat err)"
done
exit $failures
