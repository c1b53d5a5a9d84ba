/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of graphs: pointers in a table that a program asks the NPU's driver for, and no symbols. When one does,
 * the BPF programs tell what is in it, and the functions behind the pointers are attached to, in the driver's file: for
 * every process from then on. Belongs to one thread.
 */
#ifndef IAPROF_PLUGINS_IVPU_GRAPH_FUNCTIONS_H
#define IAPROF_PLUGINS_IVPU_GRAPH_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "api_libraries.h"

struct ring_buffer;

/* Initialise with {0}. */
struct graph_functions {
	struct api_libraries *libraries; /* NULL: never begun */
	struct ring_buffer *ring;
	uint32_t taken; /* tables, by graph_functions_look() */
	bool warned;    /* that something was not attached to */
};

/* The programs are loaded. Returns 0 or a negative errno after host->fail(). */
int graph_functions_begin(struct graph_functions *graphs, struct api_libraries *libraries);
void graph_functions_free(struct graph_functions *graphs);

/* Readable when a table was told; -1: never begun. */
int graph_functions_descriptor(const struct graph_functions *graphs);
/* Attaches to what was told. Whoever cannot be attached to is warned of, and is no error. */
void graph_functions_look(struct graph_functions *graphs);

#endif
