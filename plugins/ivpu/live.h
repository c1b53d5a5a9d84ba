/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the calls of the NPU driver's functions while they happen: by process, by the calls that they are nested in,
 * with their times; and what the NPU says of its use. Each function below is one of the plugin's callbacks, on its
 * thread, but for live_turn().
 */
#ifndef IAPROF_PLUGINS_IVPU_LIVE_H
#define IAPROF_PLUGINS_IVPU_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "findings.h"
#include "links.h"

struct live;

/* The options' text and limits stay the caller's. */
struct live_options {
	const char *functions; /* patterns of names, with commas between them */
	enum links_way attach;
	bool hot;           /* those that are called for each page, too */
	bool api;           /* functions of Level Zero, too */
	bool stacks;        /* of programs that call those */
	uint32_t ring_size; /* bytes for calls that are told one by one; 0: they are added up in the Linux kernel */
	const struct ivpu_limits *limits;
};

/* Whether it can be done here. These return 0 or a negative errno after host->fail(). */
int live_probe(const struct iaprof_host *host, const struct live_options *options);
/* Gives *live, which live_free() ends in any case. */
int live_prepare(struct live **live, const struct iaprof_host *host, const struct live_options *options);
int live_start(struct live *live);
int live_turn(struct live *live); /* every drain period between start and stop, on one thread */
int live_poll(struct live *live); /* ten times a second; the same */
/* For host->watch_mapped_files(). */
void live_file_mapped(struct live *live, const struct iaprof_mapped_file *file);
/* Waits until libraries of Level Zero are to be looked into, which it does, or calls to be taken; at most so long. */
void live_wait(struct live *live, uint64_t nanoseconds);
int live_stop(struct live *live);
int live_finish(struct live *live);
void live_free(struct live *live); /* NULL: nothing */

/* For --check. */
void live_check(const struct iaprof_host *host, const char *functions);

#endif
