#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: seconds 1500
# lab: runtime
# lab: covers plugins/ze-usdt/tracer/** plugins/ze-usdt/probes.h
# lab: covers tests/lab/level_zero/**
# The tracer in programs on Intel's real runtime: what its probes tell bpftrace is the truth, with the whole stack of each
# launch, and a program does not notice it.
# shellcheck disable=SC2317 # "try" calls the functions
set -u
[[ -n $LAB_CHROOT ]] || { echo "there is no chroot with Intel's runtime"; exit 77; }
command -v bpftrace >/dev/null || { echo "bpftrace is not installed"; exit 77; }
tracer=$LAB_BUILD/plugins/ze-usdt/libiaprof-ze-tracer.so
[[ -e $tracer ]] || { echo "this build has no tracer: meson setup says what is missing"; exit 77; }
# shellcheck source=tests/lab/level_zero/checks.sh
. "$LAB_SOURCE/tests/lab/level_zero/checks.sh"
mkdir images dump
chmod 777 . images dump
sed -e "s#FILE#$tracer#" -e "s#FOLDER#$PWD/images#" "$source/judges/launch_probes.bt" >program.bt

in_chroot() {
  "$LAB_SOURCE/tests/lab/guest/in-chroot" "$@"
}

# attach: bpftrace listens from now on, and writes what it sees into "seen".
attach() {
  rm -f seen images/*
  # Holds all events of a run: however late bpftrace is, none is lost.
  BPFTRACE_PERF_RB_PAGES=8192 bpftrace --unsafe program.bt >seen 2>said &
  listener=$!
  until grep -qs attached seen; do
    kill -0 "$listener" || { cat said; return 1; }
    sleep 0.2
  done
}

detach() {
  # What it still has to print would be lost.
  local before=-1
  while [[ $(stat -c %s seen) != "$before" ]]; do
    before=$(stat -c %s seen)
    sleep 2
  done
  # Again and again: while it runs a command for an event, the signal is lost.
  while kill -INT "$listener" 2>/dev/null; do
    sleep 0.3
  done
  wait "$listener"
  ! grep 'Lost .* events' seen
}

# traced VARIANT PRODUCT OPTION...: the program with the tracer; the truth and "printed" are its.
traced() {
  local variant=$1 product=$2
  shift 2
  rm -f truth printed
  # Unquoted: nothing, or the loading of the tracer.
  # shellcheck disable=SC2086
  in_chroot "$source/run-without-gpu" "$product" setarch --addr-no-randomize env ${preload-LD_PRELOAD=$tracer} \
    "$programs/launcher-$variant" --truth "$PWD/truth" --formats native "$@" >printed 2>&1 || {
    cat printed
    return 1
  }
}

judged() {
  python3 "$source/judges/launch_probes.py" seen truth "$programs/launcher-$1" "${@:2}"
}

# told VARIANT PRODUCT OPTION...: everything that the program did was seen, and nothing else.
told() {
  attach && traced "$@" && detach && judged "$1"
}

executed() {
  attach && traced nofp bmg --child exec --turns 2 && detach && judged nofp exec
}

# The images are the files that the runtime gives the program itself.
images_same() {
  local image
  local -i count=0
  for image in images/*.elf; do
    cmp -s "$image" dump/transformer.loaded-debug.elf || cmp -s "$image" dump/systolic.loaded-debug.elf || return 1
    [[ $(stat -c %a "$image") == 600 ]] || return 1
    count+=1
  done
  ((count > 0))
}

# What another test's program left, which was killed, is none of this one's.
before=$(compgen -G '/tmp/iaprof-ze-*')
nothing_left() {
  ! compgen -G '/tmp/iaprof-ze-*' | grep -vxF -e "${before:-none}"
}

# Nobody takes the files: the tracer removes them itself.
left_alone() {
  sed -i '/system/d' program.bt # from here on
  attach && traced fp bmg && detach && judged fp && nothing_left
}

# Milliseconds; gdb needs its time in a guest, whose processor is emulated.
duration=${LAB_KERNEL:+60000}
duration=${duration:-15000}

# begun_before [COMMAND...]: the program runs when bpftrace comes; the command gets its process id first.
begun_before() {
  traced nofp bmg --duration "$duration" --rate 5 --threads 2 &
  local program=$! process
  until process=$(pgrep -f "^$programs/launcher-nofp") && grep -q libze_tracing_layer "/proc/$process/maps"; do
    sleep 0.2
  done
  sleep 2
  if (($#)); then
    "$@" "$process" || return 1
  fi
  attach && wait "$program" && detach && judged nofp late
}

# Whether gdb is there, and can call a function of a process: gdb 13 cannot write the registers of a processor with AMX.
gdb_calls() {
  command -v gdb >/dev/null || { echo none && return; }
  sleep 100 2>/dev/null &
  gdb -q -nx -batch -p $! -ex 'print (int) getpid()' 2>&1 | grep -q "write extended state" && echo no || echo yes
  kill $! 2>/dev/null
}

# Opens the tracer in a process that never heard of it.
open_in() {
  gdb -q -nx -batch -p "$1" -ex "set sysroot /proc/$1/root" \
    -ex "print ((void *(*)(const char *, int)) dlopen)(\"$tracer\", 2)" >opened 2>&1
  grep -q libiaprof-ze-tracer "/proc/$1/maps" || { cat opened; return 1; }
}

opened_late() {
  preload='' begun_before open_in
}

# awkward WAY [VARIABLE=VALUE]
awkward() {
  in_chroot "$source/run-without-gpu" bmg setarch --addr-no-randomize env ${2:+"$2"} timeout 200 \
    "$programs/awkward" "$programs/modules/transformer.bmg.bin" tiny "$1" >printed 2>&1 || {
    cat printed
    return 1
  }
}

# Every launch is counted under its own stack, and the program does not stumble.
awkward_told() {
  attach && awkward "$1" LD_PRELOAD="$tracer" && detach &&
    python3 "$source/judges/launch_stacks.py" seen printed "$programs/awkward" "$1"
}

# unchanged COMMAND...: it prints and ends the same with the tracer as without.
unchanged() {
  local plain with status=0 status_with=0
  plain=$(in_chroot "$@" 2>&1) || status=$?
  with=$(in_chroot env LD_PRELOAD="$tracer" "$@" 2>&1) || status_with=$?
  equal "$status $plain" "$status_with $with"
}

truth_unchanged() {
  preload='' traced nofp lnl --threads 4 --turns 3 && rows launch 6 7 8 9 10 11 | sort >plain &&
    traced nofp lnl --threads 4 --turns 3 && rows launch 6 7 8 9 10 11 | sort | diff plain -
}

try "every way to launch, from three threads (nofp, bmg)" told nofp bmg --threads 3 --turns 2 --dump "$PWD/dump"
try "images are what the runtime gives" images_same
try "the loader is opened late (late, lnl)" told late lnl --threads 2
try "with frame pointers (fp, lnl)" told fp lnl --turns 2
try "regular lists are appended to once and executed often" told nofp bmg --lists regular --turns 3 --executions 4 --threads 2
try "modules come and go" told nofp lnl --reloads 3
try "a forked child launches as well" told nofp bmg --child fork
try "after exec the process launches again" executed
try "nothing is left in /tmp" nothing_left
try "a program that ran before is told of from then on" begun_before
case $(gdb_calls) in
yes) try "so is one in which the tracer is opened later" opened_late ;;
none) skip "so is one in which the tracer is opened later" "gdb is not installed" ;;
no) skip "so is one in which the tracer is opened later" \
  "this gdb cannot call functions on this processor (level-zero-inject opens it without gdb)" ;;
esac
try "files that nobody takes are removed" left_alone
try "a program does the same with the tracer" truth_unchanged
for command in "true" "false" "ls /" "sh -c 'exit 3'" "python3 -c 'import ctypes; print(ctypes.CDLL(None).zeInitNot)'" \
  "python3 -c 'import ctypes; print(hasattr(ctypes.CDLL(None), \"zeInit\"))'" "python3 -c 'import ctypes; ctypes.CDLL(\"libze_loader.so.1\").zeInit'"; do
  try "unchanged: $command" unchanged sh -c "$command"
done
for way in threads forks alloca signals coroutines cancel tracer; do
  try "awkward, and nobody listens: $way" awkward "$way" LD_PRELOAD="$tracer"
done
for way in threads forks alloca signals coroutines cancel tracer; do
  try "awkward, and every launch has its stack: $way" awkward_told "$way"
done
finish
