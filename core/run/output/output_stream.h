/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to pipes, sockets and terminals, waiting for the reader only as long as the run allows. */
#pragma once

#include <stddef.h>

#include "base/stream.h"
#include "run/output/output_target.h"

/*
 * Returns 0; -ETIMEDOUT if the reader was not ready within the time that the target allows; or another negative errno.
 */
int output_stream_write(struct stream *stream, struct output_target *target, const char *data, size_t size);
