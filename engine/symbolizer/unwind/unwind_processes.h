/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of the processes whose stacks are unwound, with the unwind tables of their files. Mappings
 * come from side-band records, so that processes that have ended have them, too. If the records lack a process,
 * /proc/PID/maps is read. Owned by one thread; not locked.
 */
#pragma once

#include <iaprof/unwind.h>

#include "process/proc_reader.h"
#include "symbolizer/unwind/unwind_files.h"

/* Limit on executable mappings of a process. Further ones have no table. */
#define UNWIND_MAPPINGS_MAX 4096u

/*
 * Limits on mappings: of all processes, of those of all untrusted users, and of those of one. Each process is charged a
 * power of two, which is what sources allocate, and at least 8. A quarter of what untrusted users have is for processes
 * with a usual number of mappings.
 */
#define UNWIND_ROOM 131072u
#define UNWIND_ROOM_OTHERS 65536u
#define UNWIND_ROOM_USER 32768u
#define UNWIND_ROOM_PROCESS 8u
#define UNWIND_ROOM_USUAL 256u

typedef ARRAY(struct iaprof_unwind_mapping) unwind_mapping_array;

/* A mapping and its file. */
struct unwind_range {
	uint64_t start, end, file_offset;
	uint32_t serial; /* of the mapping, in the process table */
	uint32_t file;   /* POSITION_NONE: none */
	int64_t shift;   /* of file offsets, of a copy of the file (copied_text.h); included in file_offset */
};

struct followed_process {
	uint32_t key; /* pid */
	uint32_t user;
	bool is_asked;        /* a source wants it */
	bool is_prepared;     /* a source will probably want it */
	bool is_changed;      /* its mappings may have changed */
	bool is_pending;      /* files of it are not read yet */
	bool is_sent;         /* its mappings were delivered */
	bool is_forked;       /* its mappings are those of its parent, and were not delivered yet */
	bool is_replaced;     /* the same, and it runs another program since */
	bool is_refused;      /* it was counted as refused */
	uint32_t comparisons; /* of memory that may be a copy of a file */
	uint64_t execution;
	uint64_t contents;    /* hash of what was delivered */
	uint64_t sent;        /* when */
	uint64_t read, again; /* when /proc/PID/maps was read, and after which time it is read again; ns */
	uint32_t image;       /* serial number of its program image */
	uint64_t ended;       /* when it ended, or was last delivered after that; 0: running */
	uint32_t room;        /* charged to its user */
	ARRAY(struct unwind_range) ranges;
};

struct unwind_processes {
	struct unwind_files *files;
	/* Takes ownership of the mappings. */
	void (*deliver)(void *context, uint32_t pid, uint64_t execution, unwind_mapping_array *mappings);
	void *context;

	struct process_table *table; /* all processes, also those that are not followed */
	KEYED_ARRAY(struct followed_process) items;
	struct user_accounts users; /* amount: room; refused: processes */
	uint32_t room;              /* of all processes */
	bool is_pending;            /* after an update: another one is due when files were read */
	bool is_ending;             /* after an update: another one is due to remove a process that has ended */
	uint64_t retired;           /* when the table was last cleaned up */
	uint64_t released;          /* when tables of unused files were last withdrawn */
	uint64_t truncated;         /* processes with more than UNWIND_MAPPINGS_MAX mappings */
	struct proc_maps maps;
};

/* Returns 0 or -ENOMEM. Call unwind_processes_free() in either case. */
int unwind_processes_init(struct unwind_processes *processes);
void unwind_processes_free(struct unwind_processes *processes);

/* Processes a side-band record. text: that of its string id. */
void unwind_processes_take(struct unwind_processes *processes, const struct iaprof_record *record, const char *text);
/* Follows a process that a source requests. execution: as in struct iaprof_unwind_process. */
void unwind_processes_request(struct unwind_processes *processes, uint32_t pid, uint64_t execution);
/* Reads the files of a process in advance of a request. */
void unwind_processes_prepare(struct unwind_processes *processes, uint32_t pid);
/* Delivers processes that have changed, or whose files were read, and withdraws those that have ended. */
void unwind_processes_update(struct unwind_processes *processes);
