/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries of Level Zero that processes have in memory, and the probes in them: found by their names, attached to
 * once for each file, whichever mount namespaces it is seen in.
 */
#ifndef IAPROF_PLUGINS_IVPU_API_LIBRARIES_H
#define IAPROF_PLUGINS_IVPU_API_LIBRARIES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "ivpu_shared.h"
#include "ze-usdt/process_file.h"

/* A machine has one of each library, and a few more in containers. Each takes two links for each of its functions. */
#define API_LIBRARIES_MAX 64u

struct ivpu_bpf;
struct bpf_link;

struct api_library {
	struct process_file file; /* to tell it from others with the same number on other devices */
	struct bpf_link *enter[IVPU_API_FUNCTIONS_MAX], *leave[IVPU_API_FUNCTIONS_MAX];
	bool looked_into;                         /* for what it exports */
	struct bpf_link *graphs_ask, *graphs_get; /* of who asks for the functions of graphs */
};

struct api_candidate;

struct api_libraries {
	const struct iaprof_host *host; /* NULL: never begun */
	struct ivpu_bpf *skeleton;
	struct api_library items[API_LIBRARIES_MAX];
	uint32_t count;
	uint32_t functions; /* that were attached to, in all */
	bool warned;        /* that there are too many */

	/* Written by the loop's thread, taken by ours. */
	pthread_mutex_t lock;
	struct api_candidate *first, *last;
	uint32_t candidate_count;
	uint64_t dropped; /* that had no room, since it was told last */
	int wake;         /* eventfd, readable when there are candidates */
};

/* The programs are loaded. Returns 0 or a negative errno after host->fail(). Undone by api_libraries_free(). */
int api_libraries_begin(struct api_libraries *libraries, const struct iaprof_host *host, struct ivpu_bpf *skeleton);

/* A file was mapped: remembered when it can be such a library. Any thread. */
void api_libraries_add(struct api_libraries *libraries, const struct iaprof_mapped_file *file);
/* Looks into what was remembered. Whoever cannot be attached to is warned of, and is no error. */
void api_libraries_look(struct api_libraries *libraries);

/* For the thread that looks: the library with a file, remembered when it is new; NULL: there are too many. */
struct api_library *api_libraries_get(struct api_libraries *libraries, int descriptor, const struct stat *status);
/* Attaches to a function at an offset of its file, unless that was done. Returns 0 or a negative errno. */
int api_library_attach(struct api_libraries *libraries, struct api_library *library, int descriptor, uint32_t function,
		       uint64_t offset);

void api_libraries_detach(struct api_libraries *libraries);
void api_libraries_free(struct api_libraries *libraries);

#endif
