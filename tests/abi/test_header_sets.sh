#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plugins that are built with headers in which every struct has one member more, or one less, load and have the results
# that their examples are made of: the core does not know the additional members, and does without the missing ones.
# usage: test_header_sets.sh SOURCE BUILD
set -u
source=$1
iaprof=$2/iaprof
plugin_check=$2/tools/plugin-check/iaprof-plugin-check
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"

# built SET NAME: builds an example with the headers of the set.
# shellcheck disable=SC2317 # called through try
built() {
  cc -O1 -g -std=gnu11 -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror -I"$folder/$1" \
    -o "$folder/$1/iaprof-$2.so" "$source/examples/iaprof-$2.c"
}

# with_results SET NAME: the test of an example passes; 77: it is for root.
# shellcheck disable=SC2317 # called through try
with_results() {
  sh "$source/examples/$2.test" "$iaprof" "$folder/$1/iaprof-$2.so" || [ $? -eq 77 ]
}

for set in more less; do
  changed=$(python3 "${0%/*}/versions/header_set.py" "$set" "$source/include" "$folder/$set")
  # Of 86 structs, few cannot grow, and half have no member that a plugin may lack.
  [ "$set" = more ] && least=70 || least=40
  result $((${changed%% *} < least)) "one member $set: $changed" /dev/null
  for example in accelerator hottest ebpf; do
    try "one member $set: $example is built" built "$set" "$example"
    try "one member $set: $example holds up" "$plugin_check" "$folder/$set/iaprof-$example.so"
    try "one member $set: $example has the same results" with_results "$set" "$example"
  done
done
finish
