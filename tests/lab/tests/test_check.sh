#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# lab: module xe
# lab: covers core/run/check.c plugins/xe-eustall/**
# What --check tells of GPUs with EU stalls, without, with an old driver, and of the right to sample them.
set -u
double=/sys/kernel/debug/xe-double
gpu='GPU at 0000:00:10.0'
# shellcheck source=tests/tap.sh
. "$LAB_SOURCE/tests/tap.sh"

# is WHAT STATUS PATTERN: the last --check ended with this status, and has a line like this.
is() {
  [[ $found -eq $2 ]] && grep -qE "$3" checked
  result $? "$1" checked
}

play() {
  printf '%s\n' "$@" end > $double/scenario || { echo "Bail out! $(cat $double/error)"; exit 1; }
}

check() {
  "$@" "$LAB_BUILD/iaprof" --check -s xe-eustall:ze-usdt=no > checked 2>&1
  found=$?
  echo "status $found" >>checked
}

play 'platform bmg' 'gt 0 main cores 0-3,8-11' 'gt 1 media'
check
is 'a GPU with EU stalls' 0 "^  good +$gpu: Intel .* supports EU stall sampling, 8 Xe-cores in 1 GT$"
is 'the Linux kernel' 0 "^  good +Linux kernel: $(uname -r | sed 's/[.+]/\\&/g')"
is 'the driver' 0 '^  good +driver xe: loaded$'
is 'the scheduler that tells who used the GPU' 0 '^  good +GPU scheduler: gpu_sched, with BTF$'
is 'root may sample' 0 '^  good +right to sample'
check setpriv --reuid=65534 --regid=65534 --clear-groups
is 'nobody may not' 3 '^  missing +right to sample: .*dev.xe.observation_paranoid=0'
play 'platform dg2'
check
is 'a GPU without EU stalls' 3 "^  limited +$gpu: .*no EU stall sampling: supported on Data Center GPU Max"
is 'no other GPU' 3 '^  missing +GPU with EU stalls: no GPU found'
play 'platform bmg' 'kernel 6.14'
check
is 'a driver without EU stalls' 3 "^  limited +$gpu: .*requires 6.15"
finish
