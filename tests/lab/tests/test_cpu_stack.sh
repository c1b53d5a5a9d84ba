#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.1 6.12 newest
# lab: short 6.1 newest
# lab: covers plugins/cpu-stack/** lib/bpf/** engine/symbolizer/** engine/profile/** engine/process/**
# lab: covers tests/cli/test_truth.py tests/cli/harness.py tests/programs/load.c
# cpu-stack profiles a load whose shares are known.
set -eu
# An emulated processor stands still while the machine does something else, and its clock goes on.
export TEST_SHARE_POINTS=10
export TEST_IAPROF=$LAB_BUILD/iaprof TEST_SOURCE_FOLDER=$LAB_SOURCE TEST_CLI_PLUGINS=$LAB_BUILD/tests/cli \
  TEST_LOAD_PROGRAM=$LAB_BUILD/tests/programs/load
exec python3 "$LAB_SOURCE/tests/cli/test_truth.py" "shares known"
