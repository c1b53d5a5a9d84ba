#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short 6.12
# lab: module xe
# lab: covers tests/lab/conformance/xe_* tests/lab/conformance/tap.[ch]
# The double of the xe device keeps the rules of the real driver's interface.
exec "$LAB_BUILD/tests/lab/conformance/xe-conformance"
