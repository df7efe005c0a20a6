#!/usr/bin/env bash
# The embedded generated library is what `rules generate` writes, but for the proofs by axioms,
# which tools/generate_rules.sh adds. Usage: generated_library.sh REVERIE
source "$(dirname "$0")/../support/smoke.sh"

"$reverie" rules generate --quiet --depth 3 --operators all --seed 1 --threads 2 --out new.rules \
  >/dev/null || fails "generate"
gunzip -c "$root/core/rules/library/generated.rules.gz" | grep -v '^  axioms(' >library.rules
[[ $(grep -c '^rule ' library.rules) -gt 500 ]] || fails "the library holds few rules"
cmp new.rules library.rules || fails "the library is another: run tools/generate_rules.sh"
exit $failures
