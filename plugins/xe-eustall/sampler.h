/* SPDX-License-Identifier: Apache-2.0 */
/* Samples one GT: its stream, the fold of its rows, losses, and all related records. Used on one thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "device.h"
#include "duty_cycle.h"
#include "fold.h"
#include "sampling_rate.h"
#include "records/record_batch.h"
#include "device_watchdog.h"

struct activity;

/* Shared by all samplers of an instance. */
struct sampling {
	const struct iaprof_host *host;
	const struct devices *devices;
	struct record_batch batch;
	struct activity *activity;
	void *rows; /* buffer for one read() */
	size_t rows_size;
	uint64_t latch_age; /* see stream_latch_age() */
	uint32_t open;      /* streams that deliver rows */
	uint64_t subsample;
	struct rate_choice rate;
	double budget;   /* share of one CPU for rate=auto */
	uint32_t stride; /* see duty_cycle.h; set on the loop's thread, atomic */
};

/* Consecutive overflows, which are reported once. */
struct overflow_stretch {
	uint64_t begin; /* 0: none */
	uint64_t last;
	uint64_t count;
	size_t position; /* lowest rate that overflowed */
};

enum sampler_state {
	SAMPLER_CLOSED, /* before sampler_start(), and after sampler_stop() */
	SAMPLER_OPEN,
	SAMPLER_PAUSED, /* between two windows: see duty_cycle.h */
	SAMPLER_BROKEN, /* the stream ended; it is reopened every second */
	SAMPLER_GONE    /* the device is gone */
};

struct sampler {
	struct sampling *sampling;
	const struct device *device;
	uint32_t gt; /* number in the driver */
	uint32_t xe_cores;
	uint32_t record_id; /* id of its DEVICE record */
	char name[80];      /* "Intel Arc B580 GT 0", where the address is given separately */
	char label[128];    /* see device_label() */

	enum sampler_state state;
	int stream; /* -1 if none */
	struct fold fold;
	struct rate_control rate;
	struct duty_cycle cycle;
	uint32_t row_phase; /* rows to skip before the next one that is used */

	uint64_t rows; /* rows read, the value of the counter */
	uint64_t overflows;
	uint64_t rows_reported, overflows_reported;
	bool overflowed; /* since the last turn of rate=auto */
	struct overflow_stretch stretch;

	uint64_t enabled;  /* when sampling last started */
	uint64_t complete; /* when a read() last found no more rows: all earlier rows have been read */
	uint64_t polled;   /* activity_polled() before that read(); 0: not known */
	uint64_t begin;    /* start of the fold's interval */
	uint64_t end;      /* when the newest row in the fold was read */
	uint64_t newest;   /* when a row was last read, or sampling started */
	uint64_t broken;   /* start of the loss, if the stream ended */
	struct gt_watchdog watchdog;
	uint64_t silent_since; /* time of the last row of a stream that may be dead; 0: not suspected */
	bool problem_logged;   /* the failure to reopen the stream was reported */
	uint64_t turned;       /* time of the last turn of rate=auto */
	uint64_t read_time;    /* CPU time of reading and folding since then, with rate=auto */
};

/*
 * Initialises the sampler of a GT without opening its stream. Returns 0, or a negative errno with a message that
 * includes the remedy: -EINVAL if the GPU does not support the sampling rate. Call sampler_free() in either case.
 */
int sampler_init(struct sampler *sampler, struct sampling *sampling, const struct device *device,
		 const struct query_gt *gt, uint32_t record_id, char *problem, size_t problem_size);

/*
 * Opens the GT's stream, of which there can be only one. Returns 0, or a negative errno with a message that includes
 * the remedy; -EBUSY if another process has it.
 */
int sampler_open(struct sampler *sampler, char *problem, size_t problem_size);

/*
 * Emits the definitions and starts sampling. Returns 0, or a negative errno after host->fail(), or 1 with a message if
 * this GT cannot be sampled, which does not affect others.
 */
int sampler_start(struct sampler *sampler, char *problem, size_t problem_size);

/*
 * Reads all available rows into the fold. These return 0, or a negative errno after host->fail(), which ends the
 * source. Failures of a single GT are not errors.
 */
int sampler_read(struct sampler *sampler);
/* Emits the fold as STALL_SAMPLE records, after activity_emit() for the interval. */
int sampler_flush(struct sampler *sampler);
/* Ends an interval of this GT alone: activity_emit(), then sampler_flush(). */
int sampler_end_interval(struct sampler *sampler);
/* Begins or ends a window of sampling, if it is time. */
int sampler_follow_cycle(struct sampler *sampler, uint64_t now);
/* Once per second: adjusts the rate and reopens a broken stream. */
int sampler_turn(struct sampler *sampler, uint64_t now);

/* Restarts the stream, because rows stopped although the GPU is busy. */
int sampler_restart(struct sampler *sampler, const char *reason);
/*
 * Restarts the stream of a GT that is either dead or idle. It was dead only if rows arrive immediately; the loss is
 * then reported.
 */
int sampler_restart_quietly(struct sampler *sampler);

/* Handles the loss of the device: emits the last samples. */
int sampler_lose_device(struct sampler *sampler);

/* Reads the last rows and closes the stream. sampler_free() comes after. */
int sampler_stop(struct sampler *sampler);
void sampler_free(struct sampler *sampler);
