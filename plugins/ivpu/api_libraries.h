/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Level Zero libraries that processes have mapped, and the probes in them. Libraries are recognised by file name,
 * and each file is attached to once, in whichever mount namespaces it appears.
 *
 * Graph functions have no symbols: a program obtains their addresses in a table from the NPU's user-space driver. When
 * it does, the BPF programs report the table, and the functions are attached to in the driver's file, for all processes
 * from then on. Owned by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "broker/broker.h"
#include "ivpu_shared.h"
#include "layers.h"
#include "process/mapped_file_queue.h"
#include "process/process_file.h"

/* A machine has one copy of each library and a few more in containers. Each needs two links per function. */
#define API_LIBRARIES_MAX 64u

struct ivpu_bpf;
struct bpf_link;
struct ring_buffer;

struct api_library {
	struct process_file file; /* identifies the file across devices */
	struct bpf_link *entry[IVPU_API_FUNCTIONS_MAX], *exit[IVPU_API_FUNCTIONS_MAX];
	bool searched;                                /* its exported functions were searched */
	struct bpf_link *graphs_call, *graphs_return; /* on the function that returns the table of graph functions */
};

struct api_libraries {
	const struct iaprof_host *host; /* NULL: not initialised */
	struct ivpu_bpf *skeleton;
	struct broker *broker; /* opens and reads what processes have mapped */
	struct api_library items[API_LIBRARIES_MAX];
	uint32_t count;
	uint32_t functions; /* attached, in total */
	bool warned;        /* a warning about too many libraries was printed */

	struct mapped_file_queue queue;
	struct {
		struct ring_buffer *ring;
		uint32_t taken; /* since the last search */
		bool warned;    /* a warning about functions that could not be attached to was printed */
	} tables;               /* of graph functions */
	struct layers *layers;  /* attached to the function that returns profiling data */
};

/* The BPF programs are loaded. Returns 0 or a negative errno after host->fail(). Free with api_libraries_free(). */
int api_libraries_begin(struct api_libraries *libraries, const struct iaprof_host *host, struct ivpu_bpf *skeleton,
			struct layers *layers);

/* Queues a file that a process mapped, if it may be such a library. Any thread. */
void api_libraries_add(struct api_libraries *libraries, const struct iaprof_mapped_file *file);
/*
 * Parses the queued files and the reported tables, and attaches to their functions. A file that cannot be attached to
 * causes a warning, not an error. Called when one of the descriptors queue.wake and that of the tables is readable.
 */
void api_libraries_search(struct api_libraries *libraries);
/* Readable when a table was reported; -1: not started. */
int api_libraries_table_descriptor(const struct api_libraries *libraries);

void api_libraries_detach(struct api_libraries *libraries);
void api_libraries_free(struct api_libraries *libraries);
