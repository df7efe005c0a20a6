#!/usr/bin/env bash
# Writes the generated library anew: core/rules/library/generated/depth3.rules, byte for byte the same
# from the same program, with all proofs that are found. A few minutes, most of them for these. Usage: tools/generate_rules.sh REVERIE
set -eu
reverie=${1:?the program, for example build/reverie}
here=$(cd "$(dirname "$0")/.." && pwd)
library=$here/core/rules/library/generated/depth3.rules
"$reverie" rules generate --depth 3 --operators all --seed 1 --threads 2 --out "$library"
"$reverie" rules verify "$library" --write
