/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the files of one process in /proc. */
#pragma once

#include "broker/broker.h"
#include "process/proc_parser.h"

/* Fits the longest /proc/PID/stat: 52 numbers of at most 20 digits, and the name. */
#define PROC_STATUS_SIZE 2048u

/* Fits a line of maps with the longest path, if each byte is a newline, which is written as four. */
#define PROC_MAPS_SIZE 65536u

/* Opens a file in /proc/PID. Returns a descriptor or a negative errno. */
int proc_open(uint32_t pid, const char *name);

/* Reads /proc/PID/maps piece by piece, by the broker. */
struct proc_maps {
	struct broker *broker;
	uint32_t pid;
	bool has_begun, has_ended;
	size_t begin, filled;
	char text[PROC_MAPS_SIZE];
};

void proc_maps_begin(struct proc_maps *maps, struct broker *broker, uint32_t pid);
/* Reads the next piece. Returns 1; 0 at the end; or a negative errno, as broker_read(). */
int proc_maps_read(struct proc_maps *maps);
/* Takes the next line that was read, as proc_maps_next(); -EINVAL also for one that is too long. */
int proc_maps_take(struct proc_maps *maps, struct process_mapping *mapping);

/* Reads and parses /proc/PID/stat; the name is in text. Returns 0 or a negative errno. */
int proc_status_read(uint32_t pid, char text[PROC_STATUS_SIZE], struct proc_status *status);
/* Returns whether the process has no running threads left. */
bool proc_status_has_ended(const struct proc_status *status);
/* The same for the result of proc_status_read(): true if there is no such process, false if it cannot be read. */
bool proc_reading_has_ended(int result, const struct proc_status *status);
/* The same by pid. */
bool proc_has_ended(uint32_t pid);
/* Converts clock ticks to ns. */
uint64_t proc_ticks_to_ns(uint64_t ticks);

/*
 * The effective ids of a process, even if it is not dumpable (in that case root owns its files in /proc), and its pid
 * in its own PID namespace (0: unknown).
 */
struct proc_identity {
	uint32_t user, group, namespace_pid;
};

/* Reads /proc/PID/status. Returns false if the user is unknown. */
bool proc_identity_read(uint32_t pid, struct proc_identity *identity);
