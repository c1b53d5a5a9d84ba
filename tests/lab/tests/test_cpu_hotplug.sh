#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.1 newest
# lab: short newest
# lab: covers plugins/cpu-stack/** plugins/sink-folded/** lib/bpf/cpu_table.[ch] engine/process/sideband*
# lab: covers tests/programs/load.c
# A CPU that goes offline and comes back is sampled again, with the processes that start on it, and what was missed is
# told; a second CPU that is not there at the start is sampled from when it comes.
set -eu
cpu=/sys/devices/system/cpu/cpu1/online
# shellcheck source=tests/tap.sh
. "$LAB_SOURCE/tests/tap.sh"

tell() {
  local what=$1 passed=0
  shift
  "$@" || passed=$?
  result $passed "$what" log
}

# Runs the load on CPU 1 only, as a program that nobody saw before, until the profile ends.
load_on_cpu_1() {
  cp "$LAB_BUILD/tests/programs/load" "./$1"
  taskset -c 1 "./$1" shares 600000 >/dev/null &
  load=$!
}

# Share of burn_50 among a program's samples, in percent.
share_is_right() {
  awk -v program="$1" 'index($0, program ";") == 1 { all += $NF; if (/;burn_50;|;burn_50 /) half += $NF }
    END { print "burn_50 has", half, "of", all; exit !(all > 0 && half > 0.3 * all && half < 0.7 * all) }' "$2" >>log
}

# Comes back when it samples: each CPU that is online has its clock and its ring, which is drained.
profile() {
  "$LAB_BUILD/iaprof" --source cpu-stack:frequency=199 --sink folded --output "$1" >>log 2>&1 &
  profiler=$!
  local events
  events=$((2 * $(nproc)))
  until [ "$(find "/proc/$profiler/fd" -lname '*perf_event*' | wc -l)" -ge $events ]; do
    kill -0 $profiler || return
    sleep 0.1
  done
  sleep 2
}

# The load has run for some seconds.
end_profile() {
  sleep 4
  status=0
  kill -TERM "$profiler"
  wait "$profiler" || status=$?
  kill "$load"
  wait "$load" 2>/dev/null || :
}

profile returned.folded
echo 0 >$cpu
sleep 2
echo 1 >$cpu
sleep 2
load_on_cpu_1 after-return
end_profile
tell "a profile ends well when a CPU went and came back" test "$status" -eq 0
tell "what runs on a CPU that came back is in the profile" share_is_right after-return returned.folded
tell "the time that it was not sampled is told as lost" grep -q 'lost: cpu-stack.*CPU came online' log

echo 0 >$cpu
profile late.folded
echo 1 >$cpu
sleep 2
load_on_cpu_1 on-late-cpu
end_profile
tell "a profile ends well when a CPU came during it" test "$status" -eq 0
tell "what runs on a CPU that came during the profile is in it" share_is_right on-late-cpu late.folded
