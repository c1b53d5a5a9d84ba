/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to what has a reader (a pipe, a socket, a terminal) without waiting for it longer than the run allows. */
#ifndef IAPROF_CORE_RUN_OUTPUT_STREAM_H
#define IAPROF_CORE_RUN_OUTPUT_STREAM_H

#include <stddef.h>

#include "base/stream.h"
#include "run/output_target.h"

/* 0; -ETIMEDOUT when there was no reader for what the target allows; another negative errno. */
int output_stream_write(struct stream *stream, struct output_target *target, const char *data, size_t size);

#endif
