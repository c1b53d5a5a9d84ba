#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# lab: module xe
# lab: seconds 300
# lab: runtime
# lab: covers plugins/ze-usdt/**
# lab: covers tests/lab/level_zero/*
# ze-usdt on other Linux kernels, with the program in a mount namespace of its own: a choice of test_ze_usdt.py.
set -u
[ -n "$LAB_CHROOT" ] || { echo "there is no chroot with Intel's runtime"; exit 77; }
# The double is a GPU to see: the tracer is loaded without being asked for.
export TEST_ZE_USDT=ze-usdt
exec python3 "$LAB_SOURCE/tests/lab/tests/test_ze_usdt.py" "bmg: from three" "lnl: a program that runs already"
