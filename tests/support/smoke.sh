# What smoke tests share that go on after a failure, sourced by them: REVERIE, the first argument, the project's root, a
# folder of their own to work in, and `fails`, which counts. They end with `exit $failures`.
set -u
reverie=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failures=0
fails() { echo "FAILED: $*"; failures=$((failures + 1)); }
