# What the scripts of this folder share; sourced by them. A script's first comment is its help.
#
#   read_options "NAME..." "SWITCH..." "$@"
#
# --NAME X sets the variable NAME to X, or adds X to it where it is an array; --SWITCH sets the variable SWITCH
# to 1; what is no option is added to `names`. What is wrong ends the script with one line and status 2.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
reverie=${REVERIE:-$root/build/reverie}
models=${REVERIE_MODELS:-$root/../shared/models}/light
names=()

refuse() { echo "$(basename "$0"): $*" >&2; exit 2; }

read_options() {
  local taking=" $1 " switches=" $2 " option
  shift 2
  while [[ $# -gt 0 ]]; do
    option=${1#--}
    if [[ $1 == --help || $1 == -h ]]; then
      awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0"
      exit 0
    elif [[ $1 != -* ]]; then
      names+=("$1"); shift
    elif [[ $1 == --* && $switches == *" $option "* ]]; then
      printf -v "$option" 1; shift
    elif [[ $1 == --* && $taking == *" $option "* ]]; then
      [[ $# -gt 1 ]] || refuse "$1 needs a value"
      if [[ $(declare -p "$option" 2>/dev/null) == "declare -a"* ]]; then
        local -n list=$option
        list+=("$2")
      else
        printf -v "$option" %s "$2"
      fi
      shift 2
    else
      refuse "unknown option $1 (see --help)"
    fi
  done
}

need_models() { [[ -d $models ]] || refuse "there is no folder $models; name one that holds ONNX files by --models"; }

all_models() { for file in "$models"/*.onnx; do basename "$file" .onnx; done; }

# The first value behind a key of an object: number seed '{"seed":1}' -> 1
number() { grep -o "\"$1\":[^,}]*" <<<"$2" | head -1 | cut -d: -f2-; }

# The file of the policy that a run of learning/run.sh ended with, trained by the costs COST where that is given:
# policy_of RUN.json [COST]
policy_of() {
  local cost
  [[ -f $1 ]] || refuse "there is no run $1; make it with learning/run.sh"
  cost=$(number cost_source "$(<"$1")" | tr -d '"')
  [[ -z ${2:-} || $cost == "$2" ]] || refuse "the run $1 is by the costs $cost; make one by $2 (--cost)"
  echo "$(number policy_out "$(<"$1")" | tr -d '"')/policy.pt"
}

# Keeps with what settings the file RESULTS was begun, and refuses to go on with others: same_settings RESULTS SETTINGS
same_settings() {
  [[ ! -e $1.cmd || $(<"$1.cmd") == "$2" ]] ||
    refuse "$1 is of other settings ($1.cmd): remove both, or choose another --out"
  printf '%s\n' "$2" >"$1.cmd"
}

# queue.sh with a list of jobs on standard input; a script that is told to stop, by whatever signal, stops it too.
queue() {
  local process status=0
  "$root/experiments/queue.sh" "$@" <&0 &
  process=$!
  trap 'kill "$process" 2>/dev/null' INT TERM HUP
  wait "$process" || status=$?
  while kill -0 "$process" 2>/dev/null; do wait "$process" || status=$?; done
  trap - INT TERM HUP
  return "$status"
}
