#!/usr/bin/env bash
# Installs the Debian 12 packages that building and testing need. Does nothing where all
# of them are there. With --ort also ONNX Runtime from npm, into the folder reverie-ort beside this checkout
# (or into $REVERIE_ORT). Usage: tools/setup.sh [--ort]
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1-} in
  "") ort= ;;
  --ort) ort=${REVERIE_ORT:-$(dirname "$PWD")/reverie-ort} ;;
  *) echo "setup.sh: no option '$1'; there is --ort" >&2; exit 2 ;;
esac

packages=(
  g++ cmake ninja-build ccache
  libtorch-dev libgloo-dev libopenblas-openmp-dev
  libonnx-dev libonnx-testdata libprotobuf-dev protobuf-compiler
  libhdf5-dev libyaml-cpp-dev libfmt-dev libcli11-dev nlohmann-json3-dev zlib1g-dev
  libdnnl-dev libgtest-dev libgmock-dev libbenchmark-dev
  libmimalloc-dev libz3-dev coinor-libcbc-dev libmetis-dev libeigen3-dev
  python3 python3-dev python3-numpy python3-onnx python3-pytest python3-distributed pybind11-dev mypy
  dataset-fashion-mnist pkg-config dpkg-dev file zsh
)

[[ -z $ort ]] || { command -v node && command -v npm; } >/dev/null || packages+=(nodejs npm)

missing=()
for package in "${packages[@]}"; do
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
    missing+=("$package")
done

install_packages() {
  local as_root=()
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null || {
      echo "setup.sh: these packages are missing; install them as root: ${missing[*]}" >&2
      exit 2
    }
    as_root=(sudo)
  fi
  echo "Installing: ${missing[*]}"
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}"
}

[[ ${#missing[@]} -eq 0 ]] || install_packages
version=$(sed -n 's/.*"onnxruntime-node": "\(.*\)".*/\1/p' core/ort/package.json)
if [[ -n $ort ]] &&
  ! grep -qsF "\"version\": \"$version\"" "$ort/node_modules/onnxruntime-node/package.json"; then
  mkdir -p "$ort"
  cp core/ort/package.json "$ort"
  npm install --prefix "$ort" --ignore-scripts --no-audit --no-fund --silent
fi
