#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An installation has everything that was built, in its place, and runs where it was put.
# usage: test_install.sh SOURCE BUILD
set -eu
source=$1
build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sh "$source/tests/stage.sh" "$build" "$folder/root"
bin=$(find "$folder/root" -type d -name bin)
prefix=${bin%/bin}
# iaprof.pc lies in the library folder, wherever that is on this distribution.
plugins=$(find "$folder/root" -name iaprof.pc -printf '%h')/../iaprof/plugins

# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"

# same_names FOLDER FILE...: every file is in the folder under its own name, and there is at least one.
# shellcheck disable=SC2317 # called through try
same_names() {
  place=$1
  shift
  for file in "$@"; do
    [ -s "$place/${file##*/}" ] || { echo "$place/${file##*/} is missing" && return 1; }
  done
}

# shellcheck disable=SC2317
man_pages() {
  for page in "$source"/man/*.[1-8]; do
    same_names "$prefix/share/man/man${page##*.}" "$page" || return 1
  done
}

# shellcheck disable=SC2317
lists_plugins() {
  "$bin/iaprof" --list >"$folder/list" || return 1
  for file in "$build"/plugins/*/iaprof-*.so; do
    name=${file##*/iaprof-}
    grep -qw -- "${name%.so}" "$folder/list" || { echo "--list has no ${name%.so}" && return 1; }
  done
}

try "programs" same_names "$bin" iaprof iaprof-plugin-check
try "plugins" same_names "$plugins" "$build"/plugins/*/iaprof-*.so
try "public headers" same_names "$prefix/include/iaprof" "$source"/include/iaprof/*.h
try "manual pages" man_pages
try "completion for bash" test -s "$prefix/share/bash-completion/completions/iaprof"
try "completion for zsh" test -s "$prefix/share/zsh/site-functions/_iaprof"
# shellcheck disable=SC2317
finds_examples() {
  (cd "$folder" && { "$bin/iaprof" -c npu.ini --check || true; }) 2>&1 | grep -qx "iaprof: configuration: .*/share/iaprof/npu.ini"
}

try "examples" same_names "$prefix/share/iaprof" "$source"/examples/*.ini "$source"/examples/*.iaprof
try "-c finds an installed example from any folder" finds_examples
try "iaprof runs there" "$bin/iaprof" --version
try "it finds the plugins beside it" lists_plugins
finish
