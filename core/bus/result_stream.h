/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result stream: records that the core derives from those of sources (resolved frames, functions of images, values
 * of device samples), for sinks only. The collector never reads them. Sinks receive each block of the bus, followed by
 * the records derived from it. A record of this stream may use a string whose definition the sinks have not received
 * yet, because only the core has interned it, or because its definition is in a block still queued on the bus.
 * Therefore the stream defines each string itself before its first use, unless a block already taken contains the
 * definition. A second definition of the same id is harmless. Owned by the collector thread.
 */
#pragma once

#include "bus/bus.h"
#include "bus/id_set.h"
#include "bus/intern.h"

/* Initialise with {0} and the first two members. */
struct result_stream {
	struct intern *intern;
	bool is_read;          /* a sink reads records; otherwise none are kept */
	struct id_set defined; /* string ids whose definition sinks have received */
	struct block *first, *last;
};

static inline bool result_stream_is_read(const struct result_stream *stream)
{
	return stream && stream->is_read;
}

void result_stream_free(struct result_stream *stream);

/* Notes that a block which sinks receive before the stream's next records defines a string. */
void result_stream_note_definition(struct result_stream *stream, uint32_t id);

/* Returns the id of a string for use in the stream's next record; 0 for NULL and when out of memory. */
uint32_t result_stream_text(struct result_stream *stream, const char *text);

/* Appends a record with a complete header. Returns false when out of memory. */
bool result_stream_send(struct result_stream *stream, const struct iaprof_record *record);

/* Removes all blocks from the stream and returns them as a list, or NULL. The caller releases them. */
struct block *result_stream_take(struct result_stream *stream);
