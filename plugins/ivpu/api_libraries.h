/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Level Zero libraries that processes have mapped, and the probes in them. Libraries are recognised by file name,
 * and each file is attached to once, in whichever mount namespaces it appears.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "ivpu_shared.h"
#include "process/mapped_file_queue.h"
#include "process/process_file.h"

/* A machine has one copy of each library and a few more in containers. Each needs two links per function. */
#define API_LIBRARIES_MAX 64u

struct ivpu_bpf;
struct bpf_link;

struct api_library {
	struct process_file file; /* identifies the file across devices */
	struct bpf_link *entry[IVPU_API_FUNCTIONS_MAX], *exit[IVPU_API_FUNCTIONS_MAX];
	bool searched;                                /* its exported functions were searched */
	struct bpf_link *graphs_call, *graphs_return; /* on the function that returns the table of graph functions */
};

struct api_libraries {
	const struct iaprof_host *host; /* NULL: not initialised */
	struct ivpu_bpf *skeleton;
	struct api_library items[API_LIBRARIES_MAX];
	uint32_t count;
	uint32_t functions; /* attached, in total */
	bool warned;        /* a warning about too many libraries was printed */

	struct mapped_file_queue queue;
};

/* The BPF programs are loaded. Returns 0 or a negative errno after host->fail(). Free with api_libraries_free(). */
int api_libraries_begin(struct api_libraries *libraries, const struct iaprof_host *host, struct ivpu_bpf *skeleton);

/* Queues a file that a process mapped, if it may be such a library. Any thread. */
void api_libraries_add(struct api_libraries *libraries, const struct iaprof_mapped_file *file);
/* Parses the queued files and attaches to them. A file that cannot be attached to causes a warning, not an error. */
void api_libraries_search(struct api_libraries *libraries);

/*
 * Returns the library of a file, added if it is new, or NULL if there are too many. For the thread that calls
 * api_libraries_search().
 */
struct api_library *api_libraries_get(struct api_libraries *libraries, int descriptor, const struct stat *status);
/* Attaches to a function at a file offset, once. Returns 0 or a negative errno. */
int api_library_attach(struct api_libraries *libraries, struct api_library *library, int descriptor, uint32_t function,
		       uint64_t offset);

void api_libraries_detach(struct api_libraries *libraries);
void api_libraries_free(struct api_libraries *libraries);
