/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and their tables as the message Profile of profile.proto. */
#ifndef IAPROF_PLUGINS_PPROF_MESSAGE_H
#define IAPROF_PLUGINS_PPROF_MESSAGE_H

#include <stdbool.h>

#include "common/text.h"
#include "samples.h"

/* Appends the message. Adds texts to the tables. False when out of memory. */
bool message_append(struct text *text, struct samples *samples);

#endif
