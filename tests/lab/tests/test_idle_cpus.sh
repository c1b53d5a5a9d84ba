#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# CPUs that have nothing to do are in the profile when that is asked for.
set -eu
"$LAB_BUILD/iaprof" --duration 2s --source cpu-stack:idle=yes --sink folded --output folded
grep -q '^swapper' folded || { cat folded; exit 1; }
