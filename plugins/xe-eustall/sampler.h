/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples one GT: its stream, the fold of its rows, what was lost, and the records of all that. Everything runs on one
 * thread at a time.
 */
#ifndef IAPROF_XE_EUSTALL_SAMPLER_H
#define IAPROF_XE_EUSTALL_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "device.h"
#include "fold.h"
#include "rate.h"
#include "record_batch.h"
#include "silence.h"

struct activity;

/* What all samplers of an instance share. */
struct sampling {
	const struct iaprof_host *host;
	const struct devices *devices;
	struct record_batch batch;
	struct activity *activity;
	void *rows; /* room for what one read() gives */
	size_t rows_size;
	uint64_t latch_age; /* see stream_latch_age() */
	uint64_t subsample;
	struct rate_choice rate;
	double budget; /* share of one CPU that rate=auto may take */
};

/* Overflows that follow each other closely: the user hears of them once. */
struct overflow_stretch {
	uint64_t begin; /* 0: there is none */
	uint64_t last;
	uint64_t count;
	size_t position; /* of the slowest rate that overflowed */
};

enum sampler_state {
	SAMPLER_CLOSED, /* before sampler_start(), and after sampler_stop() */
	SAMPLER_OPEN,
	SAMPLER_BROKEN, /* the stream ended: another one is tried every second */
	SAMPLER_GONE    /* so is the device */
};

struct sampler {
	struct sampling *sampling;
	const struct device *device;
	uint32_t gt; /* its number in the driver */
	uint32_t xe_cores;
	uint32_t record_id; /* of its DEVICE record */
	char name[80];      /* "Intel Arc B580 GT 0", for lines and records that have the address besides */
	char label[128];    /* see device_label() */

	enum sampler_state state;
	int stream; /* -1 none */
	struct fold fold;
	struct rate_control rate;
	uint32_t row_phase; /* rows to leave out before the next one that is taken */

	uint64_t rows; /* that were read, as the counter has it */
	uint64_t overflows;
	uint64_t rows_told, overflows_told;
	bool overflowed; /* since the last turn of rate=auto */
	struct overflow_stretch stretch;

	uint64_t enabled;  /* when sampling began, the last time */
	uint64_t complete; /* when a read() left nothing behind; all rows of before are read */
	uint64_t begin;    /* of the interval that the fold is of */
	uint64_t end;      /* when the newest row in the fold was read */
	uint64_t newest;   /* when a row was read last, or sampling began */
	uint64_t broken;   /* since when rows are missing, where the stream ended */
	struct silence silence;
	uint64_t suspected; /* when its last row came, of one that may be dead; 0: nobody thinks so */
	bool problem_told;  /* why there is no other stream */
	uint64_t turned;    /* when the last turn of rate=auto was */
	uint64_t read_time; /* CPU time that reading and adding up took since, with rate=auto */
};

/*
 * Opens the GT's stream. Returns 0, or a negative errno and a text with what is wrong and what to do; -EBUSY when it is
 * somebody else's.
 */
int sampler_open(struct sampler *sampler, struct sampling *sampling, const struct device *device,
		 const struct query_gt *gt, uint32_t record_id, char *problem, size_t problem_size);

/*
 * Emits the records that others refer to, and begins. Returns 0; or a negative errno after host->fail(); or 1 and a
 * text when this GT cannot be sampled, which is of no account to others.
 */
int sampler_start(struct sampler *sampler, char *problem, size_t problem_size);

/*
 * Reads all rows that are there into the fold. These return 0, or a negative errno after host->fail(), which ends the
 * source: what happens to one GT does not.
 */
int sampler_read(struct sampler *sampler);
/* Emits what is in the fold as STALL_SAMPLE records; activity_emit() for that interval is called before. */
int sampler_flush(struct sampler *sampler);
/* An interval of this GT alone ends: activity_emit(), then sampler_flush(). */
int sampler_end_interval(struct sampler *sampler);
/* Once a second: the rate; another try where the stream broke. */
int sampler_turn(struct sampler *sampler, uint64_t now);

/* Starts the stream again: rows stopped though the GPU is busy. */
int sampler_restart(struct sampler *sampler, const char *reason);
/*
 * The same for a GT that may be dead, or without work: only when rows come at once it was dead, and what is missing is
 * told.
 */
int sampler_restart_quietly(struct sampler *sampler);

/* The device is gone, and what is in the fold is the last of it. */
int sampler_lose_device(struct sampler *sampler);

/* The last rows, and the end of the stream. sampler_free() comes after. */
int sampler_stop(struct sampler *sampler);
void sampler_free(struct sampler *sampler);

#endif
