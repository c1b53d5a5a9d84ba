/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of NPU layers and tasks, from the profiling data that programs read: CALL records with the value types
 * npu-layer-time and npu-layer-runs. Optional, and owned by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "base/keyed_array.h"
#include "npu/call_records.h"

struct npu_layers_bpf;
struct bpf_link;
struct ring_buffer;

/* Files of the NPU's user-space driver that are attached to. */
#define LAYER_FILES_MAX 16u

/* Limit on distinct models. */
#define LAYER_MODELS_MAX 4096u
/* Entry and return of each function. */
#define LAYER_LINKS 6u

/* Offsets of functions in a file; 0: none. Models are known from the first two. */
struct layer_functions {
	uint64_t pool_create, query_create, get_data;
};

struct layer_model {
	struct {
		uint64_t process, graph;
	} key;
	uint32_t number; /* in its process, from 1 */
};

/* Initialise with {0}. */
struct layers {
	const struct iaprof_host *host; /* NULL: not loaded */
	struct npu_layers_bpf *skeleton;
	struct ring_buffer *ring;
	struct call_records *records;
	struct {
		uint64_t device, inode;
		struct layer_functions functions;
		struct bpf_link *links[LAYER_LINKS]; /* NULL: not attached */
	} files[LAYER_FILES_MAX];
	KEYED_ARRAY(struct layer_model) models;
	uint32_t file_count;
	uint32_t time_type, count_type;
	uint64_t items;                                            /* emitted */
	uint64_t ring_full, too_many, unreadable, refused, missed; /* counts reported so far */
	uint64_t refused_now;                                      /* items that are no layers */
	int error;                                                 /* in a callback */
};

/* Loads the programs. Returns 0, or a negative errno after host->fail(). */
int layers_prepare(struct layers *layers, const struct iaprof_host *host, struct call_records *records);
/* Follows the target's processes. Returns as above. */
int layers_start(struct layers *layers);
/*
 * Attaches to the functions in an open file, once for each file. Returns 0 or a negative errno. device, inode: of the
 * file.
 */
int layers_attach(struct layers *layers, int descriptor, uint64_t device, uint64_t inode,
		  const struct layer_functions *functions);
/* Emits what was read. Returns 0 or a negative errno. */
int layers_turn(struct layers *layers);
void layers_detach(struct layers *layers);
void layers_free(struct layers *layers);
