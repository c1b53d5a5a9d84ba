/* SPDX-License-Identifier: Apache-2.0 */
/* Converts samples and their tables to the message Profile of profile.proto. */
#pragma once

#include <stdbool.h>

#include "text/text.h"
#include "stacks/profile_samples.h"

/* Appends the message and adds strings to the tables. Returns false when out of memory. */
bool pprof_message_append(struct text *text, struct profile_samples *samples);
