/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes open streams from an instance to the one that replaces it. A GT has one stream, which continues meanwhile:
 * rows wait in the driver's buffers. Both instances refer to a handover, which the earlier one makes. A stream that was
 * put and not taken is closed when the later one detaches. Any thread, except for _add().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "duty_cycle.h"
#include "sampling_rate.h"

/* The stream of a GT, and the state that the next reader of its rows needs. Times are ns of host->clock(). */
struct handed_stream {
	char address[32]; /* of the device */
	uint32_t gt;
	int stream; /* -1: none */
	bool is_paused;
	uint32_t cycles;    /* sampling period */
	uint32_t row_phase; /* this and the following as in struct sampler */
	struct rate_control rate;
	struct duty_cycle cycle;
	uint64_t enabled;
	uint64_t complete;
	uint64_t newest;
	uint64_t silent_since;
};

struct stream_handover;

/* Returns NULL when out of memory. */
struct stream_handover *stream_handover_new(void);
/* The earlier instance has sampled the GT since its start. Returns 0, or -E2BIG above 64 GTs. */
int stream_handover_add(struct stream_handover *handover, const char *address, uint32_t gt);

/* The later instance attaches before it is prepared, and detaches when it has its streams or fails. */
struct stream_handover *stream_handover_attach(struct stream_handover *handover);
/* Reserves the stream of a GT for the later instance. Returns false if the earlier one does not sample the GT. */
bool stream_handover_claim(struct stream_handover *handover, const char *address, uint32_t gt);
/* The later instance sees all jobs that are submitted from then on. Returned by _since(): UINT64_MAX if there is none.
 */
void stream_handover_begin(struct stream_handover *handover, uint64_t since);
uint64_t stream_handover_since(struct stream_handover *handover);

/* Returns false if no instance has claimed the stream, which then remains the caller's. */
bool stream_handover_put(struct stream_handover *handover, const struct handed_stream *stream);
/* The earlier instance has put all its streams, and reads no more rows. */
void stream_handover_end(struct stream_handover *handover);

bool stream_handover_has_ended(struct stream_handover *handover);
/* Returns whether the stream was claimed and put; it is the caller's then. */
bool stream_handover_take(struct stream_handover *handover, const char *address, uint32_t gt,
			  struct handed_stream *stream);

/* For the later and for the earlier instance; NULL is allowed. */
void stream_handover_detach(struct stream_handover *handover);
void stream_handover_free(struct stream_handover *handover);
