#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.1 6.12 newest
# lab: short 6.1 newest
# lab: seconds 900
# lab: covers lib/bpf/** plugins/ze-usdt/launch* plugins/ze-usdt/*.bpf.* engine/symbolizer/unwind/**
# lab: covers tests/unwind/test_launches.py tests/unwind/cases.py tests/live_rows.py tests/unwind/launches.cc
# Launch stacks by .eh_frame: this Linux kernel accepts the BPF program, and has each stack whole.
export TEST_PATIENCE=240
TEST_IAPROF=$LAB_BUILD/iaprof exec "$LAB_SOURCE/tests/unwind/test_launches.py" "$LAB_BUILD/tests/unwind/launches"
