# SPDX-License-Identifier: Apache-2.0
"""The parts of tests/lab/run: pieces (what is fetched), kernels, chroot, guest, tests, report."""
