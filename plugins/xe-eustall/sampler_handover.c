/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes the stream of a GT on when a continuous run replaces another one: sampler_hand_over() and sampler_take_over()
 * of sampler.h. Rows that the earlier instance has read belong to it; rows that wait in the driver's buffers belong to
 * the later one.
 */
#include <stdio.h>
#include <unistd.h>
#include "sampler.h"
#include "sampler_stream.h"

void sampler_hand_over(struct sampler *sampler, struct stream_handover *to)
{
	struct handed_stream stream = { .gt = sampler->gt,
					.stream = sampler->stream,
					.is_paused = sampler->state == SAMPLER_PAUSED,
					.cycles = sampler_cycles(sampler),
					.row_phase = sampler->row_phase,
					.rate = sampler->rate,
					.cycle = sampler->cycle,
					.enabled = sampler->enabled,
					.complete = sampler->complete,
					.newest = sampler->newest,
					.silent_since = sampler->silent_since };

	if (sampler->state != SAMPLER_OPEN && sampler->state != SAMPLER_PAUSED)
		return;
	snprintf(stream.address, sizeof stream.address, "%s", sampler->device->address);
	if (!stream_handover_put(to, &stream))
		return;
	sampler->stream = -1;
	sampler->state = SAMPLER_CLOSED;
}

static bool rate_fits(const struct sampler *sampler, const struct handed_stream *stream)
{
	const struct query_eu_stall *eu_stall = &sampler->device->eu_stall;

	return stream->rate.position < eu_stall->rate_count &&
	       eu_stall->rates[stream->rate.position] == stream->cycles &&
	       (sampler->sampling->rate.automatic || stream->cycles == sampler_cycles(sampler));
}

/* The first interval begins where the last one of the earlier instance ended. */
static void stream_continue(struct sampler *sampler, const struct handed_stream *stream)
{
	sampler->stream = stream->stream;
	sampler->state = stream->is_paused ? SAMPLER_PAUSED : SAMPLER_OPEN;
	sampler->rate = stream->rate;
	sampler->cycle = stream->cycle;
	sampler->row_phase = (uint32_t)(stream->row_phase % sampler->sampling->subsample);
	sampler->enabled = stream->enabled;
	sampler->complete = stream->complete;
	sampler->newest = stream->newest;
	sampler->silent_since = stream->silent_since;
	sampler->begin = sampler->end = sampler_latched(sampler);
	if (sampler->cycle.stride > 1)
		sampler_send_cycle(sampler);
}

/* Replaces the stream, because the earlier instance sampled with another rate. */
static int stream_change(struct sampler *sampler, const struct handed_stream *stream)
{
	close(stream->stream);
	sampler->enabled = stream->enabled;
	sampler->complete = stream->complete;
	sampler_stream_break(sampler, SAMPLER_BROKEN);
	return sampler_stream_replace(sampler, "the sampling rate changed");
}

int sampler_take_over(struct sampler *sampler, struct stream_handover *from)
{
	struct handed_stream stream;
	uint64_t now = sampler_now(sampler);
	bool is_handed = stream_handover_take(from, sampler->device->address, sampler->gt, &stream);
	int result = 0;

	sampler_begin_afresh(sampler, now);
	if (is_handed && rate_fits(sampler, &stream)) {
		stream_continue(sampler, &stream);
	} else if (is_handed) {
		result = stream_change(sampler, &stream);
	} else if (sampler->stream >= 0) {
		sampler_stream_resume(sampler);
	} else {
		sampler->state = SAMPLER_BROKEN;
		sampler->broken = now;
		result = sampler_stream_replace(sampler, "the stream was in use or broken");
	}
	sampler_send_rate(sampler);
	return result;
}
