/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of a sampler: opened with a sampling rate, restarted when it is dead, reopened when it broke. Private to
 * sampler.c, except for what sampler.h declares. Reasons are shown after "EU stalls: ".
 */
#pragma once

#include "sampler.h"

static inline uint64_t sampler_now(const struct sampler *sampler)
{
	return sampler->sampling->host->clock(sampler->sampling->host);
}

static inline uint32_t sampler_cycles(const struct sampler *sampler)
{
	return sampler->device->eu_stall.rates[sampler->rate.position];
}

/* Returns the default start of a loss: when the driver latched the rows read last. */
uint64_t sampler_latched(const struct sampler *sampler);

/* Returns 0 or a negative errno, which sampler_stream_describe() explains. */
int sampler_stream_open(struct sampler *sampler);
void sampler_stream_describe(const struct sampler *sampler, int error, char *text, size_t size);
void sampler_stream_close(struct sampler *sampler);

/* Starts counting rows. */
void sampler_begin(struct sampler *sampler, uint64_t now);
/* Send metadata: the sampling rate, and which windows of time are sampled. */
void sampler_send_rate(const struct sampler *sampler);
void sampler_send_cycle(const struct sampler *sampler);
/* Reports that rows are missing since begin. */
void sampler_stream_report_lost(const struct sampler *sampler, const char *reason, uint64_t begin);

/* Closes a stream that cannot be restarted now. The loss is reported when it is reopened. */
void sampler_stream_break(struct sampler *sampler, enum sampler_state state);
/* These return the same as sampler_read(). Restarts the stream; rows are missing since begin. */
int sampler_stream_restart(struct sampler *sampler, const char *reason, uint64_t begin);
/* Opens another stream in place of the broken one. */
int sampler_stream_replace(struct sampler *sampler, const char *reason);

/* Stops and starts sampling between windows: see duty_cycle.h. */
void sampler_stream_pause(struct sampler *sampler);
void sampler_stream_resume(struct sampler *sampler);

/* Handles rows of a stream that was suspected to be dead: had it been dead, they arrive directly after the restart. */
void sampler_stream_revived(struct sampler *sampler);
