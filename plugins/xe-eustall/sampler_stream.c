/* SPDX-License-Identifier: Apache-2.0 */
/* See sampler_stream.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "activity.h"
#include "sampler_stream.h"
#include "stream.h"

/* If rows arrive this soon after a restart, the stream was dead before. */
#define REVIVAL_TIME UINT64_C(1000000000) /* ns */
#define SILENT_BESIDE_OTHERS "no rows though another GT of the GPU has some, as after a reset"

uint64_t sampler_latched(const struct sampler *sampler)
{
	uint64_t latch = sampler->polled ? sampler->polled : sampler->complete - sampler->sampling->latch_age;

	return latch > sampler->enabled && latch < sampler->complete ? latch : sampler->enabled;
}

/*
 * Wakes up when half of one Xe-core's ring buffer may be full, if all rows belong to it: it cannot overflow before the
 * next latch.
 */
int sampler_stream_open(struct sampler *sampler)
{
	uint32_t ring_rows = sampler->device->eu_stall.buffer_size / ROW_SIZE;

	sampler->stream = stream_open(sampler->device->node, sampler->gt, sampler_cycles(sampler),
				      ring_rows / 2 ? ring_rows / 2 : 1);
	return sampler->stream < 0 ? sampler->stream : 0;
}

void sampler_stream_describe(const struct sampler *sampler, int error, char *text, size_t size)
{
	char owner[256];

	if (error == -EBUSY) {
		stream_owner_describe(sampler->device->node, owner, sizeof owner);
		snprintf(text, size, "%s at %s: EU stalls are already being sampled by %s (end it first)",
			 sampler->name, sampler->device->address, owner);
	} else if (error == -EACCES) {
		snprintf(text, size, "%s at %s: %s", sampler->name, sampler->device->address, DEVICE_RIGHTS_MISSING);
	} else {
		snprintf(text, size, "%s at %s: cannot sample EU stalls: %s%s", sampler->name, sampler->device->address,
			 strerror(-error), error == -ENOMEM ? " (the driver needs 512 KiB of memory per Xe-core)" : "");
	}
}

void sampler_stream_close(struct sampler *sampler)
{
	if (sampler->stream >= 0)
		close(sampler->stream);
	sampler->stream = -1;
}

void sampler_begin(struct sampler *sampler, uint64_t now)
{
	sampler->complete = sampler->enabled = sampler->newest = now;
	sampler->polled = 0;
	activity_forget_polls(sampler->sampling->activity);
	sampler->problem_logged = false;
	if (!sampler->fold.count)
		sampler->begin = sampler->end = now;
	sampler->state = SAMPLER_OPEN;
}

void sampler_send_rate(const struct sampler *sampler)
{
	const struct iaprof_host *host = sampler->sampling->host;
	char key[200];

	snprintf(key, sizeof key, "sampling rate of %s", sampler->label);
	host->metadata(host, key, "every %" PRIu32 " GPU cycles", sampler_cycles(sampler));
}

void sampler_send_cycle(const struct sampler *sampler)
{
	const struct iaprof_host *host = sampler->sampling->host;
	char key[200];

	snprintf(key, sizeof key, "sampled time of %s", sampler->label);
	if (sampler->cycle.stride == 1)
		host->metadata(host, key, "all");
	else
		host->metadata(host, key,
			       "1 of %" PRIu32 " windows of %u ms, to hold the CPU budget; a sample counts %" PRIu32
			       " times",
			       sampler->cycle.stride, (unsigned)(DUTY_WINDOW / 1000000), sampler->cycle.stride);
}

void sampler_stream_report_lost(const struct sampler *sampler, const char *reason, uint64_t begin)
{
	const struct iaprof_host *host = sampler->sampling->host;
	char text[160];

	snprintf(text, sizeof text, "EU stalls: %s", reason);
	host->lost(host, text, begin, IAPROF_COUNT_UNKNOWN, 0, 0);
}

void sampler_stream_break(struct sampler *sampler, enum sampler_state state)
{
	sampler->state = state;
	sampler->broken = sampler_latched(sampler);
	activity_forget_polls(sampler->sampling->activity);
	sampler_stream_close(sampler);
}

int sampler_lose_device(struct sampler *sampler)
{
	const struct iaprof_host *host = sampler->sampling->host;
	int result = sampler_end_interval(sampler);

	sampler_stream_break(sampler, SAMPLER_GONE);
	host->log(host, IAPROF_LOG_WARNING, "%s at %s was removed: its sampling has ended", sampler->name,
		  sampler->device->address);
	sampler_stream_report_lost(sampler, "the GPU was removed", sampler->broken);
	return result;
}

static int start_again(const struct sampler *sampler)
{
	int result = stream_disable(sampler->stream);

	return result ? result : stream_enable(sampler->stream);
}

/* Closes a broken stream, which is reopened every second. */
static void stop_for(struct sampler *sampler, const char *what, int error)
{
	const struct iaprof_host *host = sampler->sampling->host;

	sampler_stream_break(sampler, SAMPLER_BROKEN);
	host->log(host, IAPROF_LOG_WARNING, "%s: %s failed: %s (retrying every second)", sampler->label, what,
		  strerror(-error));
}

/* Rows read before belong to another interval. */
static int begin_anew(struct sampler *sampler)
{
	int result = sampler_end_interval(sampler);

	sampler_begin(sampler, sampler_now(sampler));
	return result;
}

static void report_restart(const struct sampler *sampler, const char *reason, uint64_t begin)
{
	const struct iaprof_host *host = sampler->sampling->host;

	sampler_stream_report_lost(sampler, reason, begin);
	host->log(host, IAPROF_LOG_WARNING, "%s: %s: sampling restarted", sampler->label, reason);
}

int sampler_stream_restart(struct sampler *sampler, const char *reason, uint64_t begin)
{
	char what[160];

	if (sampler->state != SAMPLER_OPEN)
		return 0;
	int result = start_again(sampler);
	if (result) {
		snprintf(what, sizeof what, "%s, and restarting", reason);
		stop_for(sampler, what, result);
		return 0;
	}
	result = begin_anew(sampler);
	report_restart(sampler, reason, begin);
	return result;
}

int sampler_restart(struct sampler *sampler, const char *reason)
{
	return sampler_stream_restart(sampler, reason, sampler->newest);
}

int sampler_restart_quietly(struct sampler *sampler)
{
	if (sampler->state != SAMPLER_OPEN)
		return 0;
	if (start_again(sampler))
		return sampler_restart(sampler, SILENT_BESIDE_OTHERS); /* it fails again, and reports the error */
	sampler->silent_since = sampler->newest;
	return begin_anew(sampler);
}

void sampler_stream_pause(struct sampler *sampler)
{
	int result = stream_disable(sampler->stream);
	if (!result)
		sampler->state = SAMPLER_PAUSED;
	else
		stop_for(sampler, "pausing", result);
}

void sampler_stream_resume(struct sampler *sampler)
{
	int result = stream_enable(sampler->stream);
	if (result)
		return stop_for(sampler, "continuing", result);
	/* The rows of this window no longer provide information about the time before. */
	sampler->silent_since = 0;
	sampler_begin(sampler, sampler_now(sampler));
}

void sampler_stream_revived(struct sampler *sampler)
{
	if (sampler_now(sampler) - sampler->enabled < REVIVAL_TIME)
		report_restart(sampler, SILENT_BESIDE_OTHERS, sampler->silent_since);
	sampler->silent_since = 0;
}

int sampler_stream_replace(struct sampler *sampler, const char *reason)
{
	const struct iaprof_host *host = sampler->sampling->host;

	int result = sampler_stream_open(sampler);
	if (!result)
		result = stream_enable(sampler->stream);
	if (result == -ENODEV)
		return sampler_lose_device(sampler);
	if (result) {
		if (!sampler->problem_logged) {
			char problem[512];
			sampler_stream_describe(sampler, result, problem, sizeof problem);
			host->log(host, IAPROF_LOG_WARNING, "%s (retrying every second)", problem);
		}
		sampler->problem_logged = true;
		sampler_stream_close(sampler);
		return 0;
	}
	sampler_begin(sampler, sampler_now(sampler));
	sampler_stream_report_lost(sampler, reason, sampler->broken);
	return 0;
}
