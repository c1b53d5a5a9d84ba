#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plugins whose structs and records are shorter or longer than the core's load, run and hold up.
# usage: test_versions.sh IAPROF PLUGIN_CHECK FOLDER
set -u
iaprof=$1
plugin_check=$2
plugins=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"

# The source sends the counter once and three samples of 14 each, and finishes.
# shellcheck disable=SC2317 # called through try
runs() {
  "$iaprof" -q -d 60s -s "$plugins/iaprof-$1-source.so:number=14" -k "csv:rows=events,output=$folder/events.csv" \
    -k "$plugins/iaprof-$1-sink.so:number=9,output=$folder/sums.txt" || return
  cat "$folder/sums.txt"
  grep -q 'count.*14' "$folder/events.csv" && [ "$(cat "$folder/sums.txt")" = "number 9, count 3, sum 42" ]
}

for version in earlier later; do
  for kind in source sink; do
    try "$version $kind holds up" "$plugin_check" "$plugins/iaprof-$version-$kind.so"
  done
  try "$version source and sink run" runs "$version"
done
finish
