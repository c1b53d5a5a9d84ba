/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graph functions have no symbols: a program obtains their addresses in a table from the NPU's user-space driver. When
 * it does, the BPF programs report the table, and the functions are attached to in the driver's file, for all processes
 * from then on. Owned by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "api_libraries.h"
#include "layers.h"

struct ring_buffer;

/* Initialise with {0}. */
struct graph_functions {
	struct api_libraries *libraries; /* NULL: not initialised */
	struct layers *layers;           /* attached to the function that returns profiling data; NULL: none */
	struct ring_buffer *ring;
	uint32_t taken; /* tables, by graph_functions_search() */
	bool warned;    /* a warning about functions that could not be attached to was printed */
};

/* The programs are loaded. Returns 0 or a negative errno after host->fail(). */
int graph_functions_begin(struct graph_functions *graphs, struct api_libraries *libraries, struct layers *layers);
void graph_functions_free(struct graph_functions *graphs);

/* Readable when a table was reported; -1: not started. */
int graph_functions_descriptor(const struct graph_functions *graphs);
/* Attaches to the reported functions. A function that cannot be attached to causes a warning, not an error. */
void graph_functions_search(struct graph_functions *graphs);
