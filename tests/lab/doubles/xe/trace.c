// SPDX-License-Identifier: GPL-2.0-only
/* The body of the tracepoint. */
#define CREATE_TRACE_POINTS
#include "trace.h"
