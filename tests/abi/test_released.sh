#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plugins that were built with the headers of earlier releases still load, run and hold up against the interface.
# usage: test_released.sh IAPROF PLUGIN_CHECK FOLDER
set -u
iaprof=$1
plugin_check=$2
machine=$(uname -m)
if [ ! -d "$3/$machine" ]; then
  echo "1..0 # SKIP no released plugins for $machine are kept"
  exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"

# The load is a counter, in the events of a CSV.
# shellcheck disable=SC2317 # called through try
source_runs() {
  "$iaprof" -q -d 300ms -s "$1:period=10ms" -k "csv:rows=events,output=$folder/events.csv" &&
    grep -q load "$folder/events.csv"
}

# shellcheck disable=SC2317
sink_runs() {
  "$iaprof" -q -d 300ms -s "$1" -k "$2:count=3,output=$folder/hottest.txt" && [ -e "$folder/hottest.txt" ]
}

# A folder that others can write would be refused to root, as it should be.
cp -r "$3/$machine" "$folder/plugins"
chmod -R go-w "$folder/plugins"
for release in "$folder"/plugins/*; do
  for plugin in "$release"/iaprof-*.so; do
    try "${plugin#"$folder/plugins/"} holds up" "$plugin_check" "$plugin"
  done
  try "${release##*/} source runs" source_runs "$release/iaprof-loadavg.so"
  try "${release##*/} sink runs" sink_runs "$release/iaprof-loadavg.so" "$release/iaprof-hottest.so"
done
finish
