#!/usr/bin/env bash
# Each installed header compiles with nothing of the tree. Those without LibTorch compile alone. The others cost eight seconds
# each, so that every fourth is in one source, those that include least first.
# Usage: headers.sh REVERIE LEARNING
source "$(dirname "$0")/../support/smoke.sh"

build=$(dirname "$reverie")
cmake --install "$build" --prefix "$here" --component libreverie-dev >log 2>&1 || fails "cmake --install: $(tail -n 5 log)"
cd include || exit 1
mkdir ../sources
find . -name '*.h' -printf '%P\n' >../headers
while read -r header; do
  c++ -std=c++20 -I. -Ireverie -MM -MG -x c++ "$header" >../reached
  if grep -q network/torch.h ../reached; then
    echo "$(wc -w <../reached) $header" >>../learning
  else
    echo "#include \"$header\"" >"../sources/${header//\//-}"
  fi
done <../headers
[[ $(find ../sources -name '*.h' | wc -l) -gt 120 ]] || fails "few headers: $(cat ../headers)"
if [[ ${2-} == ON ]]; then
  [[ $(wc -l <../learning) -gt 40 ]] || fails "few headers use LibTorch: $(cat ../learning)"
  sort -n ../learning | awk '{ print "#include \"" $2 "\"" > "../sources/learning" NR % 4 ".h" }'
fi

torch=$(grep -oE -- '-isystem [^ ]*torch[^ ]*' "$build/compile_commands.json" | sort -u | tr '\n' ' ')
compiles() {
  # shellcheck disable=SC2086
  c++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I. -Ireverie $torch -x c++ "$1" 2>"$1.log"
}
export -f compiles
export torch
find ../sources -name "*.h" -print0 | xargs -0 -P "$(nproc)" -I{} bash -c "compiles {}" ||
  fails "headers do not compile: $(head -q -n 5 ../sources/*.log | head -n 40)"
exit $failures
