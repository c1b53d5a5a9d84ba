/* SPDX-License-Identifier: Apache-2.0 */
/* Files with probes of provider level_zero, and the BPF programs' links to them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "warning_limit.h"
#include "usdt_provider.h"
#include "process/mapped_file_queue.h"
#include "process/process_file.h"

/* Each has up to PROVIDER_SITES_MAX sites of a probe; the BPF object has room for 1,024 specifications. */
#define LIBRARIES_MAX 128u

struct library {
	struct process_file file;                     /* identifies the file across devices */
	struct bpf_link *links[PROVIDER_PROBE_COUNT]; /* NULL: no such probe, or attaching failed */
	bool has_counts; /* launches that its probes report are also counted in memory; its file is locked */
};

struct libraries {
	const struct iaprof_host *host;
	struct warning_limit *warnings;
	struct bpf_program *programs[PROVIDER_PROBE_COUNT];
	bool use_counts; /* launches may be counted in memory (count_area.h) */
	bool has_begun;  /* libraries_begin() was called: files are attached to when they are found */
	struct library items[LIBRARIES_MAX];
	uint32_t count;
	uint64_t failed; /* files with probes that could not be attached to */

	/* For libraries_ask_again(). */
	uint64_t asked_time;
	uint64_t pause;       /* after it, until modules are asked for once more; doubles */
	uint64_t attach_time; /* at which the probe that asks is attached to; 0: it is attached to */

	struct mapped_file_queue queue;
};

/* programs and use_counts are set. Returns 0 or a negative errno. Call libraries_free() in either case. */
int libraries_init(struct libraries *libraries, const struct iaprof_host *host, struct warning_limit *warnings);

/*
 * Attaches to the files that were added. Not earlier: until then, another run may have the lock with which launches are
 * counted in memory, and nobody reads the modules that the tracer announces. Returns 0 or a negative errno.
 */
int libraries_begin(struct libraries *libraries);

/*
 * Releases the locks, and lowers the semaphore that has modules announced, so that they are announced to the next run
 * when it raises the semaphore. Everything else remains attached until libraries_free(), because detaching takes about
 * a tenth of a second per probe.
 */
void libraries_end(struct libraries *libraries);

/*
 * Adds a file in this process's own mount namespace. Returns 0, or a negative errno with the reason, a clause.
 */
int libraries_add_path(struct libraries *libraries, const char *path, const char **reason);

/* Writes the path of ZE_TRACER_FILE in the plugin's folder. Returns 0 or -ENOENT. */
int tracer_file_find(char *path, size_t size);

/*
 * Has all modules announced again if one was not announced before its launch at missed_time (0: there is none). The
 * tracer announces them when it finds a semaphore raised, at a launch: if there was none between the end of a profile
 * and the start of the next one, it found none. Call it often.
 */
void libraries_ask_again(struct libraries *libraries, uint64_t missed_time, uint64_t now);

/* Parses some of the queued files. Returns whether more are queued. */
bool libraries_search(struct libraries *libraries);

/* Detaches, which takes about a tenth of a second per probe. */
void libraries_free(struct libraries *libraries);
