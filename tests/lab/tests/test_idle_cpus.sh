#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# lab: covers plugins/cpu-stack/** plugins/sink-folded/**
# Idle CPUs are in the profile if requested.
set -eu
"$LAB_BUILD/iaprof" --duration 2s --source cpu-stack:idle=yes --sink folded --output folded
grep -q '^swapper' folded || { cat folded; exit 1; }
