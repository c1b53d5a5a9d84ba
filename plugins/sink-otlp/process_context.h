/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process publishes of itself in its memory for profilers: attributes of its resource, in the form of
 * OpenTelemetry's enhancement proposal 4719 (process context, version 2). Untrusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/broker.h"
#include "otlp/resource.h"

/* Limit on what is read of a process. */
#define PROCESS_CONTEXT_SIZE_MAX ((size_t)64 << 10)

/* Adds the attributes that a process publishes, if it does and can be read in time. Returns false when out of memory.
 */
bool process_context_add(struct resource *resource, struct broker *broker, uint32_t pid);
/* Adds the attributes of text in an encoded context; what cannot be decoded adds none. Pure. */
bool process_context_decode(struct resource *resource, const uint8_t *bytes, size_t size);
