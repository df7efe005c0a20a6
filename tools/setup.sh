#!/usr/bin/env bash
# Installs the Debian 12 packages that building, testing and plotting need. Does nothing where all
# of them are there. Usage: tools/setup.sh
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache
  libtorch-dev libopenblas-openmp-dev
  libonnx-dev libonnx-testdata libprotobuf-dev protobuf-compiler
  libhdf5-dev libyaml-cpp-dev libfmt-dev libcli11-dev
  libdnnl-dev libgtest-dev libgmock-dev libbenchmark-dev gnuplot-nox
  libz3-dev coinor-libcbc-dev libeigen3-dev
)

missing=()
for package in "${packages[@]}"; do
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
    missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
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
