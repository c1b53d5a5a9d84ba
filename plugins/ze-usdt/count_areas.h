/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The areas in which processes count launches (count_area.h): opens, reads and keeps them valid. Another process can
 * write anything into them at any time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "base/array.h"
#include "broker/broker.h"
#include "count_area.h"
#include "recordings.h"

/* A launch that a cell counts, from the probe that fired with the cell's tag. */
struct known_launch {
	struct ze_launch_key key;
	uint32_t kernel;    /* id in records; 0: not known */
	uint32_t stack;     /* id in records, valid for some seconds from read_time on; 0: none */
	uint64_t time;      /* of the launch */
	uint64_t read_time; /* when it was read from the BPF map */
};

struct counted_cell {
	uint64_t count;     /* last read value of the cell */
	uint64_t last_time; /* further launches are not before this time */
	uint32_t unknown;   /* readings since the cell counts something that is not known */
	struct known_launch launch;
};

struct count_area {
	struct ze_process process;
	uint64_t address; /* in the process */
	struct ze_count_area *shared;
	struct counted_cell *cells;
	uint32_t turns_over; /* since the process announced another one; 0: it did not */
	bool is_damaged;     /* has impossible contents and is no longer used */
};

struct count_areas {
	const struct iaprof_host *host;
	struct broker *broker; /* opens the files of processes */
	/* Returns whether launches of a process may be counted by their native stacks alone. */
	bool (*is_countable)(void *context, const struct ze_process *process);
	void *context;
	ARRAY(struct count_area *) items;
	bool closed;
	uint64_t opened;   /* areas */
	uint32_t attempts; /* to open one, in this turn */
	uint64_t launches; /* read so far */
	uint64_t lost;     /* the part of these whose kernel and stack are unknown */
};

/* Launches of a cell since it was read before. */
struct counted {
	uint64_t count;
	uint64_t first_time, last_time;
};

/* Maps the area that a process announced; without it, all launches fire the probe. Call before count_areas_take(). */
void count_areas_open(struct count_areas *areas, const struct ze_event *event);
/* The same for an open file in memory, which is closed. Returns 0 or a negative errno. */
int count_areas_add(struct count_areas *areas, const struct ze_process *process, uint64_t address, int file);

/*
 * A launch fired the probe with a cell's tag: reads the cell, and remembers the launch for later readings. Returns
 * false if the tag is not that of a known cell.
 */
bool count_areas_take(struct count_areas *areas, const struct known_launch *launch, uint64_t now,
		      struct counted *counted);
/*
 * Reads all cells: calls late for launches that were counted after the cell was last read. is_last: there are no more
 * calls of count_areas_take(). Returns 0, or the first result of late that is not.
 */
int count_areas_sweep(struct count_areas *areas, uint64_t now, bool is_last,
		      int (*late)(void *context, const struct known_launch *launch, const struct counted *counted),
		      void *context);
/* After each count_areas_sweep(): begins the next turn. */
void count_areas_renew(struct count_areas *areas, uint64_t now);
/* Processes count no more launches; what they counted can still be read. */
void count_areas_close(struct count_areas *areas, uint64_t now);
/* After the last reading: records the read counts in the areas, for the next profiler. */
void count_areas_hand_over(struct count_areas *areas);
/* Forgets the areas of an ended program, which were read, and of earlier programs of the process. */
void count_areas_forget_process(struct count_areas *areas, const struct ze_process *ended);
void count_areas_free(struct count_areas *areas);
