#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.1 newest
# lab: short 6.1
# lab: seconds 900
# lab: covers plugins/ze-usdt/** lib/bpf/**
# lab: covers tests/plugin/test_ze_usdt*.c tests/plugin/ze_fire.* tests/plugin/ze_records.* tests/plugin/test_host.*
# The plugin's own tests with this kernel: its BPF programs, launches, lists, images, namespaces, and the tracer's probes,
# which newer kernels replace by calls.
set -uo pipefail
status=0
export CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent CK_TIMEOUT_MULTIPLIER=20
export TEST_PLUGIN_FOLDER=$LAB_BUILD/plugins TEST_ZE_TRACER=$LAB_BUILD/plugins/ze-usdt/libiaprof-ze-tracer.so
export TEST_ZE_IMAGE=$LAB_SOURCE/tests/data/zebin/bmg/systolic.loaded-debug.elf
if [[ -e $LAB_BUILD/tests/programs/ze_fire_1 ]]; then
  for number in 1 2; do
    export "TEST_ZE_FIRE_$number=$LAB_BUILD/tests/programs/ze_fire_$number"
    export "TEST_ZE_PROBES_$number=$LAB_BUILD/tests/programs/libze-probes-$number.so"
  done
fi
for name in ze-usdt ze-usdt-images ze-usdt-libraries ze-usdt-sites; do
  "$LAB_BUILD/tests/plugin/test_plugin_$name" | sed -n 's|\.\./tests/plugin/||; /^1\.\./!p' || status=1
done
# The verifier of the oldest kernel takes the program that has most to do.
modprobe gpu-sched
if "$LAB_BUILD/iaprof" -d 1s -s ze-usdt:tracer=yes,kernel=yes -k csv:rows=events -o out.csv >said 2>&1 &&
  ! grep 'kernel=yes' said; then
  echo 'ok 1 - kernel=yes'
else
  sed 's/^/# /' said
  echo 'not ok 1 - kernel=yes'
  status=1
fi
exit $status
