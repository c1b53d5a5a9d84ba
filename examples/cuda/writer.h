/* SPDX-License-Identifier: Apache-2.0 */
/* The library's end of transport.h. Every function may be called from any thread, and none waits for the plugin. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport.h"

struct writer {
	pthread_mutex_t lock;
	int socket;
	struct cuda_ring *ring;
	uint64_t head;
};

/* Connects to the plugin. Returns false if there is none: the writer is then not to be used. */
bool writer_open(struct writer *writer, const char *name, uint64_t time);

/* Appends a record and its text, or counts the drop: one record and weight of this kind. */
bool writer_put(struct writer *writer, const void *record, size_t size, const void *text, size_t length,
		enum cuda_drop kind, uint64_t weight);
void writer_drop(struct writer *writer, enum cuda_drop kind, uint64_t count);
void writer_send_message(struct writer *writer, bool is_error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void writer_send_cubin(struct writer *writer, const struct cuda_cubin *cubin, const void *bytes);
