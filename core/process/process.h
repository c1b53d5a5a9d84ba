/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process table: which programs ran when, and what they had mapped where. Fed with PROCESS and MAPPING records in
 * any order of arrival; every question is asked for a time. Belongs to one thread (the core's); not locked.
 *
 * A struct process is one program image in one process: an exec ends one and begins the next, with the same pid.
 */
#ifndef IAPROF_CORE_PROCESS_PROCESS_H
#define IAPROF_CORE_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <iaprof/record.h>

struct process_table;

/* An executable mapping. Strings belong to the table and live as long as it does. */
struct mapping {
	uint64_t start, end;              /* [start, end) in the process */
	uint64_t file_offset;             /* of start */
	uint64_t begin;                   /* time from which on it is there; 0 since before we looked */
	uint64_t inode, inode_generation; /* 0 not known */
	uint32_t device_major, device_minor;
	uint32_t serial; /* >= 1, unique in the table, the same in a replay of the same records */
	uint32_t flags;  /* enum iaprof_mapping_flag */
	uint32_t build_id_size;
	uint8_t build_id[IAPROF_BUILD_ID_SIZE_MAX];
	const char *path; /* inside the process's mount namespace; "[vdso]", "//anon", ... */
};

struct process {
	uint32_t pid;
	uint32_t parent_pid; /* 0 not known */
	uint32_t serial;     /* >= 1, unique in the table, the same in a replay of the same records */
	uint64_t begin;      /* time of its fork or exec; 0 since before we looked */
	uint64_t end;        /* time of its exit or next exec; UINT64_MAX running */
	const char *name;    /* comm, the newest one; "" not known; belongs to the table */
	/*
	 * O_PATH descriptor of its root folder, PROCESS_ROOT_OWN or PROCESS_ROOT_UNREACHABLE; as it was at its last
	 * fork, exec or look through /proc, whichever is the latest.
	 */
	int root;
	bool user_mounts; /* its mount namespace is another user namespace's: users may have mounted anything there */
	uint32_t user;    /* its effective user id at that time; 0: root, or not known */
};

#define PROCESS_ROOT_OWN (-1) /* the same as iaprof's own */
#define PROCESS_ROOT_UNREACHABLE                                                                                       \
	(-2) /* another one that cannot be opened: its files must not be looked for in ours                            \
	      */

struct process_table *process_table_new(void);
void process_table_free(struct process_table *table);

/*
 * Takes one PROCESS or MAPPING record; name and path are the texts of its string ids. live: the process may still be
 * there, so its root folder may be opened (not in a replay). Returns 0 or -ENOMEM.
 */
int process_table_event(struct process_table *table, const struct iaprof_record_process *record, const char *name,
			bool live);
int process_table_mapping(struct process_table *table, const struct iaprof_record_mapping *record, const char *path);

/* The program image that had this pid at this time; the oldest known one when time is before it; NULL unknown pid. */
struct process *process_table_find(struct process_table *table, uint32_t pid, uint64_t time);
/*
 * When the program image ended that had this pid at this time; UINT64_MAX: it runs, or nobody knows of it. For what is
 * told late of programs that have ended by then.
 */
uint64_t process_table_end(struct process_table *table, uint32_t pid, uint64_t time);
/* By serial number; NULL when it is gone. */
struct process *process_table_by_serial(struct process_table *table, uint32_t serial);

/*
 * The mapping that held address at time, or NULL. A forked child has its parent's mappings from before the fork. The
 * pointer is good until the next change of the table.
 */
const struct mapping *process_mapping_at(struct process_table *table, struct process *process, uint64_t address,
					 uint64_t time);

/*
 * Forgets the images that ended before this time, calling gone() for each right before it goes (it may still be asked
 * for mappings then; nothing in the table may be changed). Mappings that a fork still has from an image stay with the
 * fork. Forgets also which mappings were replaced before this time.
 */
void process_table_retire(struct process_table *table, uint64_t before,
			  void (*gone)(void *context, struct process *process), void *context);

/* How many images are known now. */
size_t process_table_count(const struct process_table *table);

/* The most mappings that are kept of a user who is not trusted (user_accounts.h), and of all of them: 200 bytes each.
 */
#define PROCESS_MAPPINGS_USER 196608u
#define PROCESS_MAPPINGS_OTHERS 393216u
/* How many mappings were refused for these, and *user, who had the most of them. */
uint64_t process_table_refused(const struct process_table *table, uint32_t *user);
/* How many parts of mappings had to be forgotten because one process had more than can be kept; 0 in a usual run. */
uint64_t process_table_dropped(const struct process_table *table);

#endif
