/* SPDX-License-Identifier: Apache-2.0 */
/* See spans.h. */
#include "spans.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef SPANS
__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;

struct record {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid, trace_flags;
	uint16_t attributes_size;
} __attribute__((packed));

void span_publish(unsigned thread, unsigned span)
{
	static __thread struct record records[SPANS_MAX + 1];
	struct record *record = &records[span];

	memset(record->trace_id, (int)thread, sizeof record->trace_id);
	record->span_id[7] = (uint8_t)span;
	record->valid = 1;
	__asm__ volatile("" ::: "memory");
	*(void *volatile *)&otel_thread_ctx_v1 = span ? record : NULL;
}
#else
void span_publish(unsigned thread, unsigned span)
{
	(void)thread;
	(void)span;
}
#endif
