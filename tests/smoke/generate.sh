#!/usr/bin/env bash
# rules generate: the same bytes on any number of threads and after an interrupt, what it writes is
# read again and holds, the embedded library is there, and wrong options are refused.
# Usage: generate.sh REVERIE
source "$(dirname "$0")/../support/interrupt.sh"
source "$(dirname "$0")/../support/smoke.sh"
generate() { "$reverie" rules generate --quiet --operators matmul,add,relu,concat,split "$@"; }

generate --depth 2 --out one.rules >/dev/null || fails "generate"
generate --depth 2 --threads 2 --out two.rules >/dev/null || fails "generate on two threads"
cmp one.rules two.rules || fails "threads make a difference"
"$reverie" rules verify one.rules >/dev/null || fails "what was written does not hold"
head -1 one.rules | grep -q -- '--depth 2 --operators matmul,add,relu,concat,split --seed 1' ||
  fails "the file does not say how it was made"

"$reverie" rules generate --quiet --depth 4 --operators taso --checkpoint state --out four.rules \
  >/dev/null 2>err &
job=$!
interrupt "$reverie" $job || fails "the program does not catch an interrupt"
wait $job
[[ $? -eq 130 && $(wc -l <err) -eq 1 ]] || fails "an interrupt ends with one line: $(cat err)"
[[ ! -e four.rules ]] || fails "an interrupted run left its result"
[[ -s state ]] || fails "an interrupted run left no checkpoint"
"$reverie" rules generate --quiet --depth 4 --operators matmul --checkpoint state --out x.rules 2>err &&
  fails "another run's checkpoint was taken"
grep -q "give the same options, or remove it" err || fails "the checkpoint's error: $(cat err)"

"$reverie" rules list generated | grep -q '^generated_' || fails "no embedded generated rules"
for wrong in "--depth 0" "--depth 5" "--operators gemm" "--threads 0"; do
  # shellcheck disable=SC2086
  "$reverie" rules generate --quiet --out x.rules $wrong 2>err
  [[ $? -eq 2 && $(wc -l <err) -eq 1 && ! -e x.rules ]] || fails "$wrong: $(cat err)"
done
exit $failures
