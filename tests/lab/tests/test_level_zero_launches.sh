#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: chroot
# lab: runtime
# lab: covers tests/lab/level_zero/**
# The Level Zero program tells the truth about its launches: gdb and the loader's log, which look from outside, agree.
# shellcheck disable=SC2317 # "try" calls the functions
set -u
# shellcheck source=tests/lab/level_zero/checks.sh
. "$LAB_SOURCE/tests/lab/level_zero/checks.sh"

# agrees VARIANT PRODUCT OPTION...: gdb counted every launch that the truth has, and no other.
agrees() {
  local variant=$1 product=$2
  shift 2
  rm -f truth seen
  LAUNCHES=seen "$source/run-without-gpu" "$product" gdb -q -nx -batch -x "$source/judges/launches.py" --args \
    "$programs/launcher-$variant" --truth truth "$@" >printed 2>&1
  rows launch 4 6 7 8 9 10 | sort >told
  if ! [[ -s told ]] || ! diff <(sort seen) told; then
    tail -n 5 printed
    return 1
  fi
}

# logged CALL: how often the loader wrote that the function was called.
logged() {
  grep -c "\[trace\] $1(" printed
}

with_log() {
  ZE_ENABLE_VALIDATION_LAYER=1 ZEL_ENABLE_LOADER_LOGGING=1 ZEL_LOADER_LOGGING_LEVEL=trace ZEL_LOADER_LOG_CONSOLE=1 \
    launcher "$@"
}

# Calls, not kernels: the second kernel of a launch of two adds none.
appended() {
  rows launch 9 10 | awk -F '\t' '$1 != "_ZTS5scaleIfE" { sum += $2 } END { print sum }'
}

log_agrees() {
  with_log "$@" && equal "$(appended)" "$(grep -cE '\[trace\] zeCommandListAppendLaunch\w+\(' printed)"
}

for product in bmg lnl; do
  for variant in fp nofp late; do
    try "$product: every way to launch, from three threads ($variant)" \
      agrees "$variant" "$product" --threads 3 --turns 2
  done
  try "$product: chosen sites, two of them for one kernel" agrees fp "$product" --turns 7 \
    --sites attention_scores=3,feed_forward_up=1,embedding_count=2
  try "$product: the chosen sites launched in these proportions" equal "14 21 7" \
    "$(rows launch 10 | tr '\n' ' ' | sed 's/ $//')"
  try "$product: one kernel from five sites" agrees fp "$product" --site-kernel matmul_tile --sites \
    "embedding_rotate=1,attention_scores=2,feed_forward_up=4,feed_forward_gelu=8,embedding_count=16"
  try "$product: and no other kernel" equal "matmul_tile 31" \
    "$(rows launch 9 10 | awk '{ sum[$1] += $2 } END { for (name in sum) print name, sum[name] }')"
  try "$product: a regular list is appended once" agrees fp "$product" --lists regular --turns 5 --executions 4
  try "$product: and executed as often as asked" equal "1 20" "$(rows launch 10 11 | sort -u | tr '\t' ' ')"
  try "$product: modules from SPIR-V" agrees fp "$product" --formats spirv
  try "$product: native modules" agrees fp "$product" --formats native
  try "$product: the loader's log has as many launches" log_agrees fp "$product" --threads 2 --turns 3 --reloads 2
  try "$product: and as many modules" equal "$(rows module 2 | wc -l)" "$(logged zeModuleCreate)"
  try "$product: the log has each execution of a list" with_log fp "$product" --lists regular --turns 5 --executions 4
  try "$product: as often as asked" equal 20 "$(logged zeCommandQueueExecuteCommandLists)"
  try "$product: a forked child launches as well" log_agrees fp "$product" --child fork
  try "$product: under a process id of its own" equal 2 "$(rows launch 2 | sort -u | wc -l)"
  try "$product: after exec the process launches again" log_agrees fp "$product" --child exec --turns 2
  try "$product: under the same process id" equal "1 20" \
    "$(rows launch 2 | sort -u | wc -l) $(rows launch 2 | wc -l)"
  try "$product: with the options it had" \
    launcher fp "$product" --child exec --sites attention_scores=3,feed_forward_up=2
  try "$product: both times" equal "3 2 3 2" "$(rows launch 10 | tr '\n' ' ' | sed 's/ $//')"
done
for product in ptl pvc; do
  try "$product: every way to launch" agrees fp "$product"
done
finish
