#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: chroot
# lab: runtime
# lab: covers tests/lab/level_zero/** tests/data/zebin/**
# Made again by the same versions, tests/data/zebin is the same to the byte, and the judges agree on every instruction.
# shellcheck disable=SC2317 # "try" calls the functions
set -u
# shellcheck source=tests/lab/level_zero/checks.sh
. "$LAB_SOURCE/tests/lab/level_zero/checks.sh"
kept=$LAB_SOURCE/tests/data/zebin

# Every byte of every kernel is of an instruction that the judges know.
covered() {
  local file
  for file in made/*/*.instructions.tsv.xz; do
    diff <(xz -dc "$file" |
      awk -F '\t' '!/^#/ { bytes[$2] += $4 } END { for (name in bytes) print name, bytes[name] }' | sort) \
      <(readelf -sW "${file%.instructions.tsv.xz}.loaded-debug.elf" 2>/dev/null |
      awk '$4 == "FUNC" { print $8, $3 }' | sort) || return
  done
}

# What a fixture was made for is in it.
has() {
  xz -dc "made/$1.instructions.tsv.xz" | cut -f "$2" | grep -qE "$3"
}

# Addresses of functions and lines that begin at 0: the compiler's defect that kernels/keep_memory.c is about.
unnamed() {
  readelf --debug-dump=info made/bmg/transformer.unnamed.loaded-debug.elf 2>/dev/null |
    awk '/DW_TAG_compile_unit/ { unit = 1 } unit && /DW_AT_low_pc/ { print $NF; unit = 0 }' | sort | uniq -c | tr -s ' '
}

same_versions() {
  diff "$kept/versions.txt" made/versions.txt
}

try "the judges agree about every instruction" "$source/make_fixtures" made
try "every byte of a kernel is in an instruction" covered
for product in bmg lnl ptl pvc; do
  try "$product: functions are inlined two deep" has "$product/transformer" 6-9 \
    $'^cube [^\t]*activation.h [0-9]+\tgelu_inner [^\t]*\tgelu [^\t]*\tbias_gelu [^\t]*transformer.cl'
  try "$product: a function is called" has "$product/transformer" 5 '^call$'
  try "$product: the matrix engine is used" has "$product/systolic" 5 '^dpas$'
done
for product in bmg lnl pvc; do
  try "$product: a kernel spills" grep -qa 'spill_size: *[1-9]' "made/$product/transformer.bin"
done
try "relocations that name nothing leave the lines without addresses" equal " 8 0" "$(unnamed)"
if same_versions >difference; then
  try "the bytes are those of tests/data/zebin" diff -r --exclude=README.md "$kept" made
else
  skip "the bytes are those of tests/data/zebin" "other versions: $(grep '^[<>]' difference | tr '\n' ' ')"
fi
finish
