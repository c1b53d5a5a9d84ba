/* SPDX-License-Identifier: Apache-2.0 */
/* The files that have the probes of provider level_zero, and the BPF programs' links to them. */
#ifndef IAPROF_ZE_USDT_LIBRARIES_H
#define IAPROF_ZE_USDT_LIBRARIES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <bpf/libbpf.h>
#include <iaprof/host.h>
#include "complaints.h"
#include "elf_bytes.h"
#include "process_file.h"

/* Each has up to PROVIDER_SITES_MAX places of four probes; the BPF object has room for 1,024 descriptions of them. */
#define LIBRARIES_MAX 128u

struct library {
	struct process_file file;                     /* to tell it from others with the same number on other devices */
	struct bpf_link *links[PROVIDER_PROBE_COUNT]; /* NULL: the file has no such probe, or it failed */
};

/* A mapped file that nobody has looked into yet. */
struct library_candidate {
	struct library_candidate *next;
	uint32_t process;
	uint64_t start;
	uint64_t length;
	char path[];
};

struct libraries {
	const struct iaprof_host *host;
	struct complaints *complaints;
	struct bpf_program *programs[PROVIDER_PROBE_COUNT];
	struct library items[LIBRARIES_MAX];
	uint32_t count;
	uint64_t failed; /* files with probes that could not be attached to */

	/* Written by the loop's thread, taken by ours. */
	pthread_mutex_t lock;
	struct library_candidate *first, *last;
	uint32_t candidate_count;
	uint64_t candidates_lost;
	int wake; /* eventfd, readable when there are candidates */
};

/* programs are set. Returns 0 or a negative errno. Undone by libraries_free() in either case. */
int libraries_init(struct libraries *libraries, const struct iaprof_host *host, struct complaints *complaints);

/* Attaches to a file of this process's own view. Returns 0, or a negative errno with a reason: a whole clause. */
int libraries_attach_path(struct libraries *libraries, const char *path, const char **reason);

/* A file was mapped: remembers it for libraries_look(). Any thread. */
void libraries_add_candidate(struct libraries *libraries, const struct iaprof_mapped_file *file);
/* Looks into some of them. Whether more are waiting. */
bool libraries_look(struct libraries *libraries);

/* Detaches. Takes some tenth of a second for each probe. */
void libraries_free(struct libraries *libraries);

#endif
