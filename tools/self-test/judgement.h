/* SPDX-License-Identifier: Apache-2.0 */
/* Judges observations: one line for each assumption of iaprof about the hardware, the driver and the runtime. */
#pragma once

#include <stdio.h>

#include "observations.h"

enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_NOT_CHECKED };

/* Prints all lines. Returns the number of failures. */
unsigned judge(const struct observations *observations, FILE *output);
