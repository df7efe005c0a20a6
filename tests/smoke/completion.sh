#!/usr/bin/env bash
# Completion and the manual page name what --help does. Usage: completion.sh REVERIE LEARNING
source "$(dirname "$0")/../support/smoke.sh"
[[ ${2-} == ON ]] && reverie=$(dirname "$reverie")/reverie-learning # knows all options

"$reverie" completion bash >bash.sh || fails "completion bash"
source ./bash.sh
completes() {  # WORD... with the word to complete last
  COMP_WORDS=(reverie "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _reverie
  printf '%s\n' "${COMPREPLY[@]}"
}
listed=$("$reverie" --help | sed -n '/^Subcommands:/,$s/^  \([a-z_]*\) .*/\1/p')
[[ $(completes '' | sort) == $(sort <<<"$listed") ]] || fails "commands: $(completes '')"
[[ $(completes help '' | sort) == $(sort <<<"$listed") ]] || fails "after help: $(completes help '')"
[[ $(completes opt) == optimize ]] || fails "opt: $(completes opt)"
[[ $(completes rules ap) == apply ]] || fails "rules ap: $(completes rules ap)"
[[ $(completes optimize model.onnx --time) == --time-limit ]] || fails "--time: $(completes optimize model.onnx --time)"
[[ -z $(completes optimize mod) ]] || fails "a file: $(completes optimize mod)"
"$reverie" completion man >reverie.1 || fails "completion man"
for command in ${listed/help} 'rules apply'; do
  # shellcheck disable=SC2086
  options=$("$reverie" $command --help-all | sed -nE 's/^  (-.,)?(--[a-z-]+).*/\2/p' | sort)
  # shellcheck disable=SC2086
  [[ $(completes $command -- | sort) == "$options" ]] || fails "options of $command: $(completes $command --)"
  grep -qx ".SS reverie $command" reverie.1 || fails "no section of $command in the manual page"
done
grep -qE '^\\fB\\-o, \\-\\-out TEXT' reverie.1 || fails "--out is not in the manual page"
if command -v man >/dev/null; then
  warnings=$(man -l --warnings reverie.1 2>&1 >page) || fails "man: $warnings"
  [[ -z $warnings ]] || fails "man warns: $warnings"
  grep -q 'reverie rules apply' page || fails "the page shows no command"
fi

"$reverie" completion zsh >_reverie || fails "completion zsh"
[[ $(head -n 1 _reverie) == '#compdef reverie' ]] || fails "zsh: $(head -n 1 _reverie)"
if command -v zsh >/dev/null; then
  zsh -n _reverie || fails "zsh does not read it"
  cat >typed.zsh <<'END'
# typed.zsh SETUP WORDS: what a zsh makes of the words and a tab, behind "reverie"
zmodload zsh/zpty
zpty shell "TERM=dumb PS1=now: zsh -f -i"
zpty -w shell "autoload -U compinit; compinit -u -D; $1; print RE''ADY"
zpty -r shell seen '*READY*now:*'
zpty -n -w shell "reverie $2"$'\t'
zpty -n -w shell $'\C-e THAT IS ALL\n'
zpty -r shell seen '*THAT IS ALL*'
print -r -- "$seen" | sed -n 's/.*reverie \(.*\) THAT IS ALL.*/\1/p' | tr -d '[:cntrl:]'
END
  # shellcheck disable=SC2016
  for setup in 'fpath=($PWD $fpath); compinit -u -D' 'source ./_reverie'; do
    while IFS=: read -r words full; do
      got=$(timeout 60 zsh -f typed.zsh "$setup" "$words")
      [[ $got == "$full"* ]] || fails "zsh after '$setup': '$words' became '$got'"
    done <<'END'
opt:optimize
rules ap:rules apply
optimize model.onnx --time:optimize model.onnx --time-limit
optimize typ:optimize typed.zsh
END
  done
fi
exit $failures
