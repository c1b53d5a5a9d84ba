/* SPDX-License-Identifier: Apache-2.0 */
/* Files with probes of provider level_zero, and the BPF programs' links to them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "broker/broker.h"
#include "warning_limit.h"
#include "usdt_provider.h"
#include "process/mapped_file_queue.h"
#include "process/process_file.h"
#include "process/user_accounts.h"

/* Each has up to PROVIDER_SITES_MAX sites of a probe; the BPF object has room for 1,024 specifications. */
#define LIBRARIES_MAX 128u
/*
 * Parts of the limit, by the owner of a file: what one untrusted user may use, and all of them together. Attaching to a
 * file and detaching from it take half a second.
 */
#define LIBRARIES_USER_MAX 4u
#define LIBRARIES_OTHERS_MAX 32u

struct library {
	struct process_file file;                     /* identifies the file across devices */
	struct bpf_link *links[PROVIDER_PROBE_COUNT]; /* NULL: no such probe, or attaching failed */
	bool has_counts;     /* launches that its probes report are also counted in memory; its file is locked */
	bool can_ask;        /* it has the probe compile_kernel_again */
	bool is_asking;      /* it is attached to that probe */
	uint64_t asked_time; /* when this changed */
};

struct libraries {
	const struct iaprof_host *host;
	struct warning_limit *warnings;
	struct broker *broker; /* opens the files of processes */
	struct bpf_program *programs[PROVIDER_PROBE_COUNT];
	bool use_counts; /* launches may be counted in memory (count_area.h) */
	bool take_times, take_all_times;
	bool has_begun; /* libraries_begin() was called: files are attached to when they are found */
	struct library items[LIBRARIES_MAX];
	uint32_t count;
	struct user_accounts owners; /* amount: libraries */
	uint64_t failed;             /* files with probes that could not be attached to */

	uint64_t pause; /* between two changes of is_asking because of missed modules; doubles */

	struct mapped_file_queue queue;
};

/* programs, use_counts and take_times are set. Returns 0 or a negative errno. Call libraries_free() in either case. */
int libraries_init(struct libraries *libraries, const struct iaprof_host *host, struct warning_limit *warnings);

/*
 * Attaches to the files that were added. Not earlier: until then, another run may have the lock with which launches are
 * counted in memory, and nobody reads the modules that the tracer announces. Returns 0 or a negative errno.
 */
int libraries_begin(struct libraries *libraries);

/*
 * Releases the locks, and lowers the semaphore that has modules announced by one: what the next run raises it to is
 * then higher than before, also when everything else is detached, which waits for libraries_free(), because it takes
 * about a tenth of a second per probe.
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
 * tracer announces them when it finds the semaphore higher than at its last launch. It is raised from the start of a
 * run for some seconds; programs that launch nothing in this time find it as it was in the run before. Call it often.
 */
void libraries_ask_again(struct libraries *libraries, uint64_t missed_time);

/* Parses some of the queued files. Returns whether more are queued. */
bool libraries_search(struct libraries *libraries);

/* Detaches, which takes about a tenth of a second per probe. */
void libraries_free(struct libraries *libraries);
