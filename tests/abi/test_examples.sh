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
# iaprof.pc names the final places; everything in it is below its prefix.
prefix=$folder/root$(pkg-config --variable=prefix iaprof)
pkg_config="pkg-config --define-variable=prefix=$prefix"
plugin_folder=$($pkg_config --variable=plugindir iaprof)
cp -r "$source/examples" "$folder/examples"

number=0
status=0
# try WHAT COMMAND...
try() {
  what=$1
  shift
  number=$((number + 1))
  if "$@" >"$folder/output" 2>&1; then
    echo "ok $number - $what"
  else
    echo "not ok $number - $what"
    sed 's/^/# /' "$folder/output"
    status=1
  fi
}

# defined HEADER NAME: the number a public header defines.
defined() {
  sed -n "s/^#define $2 \([0-9]*\)u\$/\1/p" "$source/include/iaprof/$1"
}

make="make -C $folder/examples"
# shellcheck disable=SC2086 # a command and its arguments
{
  try "they build without a warning" $make PKG_CONFIG="$pkg_config" \
    CFLAGS="-O2 -std=gnu11 -Wall -Wextra -pedantic -Werror"
  try "each passes iaprof-plugin-check" $make check PLUGIN_CHECK="$prefix/bin/iaprof-plugin-check"
  try "they install into plugindir" $make install PKG_CONFIG="$pkg_config"
}
try "the plugin folder has them" test -e "$plugin_folder/iaprof-loadavg.so"
try "iaprof.pc has the versions that the headers have" test \
  "$(pkg-config --variable=abi_version iaprof) $(pkg-config --variable=schema_version iaprof)" = \
  "$(defined plugin.h IAPROF_ABI_VERSION) $(defined record.h IAPROF_SCHEMA_VERSION)"
echo "1..$number"
exit "$status"
