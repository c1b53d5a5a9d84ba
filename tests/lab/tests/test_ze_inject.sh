#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12
# lab: seconds 900
# lab: covers lib/inject/** core/injector_main.c core/run/injectors.*
# lab: covers tests/plugin/test_inject.c tests/programs/level_zero.c tests/programs/injected.c tests/programs/hostile_target.c
# Loading a library into a running program, with this kernel's ptrace, uprobes and BPF: the program counts its own mistakes.
set -uo pipefail
test=$LAB_BUILD/tests/plugin/test_plugin_inject programs=$LAB_BUILD/tests/programs
[[ -x $test ]] || { echo "this build has no $test"; exit 77; }
export CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent CK_TIMEOUT_MULTIPLIER=3
export TEST_LEVEL_ZERO_PROGRAM=$programs/level_zero TEST_LOADER=$programs/libze_loader.so.1
export TEST_HOSTILE_PROGRAM=$programs/hostile_target
# An emulated processor loads a library in seconds.
export TEST_INJECTED=$programs/libinjected.so TEST_LOADS=10 TEST_EMULATED=yes
"$test" | sed -n 's|\.\./tests/plugin/||; /^1\.\./!p'
