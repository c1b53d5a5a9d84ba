/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of NVTX, which a program marks: the phases of a step, the layers of a model. NVTX loads the library that
 * NVTX_INJECTION64_PATH names when the program first uses it, and calls its InitializeInjectionNvtx2().
 */
#pragma once

#include "thread_ranges.h"

/* Returns the ranges that the calling thread is in, valid as long as the thread; NULL: none. */
const struct thread_ranges *ranges_of_thread(void);
