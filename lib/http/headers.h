/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP headers of the user, as in OTEL_EXPORTER_OTLP_HEADERS: "name=value,name=value"; values are percent-encoded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Large enough for any problem. */
#define HEADERS_PROBLEM_SIZE 256u

/* Receives "name: value". Returns false when out of memory. */
typedef bool headers_take(void *context, const char *line);

/*
 * Reads a list. Pairs that are empty are skipped. Returns 0, -ENOMEM, or -EINVAL with the problem, which contains no
 * value, because that may be secret. take may be NULL.
 */
int headers_read(const char *list, headers_take *take, void *context, char problem[HEADERS_PROBLEM_SIZE]);
