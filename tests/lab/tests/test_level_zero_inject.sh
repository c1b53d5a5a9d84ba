#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: seconds 900
# lab: runtime
# lab: covers plugins/ze-usdt/** plugins/sink-csv/**
# lab: covers tests/lab/level_zero/**
# The tracer is loaded into a program that runs already, with Intel's real runtime, in another root directory:
# what is told of code, launches and stacks from then on is what the program says.
# shellcheck disable=SC2317 # "try" calls the functions
set -u
[[ -n $LAB_CHROOT ]] || { echo "there is no chroot with Intel's runtime"; exit 77; }
[[ -e $LAB_BUILD/plugins/ze-usdt/iaprof-ze-usdt.so ]] || { echo "this build has no ze-usdt"; exit 77; }
# shellcheck source=tests/lab/level_zero/checks.sh
. "$LAB_SOURCE/tests/lab/level_zero/checks.sh"

# injected OPTION...: the program uses Level Zero already when iaprof begins, and is profiled to its end.
injected() {
  rm -f truth events.csv
  "$LAB_SOURCE/tests/lab/guest/in-chroot" "$source/run-without-gpu" bmg "$programs/launcher-nofp" --truth "$PWD/truth" \
    --formats native --threads 2 "$@" >printed 2>&1 &
  local program=$!
  local pid=none
  until grep -qs libze_intel_gpu "/proc/$pid/maps"; do
    kill -0 "$program" 2>/dev/null || { cat printed; return 1; }
    sleep 0.5
    pid=$(sed -n 's/^pid //p' printed)
  done
  "$LAB_BUILD/iaprof" --check --source ze-usdt >checked
  "$LAB_BUILD/iaprof" -p "$pid" --source ze-usdt:tracer=inject --sink csv:rows=events --output events.csv &
  local iaprof=$!
  wait "$program" || { cat printed; return 1; }
  kill -TERM "$iaprof"
  wait "$iaprof"
}

# told FIELD...: of the launches, as they were told: functions and kernel, the count.
told() {
  python3 - "$@" <<'PYTHON'
import csv
import sys

rows = list(csv.DictReader(open('events.csv', encoding='utf-8')))
if sys.argv[1] == 'launches':
    # Root first: ... the layer, the site, and what called Level Zero.
    print('\n'.join(sorted({'\t'.join([*row['functions'].split(';')[-3:-1], row['name']])
                            for row in rows if row['record'] == 'launch'})))
elif sys.argv[1] == 'kernels':
    print('\n'.join(sorted({'\t'.join([row['name'], row['address'], row['size']])
                            for row in rows if row['record'] == 'kernel'})))
else:
    print(sum(int(row['count']) for row in rows if row['record'] == 'launch'))
PYTHON
}

# As shown to people: c++filt says "typeinfo name for scale<float>".
shown() {
  sed 's/_ZTS5scaleIfE/scale<float>/' | LC_ALL=C sort -u
}

for lists in immediate regular; do
  try "$lists lists: the program is profiled from outside, and ends well" injected --lists "$lists" --duration 10000 --rate 5
  try "--check told how it can be seen" grep -E '^  limited  process [0-9]+ \(launcher.*-p [0-9]+ -s ze-usdt:tracer=inject' checked
  # A launch that was appended before nobody saw.
  if [[ $lists == immediate ]]; then
    try "every site is told, with its layer and kernel" equal "$(rows launch 6 7 9 | shown)" "$(told launches)"
    try "every kernel is told, at its address, with its size" equal "$(rows kernel 5 6 7 | shown)" "$(told kernels)"
    try "there are launches" test "$(told count)" -gt 0
  fi
  try "no launch is told that was none" test "$(told count)" -le "$(rows launch 11 | awk '{ sum += $1 } END { print sum }')"
done
finish
