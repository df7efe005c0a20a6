#!/usr/bin/env bash
# Writes the generated library anew: core/rules/library/generated.rules.gz, of the same rules from
# the same program, with all proofs that are found. Takes a few minutes, most of them for the proofs.
# Usage: tools/generate_rules.sh REVERIE
set -eu
reverie=${1:?the program, for example build/reverie}
library=$(cd "$(dirname "$0")/.." && pwd)/core/rules/library/generated.rules.gz
new=$(mktemp --suffix=.rules)
trap 'rm -f "$new"' EXIT
"$reverie" rules generate --depth 3 --operators all --seed 1 --threads 2 --out "$new"
"$reverie" rules verify "$new" --write
gzip -n -9 <"$new" >"$library"
