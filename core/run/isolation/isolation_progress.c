/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on a call of an isolated sink: see isolation_state.h. profile() and finish() may last as long as they
 * progress, which is writing or computing in proportion to the data that the sink has received: one that computes or
 * writes without end is ended as soon as one that sleeps. Run delay does not count.
 */
#include "base/saturating.h"
#include "run/isolation/isolation_state.h"

/* Longest time of a profile() or finish() that progresses slowly, ns. */
#define LONG_CALL_TIME (600 * NANOSECONDS_PER_SECOND)
/* CPU time without writing, ns per received byte: compression to the smallest size takes a tenth. */
#define COMPUTING_PER_BYTE 1000
/* Output of a call that counts as progress: a page has a program; a stack as text repeats the names of its frames. */
#define OUTPUT_LEAST ((uint64_t)64 << 20)
#define OUTPUT_PER_BYTE 256
/* Charge for a request, in bytes of output, so that requests that write nothing do not count as endless progress. */
#define REQUEST_CHARGE 1024
/* Duration from which a request does not count as time of the sink, ns: that of a write to a slow reader. */
#define SLOW_REQUEST (NANOSECONDS_PER_SECOND / 100)

/* Returns a deadline that never passes, and measures time without run delay of the process. */
static struct deadline begin_measuring(struct sink_progress *progress)
{
	return deadline_make_with(&progress->delay, &progress->helper, UINT64_MAX);
}

static void note_activity(struct isolation *isolation)
{
	struct sink_progress *progress = &isolation->sink.progress;
	progress->active = begin_measuring(progress);
	progress->active_cpu = isolation_cost(isolation);
	progress->active_output = progress->output;
}

void isolation_progress_begin(struct isolation *isolation)
{
	struct sink_progress *progress = &isolation->sink.progress;
	progress->served = progress->output = 0;
	progress->begin = begin_measuring(progress);
	note_activity(isolation);
}

void isolation_progress_note(struct isolation *isolation, int result, size_t written, uint64_t took)
{
	struct sink_progress *progress = &isolation->sink.progress;
	progress->served += took >= SLOW_REQUEST ? took : 0;
	/* A sink that goes on after a failure makes no progress. */
	if (result >= 0)
		progress->output += written + REQUEST_CHARGE;
}

/*
 * Returns how long profile() and finish() may neither write nor compute, in ns: what a sink in this process may at the
 * end of a run, and longer before it.
 */
static uint64_t patience_of(const struct instance *instance)
{
	const struct instance_services *services = instance->services;
	uint64_t finish_within = services->target.finish_within;
	bool is_ended = services->write_by && services->write_by(services->context, 0) != UINT64_MAX;
	if (finish_within && (is_ended || finish_within > CALLBACK_TIME))
		return finish_within;
	return CALLBACK_TIME;
}

uint64_t isolation_progress_is_over(struct isolation *isolation, enum isolated_callback callback)
{
	struct sink_progress *progress = &isolation->sink.progress;
	bool is_long = callback == ISOLATED_PROFILE || callback == ISOLATED_FINISH;
	uint64_t limit = is_long ? LONG_CALL_TIME : CALLBACK_TIME;
	if (deadline_spent(&progress->begin) >= saturating_add(limit, progress->served))
		return limit;
	if (!is_long)
		return 0;
	uint64_t most = saturating_add(OUTPUT_LEAST, saturating_multiply(progress->received, OUTPUT_PER_BYTE));
	if (progress->output != progress->active_output && progress->output <= most)
		note_activity(isolation);
	uint64_t quiet = deadline_spent(&progress->active), patience = patience_of(isolation->instance);
	if (quiet < patience)
		return 0;
	uint64_t computed = isolation_cost(isolation) - progress->active_cpu;
	uint64_t longest = saturating_add(patience < CALLBACK_TIME ? CALLBACK_TIME - patience : 0,
					  saturating_multiply(progress->received, COMPUTING_PER_BYTE));
	return quiet >= saturating_add(patience, computed < longest ? computed : longest) ? quiet : 0;
}
