#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The examples build out of the tree with nothing but an installed iaprof, and hold up against the plugin interface.
# usage: test_examples.sh SOURCE BUILD
set -eu
for tool in pkg-config make; do
  if ! command -v "$tool" >/dev/null 2>&1; then
    echo "1..0 # SKIP no $tool here"
    exit 0
  fi
done
source=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sh "$source/tests/stage.sh" "$2" "$folder/root"
file=$(find "$folder/root" -name iaprof.pc)
export PKG_CONFIG_PATH="${file%/*}"
# The files name the final places; everything in them is below the prefix.
prefix=$folder/root$(pkg-config --variable=prefix iaprof)
sed -i "s|^prefix=.*|prefix=$prefix|" "$PKG_CONFIG_PATH"/*.pc
pkg_config=pkg-config
plugin_folder=$($pkg_config --variable=plugindir iaprof)
cp -r "$prefix/share/iaprof/plugins" "$folder/examples"

# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"

# defined NAME: the number that the header of versions defines.
defined() {
  sed -n "s/^#define $1 \([0-9]*\)u.*/\1/p" "$source/include/iaprof/version.h"
}

make="make -C $folder/examples"
# shellcheck disable=SC2086 # a command and its arguments
{
  try "they build without a warning" $make PKG_CONFIG="$pkg_config" \
    CFLAGS="-O2 -std=c11 -Wall -Wextra -Wpedantic -Werror" CXXFLAGS="-O2 -std=c++17 -Wall -Wextra -Werror"
  try "each passes iaprof-plugin-check" $make check PLUGIN_CHECK="$prefix/bin/iaprof-plugin-check"
  try "they install into plugindir" $make install PKG_CONFIG="$pkg_config"
}
try "the plugin folder has that in C" test -e "$plugin_folder/iaprof-loadavg.so"
try "the plugin folder has that in C++" test -e "$plugin_folder/iaprof-uptime.so"
if command -v rustc >/dev/null 2>&1; then
  try "the plugin folder has that in Rust" test -e "$plugin_folder/iaprof-memory.so"
else
  skip "the plugin folder has that in Rust" "no rustc here"
fi

# sends SOURCE COUNTER: the source sends values of the counter.
# shellcheck disable=SC2317 # called by try
sends() {
  "$prefix/bin/iaprof" -q -d 300ms -s "$1" -k "csv:rows=events,output=$folder/events.csv" &&
    grep "$2" "$folder/events.csv"
}
try "the source in C++ runs" sends uptime uptime
if [ -e "$plugin_folder/iaprof-memory.so" ]; then
  try "the source in Rust runs" sends memory "available memory"
else
  skip "the source in Rust runs" "no rustc here"
fi

# A plugin in the plugin folder is not trusted because it lies there: one that crashes ends alone.
# shellcheck disable=SC2317 # called by try
crash_ends_one_plugin() {
  cc -O1 -std=gnu17 -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden -I"$source/include" -I"$source/lib" \
    -o "$plugin_folder/iaprof-failing-source.so" "$source/tests/cli/failing_source.c"
  status=0
  "$prefix/bin/iaprof" -q -d 300ms -s uptime -s failing-source:in=timer,ends=segv \
    -k "csv:rows=events,output=$folder/crash.csv" 2>"$folder/messages" || status=$?
  rm "$plugin_folder/iaprof-failing-source.so"
  cat "$folder/messages"
  [ "$status" -eq 1 ] && grep -q uptime "$folder/crash.csv" &&
    grep -qx 'iaprof: source failing-source: crashed with SIGSEGV in callback timer' "$folder/messages"
}
try "an installed plugin that crashes ends alone" crash_ends_one_plugin

# A sink that declares itself the default is used by name only.
# shellcheck disable=SC2317 # called by try
default_stays() {
  sed 's/"hottest"/"a-default"/; s/\.kind = IAPROF_PLUGIN_SINK,/& .flags = IAPROF_PLUGIN_DEFAULT,/' \
    "$source/examples/iaprof-hottest.c" >"$folder/a-default.c"
  cc -O1 -std=gnu17 -fPIC -shared -fvisibility=hidden -I"$source/include" \
    -o "$plugin_folder/iaprof-a-default.so" "$folder/a-default.c"
  printf 'program;main 7\n' >"$folder/default.folded"
  "$prefix/bin/iaprof" -q --replay "$folder/default.folded" -o "$folder/default.out"
  "$prefix/bin/iaprof" -q --replay "$folder/default.folded" -k "a-default:output=$folder/named.out"
  rm "$plugin_folder/iaprof-a-default.so"
  cat "$folder/default.out" "$folder/named.out"
  [ "$(cat "$folder/default.out")" = 'program;main 7' ] && [ "$(cat "$folder/named.out")" != 'program;main 7' ]
}
try "an installed sink does not become the default" default_stays

# What iaprof-new-plugin writes is built and tested with the commands that it prints.
# shellcheck disable=SC2317 # called by try
new_plugin() {
  cd "$folder"
  "$prefix/bin/iaprof-new-plugin" "$1" "my-$1" >"$folder/steps"
  sed -n 's/^  \(cd\|meson\)/\1/p' "$folder/steps" >"$folder/commands"
  [ "$(wc -l <"$folder/commands")" -eq 3 ]
  sed -i 's/^meson setup /&-Dwerror=true -Dc_args=-Wpedantic /' "$folder/commands"
  sh -eu "$folder/commands"
}
# shellcheck disable=SC2317 # called by try
joined_flame_graph() {
  command=$(sed -n 's/^  sudo //p' "$folder/steps")
  cd "$folder/iaprof-my-source"
  $command 2>messages && [ -s my-source.html ] && grep '1280 matched, 0 ambiguous, 0 unmatched' messages
}
# The plugin as part of a project that has iaprof as a subproject.
# shellcheck disable=SC2317 # called by try
subproject() {
  mkdir -p "$folder/parent/subprojects"
  cp -r "$folder/iaprof-my-source/." "$folder/parent"
  rm -rf "$folder/parent/build"
  ln -s "$source" "$folder/parent/subprojects/iaprof"
  cd "$folder/parent"
  for package in iaprof-common iaprof-bpf; do
    echo "dependency('$package', required: '$package' == 'iaprof-common')" >>meson.build
  done
  PKG_CONFIG_PATH='' meson setup build --force-fallback-for=iaprof,iaprof-common,iaprof-bpf \
    -Diaprof:tests=false -Diaprof:bpf=disabled
  ninja -C build iaprof-my-source.so
  "$prefix/bin/iaprof-plugin-check" build/iaprof-my-source.so
}
if command -v meson >/dev/null 2>&1; then
  for kind in sink decoder source; do
    try "a new $kind builds and passes its tests" new_plugin "$kind"
  done
  if [ "$(id -u)" -eq 0 ]; then
    try "the printed command makes a flame graph with joined samples" joined_flame_graph
  else
    skip "the printed command makes a flame graph with joined samples" "not root"
  fi
  try "it builds with iaprof as a subproject, too" subproject
else
  skip "what iaprof-new-plugin writes" "no meson here"
fi
# shellcheck disable=SC2317 # called by try
refused() {
  cd "$folder"
  mkdir -p iaprof-known
  for arguments in 'socket a' 'source A_b' 'source known' 'source'; do
    # shellcheck disable=SC2086 # two words
    if "$prefix/bin/iaprof-new-plugin" $arguments; then return 1; fi
  done
  rmdir iaprof-known
  [ "$("$prefix/bin/iaprof-new-plugin" --help)" = 'usage: iaprof-new-plugin source|sink|decoder NAME' ]
  ! ls -d iaprof-a iaprof-A_b
}
try "a wrong kind, a wrong name and a folder that is there are refused, and help is printed" refused

# Each installed header of the libraries compiles with the flags of its package alone.
# shellcheck disable=SC2046,SC2317 # a list of arguments; called by try
library_headers() {
  cd "$prefix/include/iaprof-common"
  find . -name '*.h' ! -path './bpf/*' | sed 's/.*/#include "&"/' >"$folder/headers.c"
  cc -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -x c $($pkg_config --cflags iaprof-common) \
    "$folder/headers.c"
}
try "the installed headers of the library include only what is installed" library_headers
# shellcheck disable=SC2046,SC2086,SC2317 # lists of arguments; called by try
build_with_library() {
  cc -O2 -std=gnu17 -fPIC -fvisibility=hidden -shared -Wall -Wextra -Wno-unused-parameter -Werror -DPLUGIN_VERSION='"1"' \
    -o "$folder/iaprof-folded.so" "$source/plugins/sink-folded/folded.c" $($pkg_config --cflags --libs iaprof-common)
  "$prefix/bin/iaprof-plugin-check" "$folder/iaprof-folded.so"
}
try "one of our sinks builds like that with the installed library, and passes" build_with_library
try "iaprof.pc has the versions that the headers have" test \
  "$(pkg-config --variable=abi_version iaprof) $(pkg-config --variable=schema_version iaprof)" = \
  "$(defined IAPROF_ABI_VERSION) $(defined IAPROF_SCHEMA_VERSION)"
finish
