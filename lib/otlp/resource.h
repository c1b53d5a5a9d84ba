/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A resource of OTLP: where data comes from, as attributes with unique keys. Their number and size are bounded, since
 * processes may claim what they like.
 */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "base/message_pool.h"
#include "otlp.pb-c.h"

/* Bytes of a value; what is longer is cut off. */
#define RESOURCE_VALUE_SIZE_MAX 256u

struct resource_attribute {
	char *key, *value;
};

/* Initialise with {0}. */
struct resource {
	ARRAY(struct resource_attribute) attributes;
};

/* These return false when out of memory. A key that occurs before keeps its value. */
bool resource_add(struct resource *resource, const char *key, const char *value);
/* list: "key=value,key=value", percent-encoded as OTEL_RESOURCE_ATTRIBUTES is. */
bool resource_add_list(struct resource *resource, const char *list);
/* Adds the name, architecture and id of this machine, and its operating system. */
bool resource_add_machine(struct resource *resource);
bool resource_has(const struct resource *resource, const char *key);
void resource_free(struct resource *resource);

/* These return NULL when the pool has failed, and else memory of the pool. */
Otlp__KeyValue *resource_message_pair(struct message_pool *pool, const char *name, const char *value);
/* resources: ends with NULL. Of a key that several have, the first value counts. */
Otlp__Resource *resource_message(struct message_pool *pool, const struct resource *const *resources);
