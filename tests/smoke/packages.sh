#!/usr/bin/env bash
# The Debian packages, unpacked into a folder, hold all that is needed to run the program and to build with the library.
# Usage: packages.sh REVERIE LEARNING
source "$(dirname "$0")/../support/smoke.sh"
command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null || exit 77

cpack -G DEB --config "$(dirname "$reverie")/CPackConfig.cmake" -B debs >log 2>&1 || fails "cpack: $(tail -n 5 log)"
version=$("$reverie" --version)
for package in reverie libreverie0.1 libreverie-dev; do
  file=(debs/"$package"_*.deb)
  [[ -e ${file[0]} ]] && dpkg-deb -x "${file[0]}" unpacked || fails "no package $package: $(ls debs)"
  dpkg-deb -f "${file[0]}" Depends >>depends
  doc=unpacked/usr/share/doc/$package
  grep -q licence "$doc/copyright" || fails "no copyright in $package"
  gunzip -c "$doc/changelog.gz" | head -n 1 | grep -qF "(${version##* })" || fails "no changelog of ${version} in $package"
done
[[ $(grep -c 'libfmt9\|libreverie0.1 (= ' depends) -eq 3 ]] || fails "dependencies: $(cat depends)"
grep -q cuda depends && fails "a package needs CUDA: $(cat depends)"

usr=$here/unpacked/usr
[[ $("$usr/bin/reverie" --version) == "$version" ]] || fails "--version: $("$usr/bin/reverie" --version)"
"$usr/bin/reverie" model squeezenet_small --light --out model.onnx >/dev/null &&
  "$usr/bin/reverie" optimize model.onnx --method greedy --cost roofline:cpu --out better.onnx >out 2>&1 || fails "optimize: $(cat out)"
if [[ ${2-} == ON ]]; then
  "$usr/bin/reverie" train_vae --help | grep -q -- --device || fails "reverie-learning is not found"
fi
source "$usr/share/bash-completion/completions/reverie"
COMP_WORDS=(reverie inspect --op) COMP_CWORD=2
_reverie
[[ ${COMPREPLY[*]} == --operators ]] || fails "completion: ${COMPREPLY[*]}"
gunzip -c "$usr/share/man/man1/reverie.1.gz" | grep -q '^.SS reverie inspect' || fails "no manual page"

if [[ -e $(dirname "$reverie")/python/reverie/__init__.py ]]; then
  dpkg-deb -x debs/python3-reverie_*.deb unpacked && dpkg-deb -f debs/python3-reverie_*.deb Depends | grep -q 'python3-numpy' ||
    fails "no package python3-reverie: $(ls debs)"
  PYTHONPATH=$usr/lib/python3/dist-packages /usr/bin/python3 -c 'import reverie
env = reverie.make("Knapsack-v0")
assert env.reset(seed=1)[1]["action_mask"].any()' || fails "the Python package does not work"
  if [[ ${2-} == ON ]]; then
    dpkg-deb -x debs/python3-reverie-learning_*.deb unpacked || fails "no package python3-reverie-learning: $(ls debs)"
    PYTHONPATH=$usr/lib/python3/dist-packages /usr/bin/python3 -c 'import reverie
reverie.load_policy("nothing.pt")' 2>&1 | grep -q 'InputError: nothing.pt' || fails "no policies in Python"
  fi
fi

cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(episode CXX)
find_package(reverie 0.1 REQUIRED COMPONENTS env)
add_executable(episode "$root/tests/recipes/consumer/episode.cpp")
target_link_libraries(episode reverie::env)
END
cmake -B build -DCMAKE_PREFIX_PATH="$usr" >log 2>&1 && cmake --build build >log 2>&1 || fails "the library: $(tail -n 20 log)"
ldd build/episode | grep -q "$usr/lib/libreverie.so.0.1" || fails "episode uses another library: $(ldd build/episode)"
build/episode | grep -q ' groups placed' || fails "episode"
exit $failures
