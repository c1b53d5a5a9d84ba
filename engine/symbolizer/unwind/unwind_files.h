/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF files that processes have mapped, and their unwind tables, each of which is made once. Children of the worker
 * read several files at the same time. Owned by one thread; not locked.
 */
#pragma once

#include <poll.h>

#include "base/keyed_array.h"
#include "process/process.h"
#include "process/user_accounts.h"
#include "broker/broker.h"
#include "symbolizer/unwind/remote_unwind.h"
#include "symbolizer/unwind/unwind_cache.h"

/* Limit on files that are read at the same time. */
#define UNWIND_READS_MAX 4u

/* Limits on files of all untrusted users, and of one. A source has room for 8,192 tables. */
#define UNWIND_FILES_OTHERS 4096u
#define UNWIND_FILES_USER 1024u

/* Returned instead of a position if too many files wait to be read. Look the file up again later. */
#define UNWIND_FILE_LATER (POSITION_NONE - 1)

/* A file. Its position in the array does not change. */
struct unwind_file {
	struct file_identity key;
	uint32_t table;   /* >= 1; 0: none, or not read yet */
	uint32_t id;      /* of its table, once it was read */
	bool is_pending;  /* not read yet */
	bool is_released; /* its table was withdrawn, and is read again when needed */
	uint64_t used;    /* last time at which a process that is followed had mapped it */
	uint64_t bytes;   /* of the table */
	int descriptor;   /* -1: closed */
	const char *path; /* for messages */
	elf_segment_array segments;
};

/* The file of a mapping, as Linux identifies it in maps. */
struct unwind_place {
	struct {
		uint64_t device, inode;
	} key;
	uint32_t file; /* POSITION_NONE: not readable */
	uint64_t pass; /* pass in which it was last opened */
};

struct unwind_read {
	struct remote_unwind_read remote;
	uint32_t file; /* POSITION_NONE: unused */
};

/* Identities of files of mappings, which were read in this pass. */
struct unwind_identities {
	uint64_t pass;
	uint32_t pid;
	size_t count;
	struct broker_range ranges[BROKER_IDENTITIES_MAX];
	struct file_identity identities[BROKER_IDENTITIES_MAX];
};

struct unwind_files {
	struct broker *broker;
	struct worker_pool *pool;
	struct budget budget;
	struct unwind_cache cache;
	struct user_accounts owners; /* amount: files */
	/* Takes ownership of the contents of the table. An empty one withdraws the table of this id. */
	void (*deliver)(void *context, uint32_t id, struct unwind_table *table);
	void *context;

	KEYED_ARRAY(struct unwind_file) items;
	KEYED_ARRAY(struct unwind_place) places;
	ARRAY(uint32_t) queue; /* files that wait to be read */
	size_t queued_others;  /* files of untrusted users in the queue */
	struct unwind_read reads[UNWIND_READS_MAX];
	size_t reads_max;  /* number of reads in use */
	size_t open_count; /* number of open files */
	size_t open_max;
	bool saves; /* opens no further files */
	uint64_t pass;
	struct unwind_identities identified;
	uint32_t table_count; /* files with a table */
	uint64_t finished;    /* files that were read */
	uint64_t rows;        /* of all tables */
	uint64_t skipped;     /* functions without readable rules */
	uint32_t vdso;        /* position; POSITION_NONE: not tried yet */
	uint64_t vdso_size;   /* UINT64_MAX: there is none */
};

/* Returns 0 or -ENOMEM. Call unwind_files_free() in either case. */
int unwind_files_init(struct unwind_files *files);
void unwind_files_free(struct unwind_files *files);

/* Begins a search for the files of one process, in which each file is opened at most once. */
void unwind_files_begin_pass(struct unwind_files *files);
struct unwind_files_request {
	const struct process *process;
	const struct mapping *mapping;
	uint64_t end;  /* the last time at which the mapping existed */
	bool may_open; /* otherwise the file is found only if it is open */
	/* This mapping and those that are searched for next, which are identified together; NULL: this one alone. */
	const struct mapped_range *next;
	size_t next_count;
};
/*
 * Returns the position of the file of a mapping. A new file is opened and queued. Returns POSITION_NONE if the mapping
 * has no file or it cannot be read, or UNWIND_FILE_LATER.
 */
uint32_t unwind_files_find(struct unwind_files *files, const struct unwind_files_request *request);
/* Returns the segment that an executable mapping belongs to; NULL if there is none. */
const struct elf_segment *unwind_file_segment(const struct unwind_file *file, uint64_t file_offset);

/* Starts to read queued files, trusted ones first. Returns whether files are being read. */
bool unwind_files_read(struct unwind_files *files);
/* Sets the descriptors to poll while files are being read. Returns their number, at most UNWIND_READS_MAX. */
size_t unwind_files_poll(const struct unwind_files *files, struct pollfd *polled);
/* Delivers the tables of files that have been read, and abandons files that took too long to read. */
void unwind_files_finish(struct unwind_files *files);

/* Withdraws the tables of files that were not used since then: their memory would grow with each new program. */
void unwind_files_release(struct unwind_files *files, uint64_t since);

/* Returns the CPU time of the helper processes, ns. */
uint64_t unwind_files_cost(struct unwind_files *files);
