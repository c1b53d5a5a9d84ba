#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.1 newest
# lab: short newest
# lab: covers plugins/cpu-stack/** lib/bpf/**
# lab: covers tests/plugin/test_cpu_stack*.c tests/plugin/test_host.* tests/plugin/test_records.* tests/plugin/live_source.* tests/programs/load.c
# The plugin's own tests with this kernel: loading its BPF programs, samples, stacks, processes, losses, and perf beside it.
set -uo pipefail
status=0
# An emulated processor stands still while the machine does something else, and its clock goes on.
export TEST_SHARE_POINTS=10
export CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent CK_TIMEOUT_MULTIPLIER=20
export TEST_PLUGIN_FOLDER=$LAB_BUILD/plugins TEST_LOAD_PROGRAM=$LAB_BUILD/tests/programs/load
for name in cpu-stack cpu-stack-machine cpu-stack-perf; do
  "$LAB_BUILD/tests/plugin/test_plugin_$name" | sed -n 's|\.\./tests/plugin/||; /^1\.\./!p' || status=1
done
exit $status
