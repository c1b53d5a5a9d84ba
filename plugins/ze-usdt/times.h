/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of launches on the device: JOB records from what the probes timed_launch and kernel_time report. When only some
 * launches are timed, each represents those that were launched from the same stack since the one before; the newest one
 * of a stack waits some turns for them. Bounded: what exceeds a table has no time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "base/keyed_array.h"
#include "records/record_batch.h"
#include "ze-usdt.h"

#define TIMED_SITES_MAX 65536u
#define TIMED_LAUNCHES_MAX 65536u
#define TIMED_DEVICES_MAX 64u

struct timed_end {
	struct ze_time time;
	uint64_t submitted;
	uint64_t site; /* 0: not looked up */
};

/* A kernel and a stack of a thread, as far as a launch key tells them apart. */
struct timed_site {
	uint64_t key;
	struct ze_process process;
	uint32_t kernel; /* id in records */
	uint32_t thread;
	char thread_name[ZE_THREAD_NAME_SIZE];
	uint64_t waiting; /* launches that no time represents yet */
	uint64_t ended;   /* timed ones in this turn, and the held one: while they are emitted */
	uint64_t held_since;
	struct timed_end held; /* time.number 0: none */
};

struct launch_being_timed {
	struct {
		struct ze_process process;
		uint64_t number;
	} key;
	uint64_t site;
	uint64_t counted; /* time */
};

/* Initialise with {0}, host, batch, is_on and is_complete. */
struct times {
	const struct iaprof_host *host;
	struct record_batch *batch;
	bool is_on;
	bool is_complete; /* all launches are timed that can be */
	uint32_t time_type;
	KEYED_ARRAY(struct timed_site) sites;
	KEYED_ARRAY(struct launch_being_timed) launches;
	ARRAY(struct timed_end) ends;
	uint64_t devices[TIMED_DEVICES_MAX]; /* addresses: ids from 1 */
	uint32_t device_count;
	uint64_t launched; /* also by executions of recordings, which have no times */
	uint64_t timed, represented, unread, dropped;
};

void times_free(struct times *times);

/* Counts launches that are about to be emitted. Returns their number in records; 0: they have no times. */
uint64_t times_add_launches(struct times *times, const struct ze_launch_key *key, uint32_t kernel, uint64_t count);

/* Receives an event of the ring. */
void times_take(struct times *times, const struct ze_time *event, size_t size);

/* Emits times after the launches of a turn. Returns 0 or a negative errno. */
int times_emit(struct times *times, uint64_t now, bool is_last);

/* Emits what waits for more launches of an ended process, and forgets it. Returns 0 or a negative errno. */
int times_forget_process(struct times *times, const struct ze_process *ended);

/* Adds to the metadata how many launches have a time. */
void times_describe(const struct times *times);
