#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.1 6.12 newest
# lab: short 6.1 newest
# lab: covers lib/bpf/*.bpf.h lib/bpf/unwind*.h plugins/cpu-stack/*.bpf.c plugins/off-cpu/*.bpf.*
# lab: covers tests/unwind/test_verifier.py tests/unwind/cases.py
# The Linux kernel's verifier accepts the BPF programs that unwind, and is soon done with them.
set -eu
export TEST_IAPROF=$LAB_BUILD/iaprof
exec python3 "$LAB_SOURCE/tests/unwind/test_verifier.py"
