#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.1 6.12 newest
# lab: short 6.1 newest
# lab: covers lib/bpf/unwind* plugins/cpu-stack/*.bpf.c engine/symbolizer/unwind/**
# lab: covers tests/unwind/test_cpu_stack.py tests/unwind/cases.py tests/unwind/chains.cc
# The Linux kernel accepts the BPF program that unwinds by .eh_frame, and stacks reach their outermost frame.
set -eu
# An emulated processor is slow.
export TEST_IAPROF=$LAB_BUILD/iaprof TEST_PATIENCE=240 TEST_SCENARIOS=frameless
exec python3 "$LAB_SOURCE/tests/unwind/test_cpu_stack.py" "$LAB_BUILD/tests/unwind/chains-static"
