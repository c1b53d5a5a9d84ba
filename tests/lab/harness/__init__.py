# SPDX-License-Identifier: Apache-2.0
"""What the lab's tests in Python share: cases (how they run and report), profiler (iaprof in the background and what it
wrote), npu_double (the double of the NPU)."""
