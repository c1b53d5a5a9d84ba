/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process table: programs, their lifetimes and their mappings. Updated from PROCESS and MAPPING records in any
 * order of arrival; every lookup is for a point in time. Owned by one thread (the core's); not locked.
 *
 * A struct process is one program image in one process: an exec ends one and begins the next, with the same pid.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <iaprof/record.h>

struct process_table;

/* An executable mapping. Strings are owned by the table and valid for the lifetime of the table. */
struct mapping {
	uint64_t start, end;              /* [start, end) in the process */
	uint64_t file_offset;             /* file offset of start */
	uint64_t begin;                   /* time of creation; 0: before the first scan */
	uint64_t inode, inode_generation; /* 0 if unknown */
	uint32_t device_major, device_minor;
	uint32_t serial; /* >= 1, unique in the table, the same in a replay of the same records */
	uint32_t flags;  /* enum iaprof_mapping_flag */
	uint32_t build_id_size;
	uint8_t build_id[IAPROF_BUILD_ID_SIZE_MAX];
	const char *path; /* inside the process's mount namespace; "[vdso]", "//anon", ... */
};

struct process {
	uint32_t pid;
	uint32_t parent_pid; /* 0 if unknown */
	uint32_t serial;     /* >= 1, unique in the table, the same in a replay of the same records */
	uint64_t begin;      /* time of its fork or exec; 0: before the first scan */
	uint64_t end;        /* time of its exit or next exec; UINT64_MAX running */
	const char *name;    /* latest comm; "" not known; owned by the table */
	/*
	 * O_PATH descriptor of its root folder, PROCESS_ROOT_OWN or PROCESS_ROOT_UNREACHABLE; as it was at its last
	 * fork, exec or scan of /proc, whichever is the latest.
	 */
	int root;
	bool user_mounts;     /* its mount namespace belongs to another user namespace, whose users may have mounted
				 anything */
	bool is_chrooted;     /* its root is another folder of iaprof's mount namespace */
	bool is_unreadable;   /* its memory map could not be read, or that of the process it was forked from */
	bool is_reported;     /* with is_unreadable: it was counted as sampled */
	uint32_t user;        /* its effective user id at that time; 0: root or unknown */
	const char *jit_dump; /* file that lists its generated code (jit_dump.h), latest mapped; NULL: none; owned by
				 the table */
};

/* Returns whether a mapping has no file, but may contain a copy of one: anonymous memory, also in huge pages. */
static inline bool mapping_is_anonymous(const char *path)
{
	return !*path || !strncmp(path, "//anon", 6) || !strncmp(path, "/anon_hugepage", 14) ||
	       !strncmp(path, "[anon:", 6);
}

/* Returns whether a file is in memory: a program or library, or a buffer for generated code. */
static inline bool mapping_path_is_in_memory(const char *path)
{
	return !strncmp(path, "/memfd:", 7) || !strncmp(path, "/dev/shm/", 9);
}

/* Returns whether a file in memory is mapped as programs and libraries are: code that is generated there is shared. */
static inline bool mapping_is_file_in_memory(const struct mapping *mapping)
{
	return mapping_path_is_in_memory(mapping->path) && !(mapping->flags & IAPROF_MAPPING_SHARED);
}

/* Values of root: the same folder as iaprof's own, and one that cannot be opened and must not be mistaken for it. */
#define PROCESS_ROOT_OWN (-1)
#define PROCESS_ROOT_UNREACHABLE (-2)

struct process_table *process_table_new(void);
void process_table_free(struct process_table *table);

/*
 * Processes one PROCESS or MAPPING record; name and path are the texts of its string ids. live: the process may still
 * exist, so its root folder may be opened (not in a replay): if it is new, in process_table_read_roots().
 * Returns 0 or -ENOMEM.
 */
int process_table_event(struct process_table *table, const struct iaprof_record_process *record, const char *name,
			bool live);
int process_table_mapping(struct process_table *table, const struct iaprof_record_mapping *record, const char *path);

/*
 * Reads users and roots of the processes that began since the last call and still run. Call it once per batch of
 * records: most processes end before their records are read, and the same batch contains their exit. Later, more have
 * ended.
 */
void process_table_read_roots(struct process_table *table);

/*
 * Returns the program image with this pid at this time; the oldest known one if time is before it; NULL: unknown pid.
 */
struct process *process_table_find(struct process_table *table, uint32_t pid, uint64_t time);
/*
 * Returns when the program image with this pid at this time ended; UINT64_MAX: still running or unknown. For records
 * that arrive after their program has ended.
 */
uint64_t process_table_end(struct process_table *table, uint32_t pid, uint64_t time);
/* Returns the process with a serial number; NULL if it was removed. */
struct process *process_table_by_serial(struct process_table *table, uint32_t serial);

/*
 * Returns the mapping that contained address at time, or NULL. A forked child has its parent's mappings from before the
 * fork. The pointer is valid until the next change of the table.
 */
const struct mapping *process_mapping_at(struct process_table *table, struct process *process, uint64_t address,
					 uint64_t time);

/* A part of a mapping: [start, end) in the process. */
struct mapped_range {
	uint64_t start, end;
	const struct mapping *mapping;
};
/*
 * Returns the mappings of a process at time, by address, as far as none replaced them; at most count_max of them. The
 * caller frees the array; the mappings are valid until the next change of the table. NULL: none, or out of memory.
 */
struct mapped_range *process_mappings(struct process_table *table, struct process *process, uint64_t time,
				      size_t count_max, size_t *count);

/*
 * Removes the images that ended before this time, calling gone() for each just before (mappings can still be looked up
 * then; the table must not be changed). Mappings that a fork inherited from an image stay with the fork. Also removes
 * mappings that were replaced before this time.
 */
void process_table_retire(struct process_table *table, uint64_t before,
			  void (*gone)(void *context, struct process *process), void *context);

/*
 * Releases texts that no image refers to any longer, once there are many. Invalidates all pointers to names and paths
 * of the table's processes and mappings.
 */
void process_table_trim_texts(struct process_table *table);

/* Returns the current number of images. */
size_t process_table_count(const struct process_table *table);

/*
 * Limits on mappings: per untrusted user (user_accounts.h), and for all untrusted users together. A mapping takes 200
 * bytes. A quarter of each is for processes with a usual number of mappings, so that those with many leave room for the
 * other programs of their user.
 */
#define PROCESS_MAPPINGS_USER 196608u
#define PROCESS_MAPPINGS_OTHERS 393216u
#define PROCESS_MAPPINGS_USUAL 256u
/* Returns the number of mappings rejected because of these limits, and sets *user to the user with the most of them. */
uint64_t process_table_refused(const struct process_table *table, uint32_t *user);
/*
 * Returns the number of processes whose root folder was not opened because their user has too many (root_cache.h), and
 * sets *user to the user with the most of them.
 */
uint64_t process_table_roots_refused(const struct process_table *table, uint32_t *user);
/* Returns the number of parts of mappings dropped because a process exceeded its limit; normally 0. */
uint64_t process_table_dropped(const struct process_table *table);
