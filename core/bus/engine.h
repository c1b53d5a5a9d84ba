/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine, as the core calls it: reads the records of a run and makes profiles of them, follows the processes of the
 * target, and supplies sources with mapped files and unwind tables. A run without one has no profiles and no records of
 * processes: its sinks receive the records of the sources.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include <iaprof/unwind.h>

#include "base/error.h"
#include "bus/bus.h"
#include "bus/intern.h"
#include "bus/loop.h"
#include "bus/snapshot.h"
#include "stacks/call_families.h"

struct code_rules;
struct decoder_finder;

/* Metadata that the core sends: CLOCK_REALTIME minus CLOCK_MONOTONIC at the start of the run. */
#define METADATA_REALTIME_OFFSET "realtime offset"
/* Metadata that the core sends: /proc/sys/kernel/random/boot_id, which identifies the machine and its boot. */
#define METADATA_BOOT_ID "boot id"

/* Services of the run. All of them must outlive the engine. */
struct engine_services {
	struct bus *bus;
	struct intern *intern;
	struct loop *loop;
	const struct iaprof_target *target; /* complete when open() or configure() is called */
};

struct engine_options {
	bool records;                   /* a sink reads records */
	uint32_t requests;              /* enum iaprof_request, of all sinks */
	uint64_t time_resolution;       /* ns: resolution of times requested by a sink; 0: none */
	uint64_t interval;              /* ns: time between two profiles of intervals; 0: none */
	bool continuous;                /* there is no profile of the whole run */
	bool replays;                   /* the processes of the records and their files are not those of this machine */
	uint64_t hold;                  /* ns: longest wait of device samples for their code; 0: default */
	const char *debuginfod;         /* URL of a server for debug files; NULL: none */
	const struct code_rules *rules; /* outlive the engine; NULL: none */
	struct decoder_finder *decoders;     /* used by no other thread */
	const struct iaprof_profile *before; /* of an earlier run: the profile is the difference from it; NULL: none */
	uint32_t normalization;              /* enum iaprof_normalization, of before */
	/* Receives each profile, which is released afterwards, on the thread of read(). */
	void (*profile)(void *context, struct snapshot *snapshot, bool is_interval);
	void *context;
};

/* What holds the CPU budget of a continuous run. */
struct engine_saving {
	uint32_t stride;   /* sources take one of this many samples */
	bool saves_tables; /* make no new unwind tables */
	bool saves_events; /* read processes from /proc when they are sampled, instead of following them */
};

struct engine_progress {
	uint64_t samples, lost;
	uint32_t intervals; /* that have ended */
	struct call_families calls;
	uint64_t helper_cost;              /* CPU time of helper processes, ns */
	uint64_t events_cost, tables_cost; /* ns: CPU time of process events, estimated, and of unwind tables */
	const char *reading;               /* path of the file that is being read; NULL: none */
};

/* Results of a run. The profiles are valid until free(). */
struct engine_result {
	const struct iaprof_profile *profile; /* whole run, without values if it was continuous. NULL: out of memory */
	const struct iaprof_profile *difference; /* from the earlier run to this one; NULL: none */
	uint64_t samples;
	uint64_t kernel_side_time; /* ns: CPU time of BPF programs reported by sources */
	bool has_failed;           /* a profile is missing, or a decoder did not work; it was reported */
};

/*
 * Functions return 0, or a negative errno and set error, if they have a result and nothing else is stated. The loop
 * thread calls them, one after the other in this order, unless a group states otherwise.
 */
struct engine_functions {
	struct engine *(*make)(const struct engine_services *services); /* NULL: out of memory */
	/* Stops its threads. */
	void (*free)(struct engine *engine);

	/* Services for sources, at any time. Has the callback called for each mapped file. Returns 0 or -ENOMEM. */
	int (*watch_files)(struct engine *engine,
			   void (*callback)(void *context, const struct iaprof_mapped_file *file), void *context);
	/* As on_unwind() of iaprof/unwind.h: one of table and process is not NULL. Returns 0 or a negative errno. */
	int (*watch_unwind)(struct engine *engine,
			    void (*callback)(void *context, const struct iaprof_unwind_table *table,
					     const struct iaprof_unwind_process *process),
			    void *context);
	/* As unwind_process() of iaprof/unwind.h. */
	void (*unwind_process)(struct engine *engine, uint32_t pid, uint64_t execution);

	/* Opens the process events of the target, which requires privileges. Only called if a source needs them. */
	int (*open)(struct engine *engine, struct error *error);
	/* Before the first read(). */
	int (*configure)(struct engine *engine, const struct engine_options *options, struct error *error);
	/* Records process events and reads them in the loop; waits for the unwind tables of the target's processes. */
	int (*start)(struct engine *engine, struct error *error);
	/* Sends the processes that exist: after the start of sources, so that no sample is missed meanwhile. */
	int (*scan)(struct engine *engine, struct error *error);
	/* Sends the process events so far: before each SYNC, and while something is waited for outside of the loop. */
	void (*drain)(struct engine *engine);
	/* Returns the number of the target's processes that run; 0 if they are not followed. */
	size_t (*running)(const struct engine *engine);
	/* Whether process events are needed whatever they cost: a source attaches to libraries that processes map. */
	bool (*needs_events)(const struct engine *engine);
	void (*save)(struct engine *engine, const struct engine_saving *saving);
	/* Ends process events, after the last SYNC: another run has taken over. */
	void (*close)(struct engine *engine);
	/*
	 * Sources take no more samples. Delivers the unwind tables that they wait for, for at most limit ns. Files are
	 * read for names until end (CLOCK_MONOTONIC, UINT64_MAX: no limit), and as much longer as that took.
	 */
	void (*stop)(struct engine *engine, uint64_t limit, uint64_t end);

	/*
	 * On one other thread, from configure() on: processes the records of a block. Returns the records derived from
	 * them, for sinks that read records: a list of blocks that the caller releases, or NULL.
	 */
	struct block *(*read)(struct engine *engine, const struct block *block);
	/* On the same thread: processes and resolves what is pending. Returns as read(). */
	struct block *(*finish)(struct engine *engine);
	/* On the same thread, after finish(): makes the last profiles. */
	void (*conclude)(struct engine *engine);

	/* Any thread. */
	struct engine_progress (*progress)(struct engine *engine);

	/* After the other thread has ended. */
	struct engine_result (*result)(const struct engine *engine);
	/* Prints what was lost, ignored or not resolved, as messages. */
	void (*report)(const struct engine *engine);
};
