/* SPDX-License-Identifier: Apache-2.0 */
/* The library's end of transport.h. Every function may be called from any thread, and none waits for the plugin. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport.h"

/* Initialise with WRITER_NONE. */
struct writer {
	pthread_mutex_t lock;
	bool is_open; /* what is written is dropped otherwise */
	int socket;
	int file; /* of the ring, which is kept for the next plugin */
	struct cuda_ring *ring;
	uint64_t head;
	uint64_t opened; /* how often */
};
#define WRITER_NONE                                                                                                    \
	{                                                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1, .file = -1                                            \
	}

/* Connects to a plugin. Returns false if there is none. The writer is not open. */
bool writer_open(struct writer *writer, const char *name, const char *token, uint64_t time);
/* Returns whether the plugin reads no more. Does not wait. */
bool writer_is_finished(const struct writer *writer);
/* Disconnects. What is written then is dropped. */
void writer_close(struct writer *writer);
/* Gives the ring's memory back, when the plugin has read it, unless it was opened again: opened: as of that plugin. */
void writer_release(struct writer *writer, uint64_t opened);
/* In a forked child: closes the descriptors, and is not used any more. Async-signal-safe. */
void writer_abandon(struct writer *writer);

/* Appends a record and its text, or counts the drop: one record and weight of this kind. */
bool writer_put(struct writer *writer, const void *record, size_t size, const void *text, size_t length,
		enum cuda_drop kind, uint64_t weight);
void writer_drop(struct writer *writer, enum cuda_drop kind, uint64_t count);
void writer_send_message(struct writer *writer, enum cuda_text_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void writer_send_cubin(struct writer *writer, const struct cuda_cubin *cubin, const void *bytes);
