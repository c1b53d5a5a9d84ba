#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.1 6.12 newest
# lab: short 6.1 newest
# lab: seconds 600
# lab: covers plugins/off-cpu/** plugins/replay/* plugins/sink-capture/** lib/bpf/** lib/capture/** engine/profile/wait*
# lab: covers tests/unwind/test_off_cpu.py tests/unwind/cases.py tests/processes.py tests/unwind/python_waits.py tests/programs/waits.c
# off-cpu knows what a program waits for, how long and where, with this kernel.
set -eu
export TEST_IAPROF=$LAB_BUILD/iaprof TEST_PATIENCE=200 TEST_NO_STORM=1
# On an emulated processor the BPF programs take twenty times as long, and so more than their share.
export TEST_NO_SHARE=1
exec python3 "$LAB_SOURCE/tests/unwind/test_off_cpu.py" "$LAB_BUILD/tests/programs/waits"
