#!/usr/bin/env bash
# A project outside of the tree builds with an installed Reverie and with nothing else of it, and runs.
# Usage: install.sh REVERIE LEARNING
source "$(dirname "$0")/../support/smoke.sh"

prefix=$here/prefix
cmake --install "$(dirname "$reverie")" --prefix "$prefix" >log 2>&1 || fails "cmake --install: $(tail -n 5 log)"
grep -rlE '#include <(onnx|google|z3|hdf5|dnnl|yaml-cpp|nlohmann)' "$prefix/include" &&
  fails "installed headers need another library"

# What pkg-config says is enough, too. Each kind of environment is registered once; nothing trains without LibTorch.
cat >probe.cpp <<'END'
#include <fmt/format.h>
#include <reverie/env.h>

int main() {
  fmt::print("{}\n", reverie::EnvironmentConfig::kind_names());
  try {
    reverie::make_training_source({}, "none", {});
  } catch (const reverie::InputError& error) {
    fmt::print("{}\n", error.what());
  }
}
END
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
probes() {  # TEXT LINKER-OPTION...: what the probe prints of training
  local text=$1
  shift
  # shellcheck disable=SC2046
  c++ probe.cpp -o probe $(pkg-config --cflags --libs reverie) "$@" 2>log || fails "probe: $(head -n 5 log)"
  ./probe >out
  [[ $(head -n 1 out | tr -d ' ' | tr , '\n' | grep -cx 'rewrite\|adapt') -eq 2 ]] || fails "kinds: $(cat out)"
  grep -q "$text" out || fails "training: $(cat out)"
}
probes 'training a network needs LibTorch'
[[ ${2-} == ON ]] && probes 'none: ' -Wl,--no-as-needed -lreverie_learning

cp -r "$root/tests/recipes/consumer" . && cd consumer || exit 1
unset LD_LIBRARY_PATH
built() { cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug && cmake --build build; }
built >../log 2>&1 || fails "the consumer: $(tail -n 20 ../log)"
build/episode | grep -q ' groups placed' || fails "episode: $(build/episode)"

needs() { readelf -d "$1" | grep NEEDED; }
needs build/episode | grep -q 'libreverie\.so' || fails "episode uses no libreverie"
needs build/episode | grep -E 'protobuf|hdf5|torch' && fails "episode needs more than env"
needs "$prefix/lib/libreverie.so" | grep -E 'torch|c10' && fails "libreverie needs LibTorch"
if [[ ${2-} == ON ]]; then
  needs "$prefix/lib/libreverie_learning.so" | grep -q 'libreverie\.so' || fails "libreverie_learning stands alone"
  nm -DC --defined-only "$prefix/lib/libreverie_learning.so" | grep -q ' T reverie::register_kind' &&
    fails "libreverie_learning holds libreverie once more"
  build/dream >out || fails "dream: $(cat out)"
  cat out
  [[ -z $(sort out | cut -c -16 | uniq -d) ]] || fails "a solver is there twice: $(cat out)"
  grep -q '^exhaustive  *0 conflicts' out || fails "exhaustive search: $(cat out)"
fi

refused() {  # TEXT FIND_PACKAGE-ARGUMENT...
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(p CXX)\nfind_package(reverie %s REQUIRED)\n' "${*:2}" >../p/CMakeLists.txt
  cmake -S ../p -B ../p/build -DCMAKE_PREFIX_PATH="$prefix" >../log 2>&1 && fails "found: ${*:2}"
  tr -s ' \n' ' ' <../log | grep -q "$1" || fails "find_package ${*:2}: $(cat ../log)"
}
mkdir ../p
refused 'compatible with requested version "0.2"' 0.2
refused 'reverie_FOUND to FALSE' 0.1 COMPONENTS nonsense
[[ ${2-} == ON ]] || refused 'built without LibTorch' 0.1 COMPONENTS learning

# As part of another project.
mkdir ../outer
cat >../outer/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(outer CXX)
add_subdirectory("$root" reverie EXCLUDE_FROM_ALL)
add_executable(episode "$root/tests/recipes/consumer/episode.cpp")
target_link_libraries(episode PRIVATE reverie::env)
if(TEST test_base OR TARGET test_base)
  message(FATAL_ERROR "tests are part of another project")
endif()
END
cmake -S ../outer -B ../outer/build -DREVERIE_LEARNING="${2:-OFF}" >../log 2>&1 || fails "add_subdirectory: $(tail -n 20 ../log)"
exit $failures
