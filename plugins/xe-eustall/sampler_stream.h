/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of a sampler: opened for the rate, started again when it is dead, replaced when it broke. For sampler.c;
 * what others call of it is in sampler.h. Reasons are what a user reads behind "EU stalls: ".
 */
#ifndef IAPROF_XE_EUSTALL_SAMPLER_STREAM_H
#define IAPROF_XE_EUSTALL_SAMPLER_STREAM_H

#include "sampler.h"

static inline uint64_t sampler_now(const struct sampler *sampler)
{
	return sampler->sampling->host->clock(sampler->sampling->host);
}

static inline uint32_t sampler_cycles(const struct sampler *sampler)
{
	return sampler->device->eu_stall.rates[sampler->rate.position];
}

/* When nothing says so better, rows that are missing happened after the driver latched what was read last. */
uint64_t sampler_latched(const struct sampler *sampler);

/* Returns 0 or a negative errno, which sampler_stream_describe() puts into words. */
int sampler_stream_open(struct sampler *sampler);
void sampler_stream_describe(const struct sampler *sampler, int error, char *text, size_t size);
void sampler_stream_close(struct sampler *sampler);

/* Rows count from now on. */
void sampler_begin(struct sampler *sampler, uint64_t now);
/* Rows are missing since begin. */
void sampler_stream_tell_lost(const struct sampler *sampler, const char *reason, uint64_t begin);

/* The stream cannot be had back, or not now. What is lost is known when it is. */
void sampler_stream_break(struct sampler *sampler, enum sampler_state state);
/* These return as sampler_read(). The same stream begins again; rows have been missing since begin. */
int sampler_stream_restart(struct sampler *sampler, const char *reason, uint64_t begin);
/* A stream for the rate in place of the one that broke. */
int sampler_stream_replace(struct sampler *sampler, const char *reason);

/* Rows come from a stream that was suspected to be dead: had it been, they come at once when it is started again. */
void sampler_stream_revived(struct sampler *sampler);

#endif
