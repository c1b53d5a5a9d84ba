/* SPDX-License-Identifier: Apache-2.0 */
/* See sampler.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "activity.h"
#include "base/clock.h"
#include "sample_records.h"
#include "sampler.h"
#include "sampler_stream.h"
#include "stream.h"

/* Overflows less than this apart are reported together. */
#define STRETCH_GAP UINT64_C(10000000000) /* ns */
/* Maximum number of reads per turn, so that other GTs get theirs; each can empty all ring buffers. */
#define READS_PER_TURN 16u

int sampler_init(struct sampler *sampler, struct sampling *sampling, const struct device *device,
		 const struct query_gt *gt, uint32_t record_id, char *problem, size_t problem_size)
{
	*sampler = (struct sampler){ .sampling = sampling,
				     .device = device,
				     .gt = gt->id,
				     .xe_cores = gt->xe_cores,
				     .record_id = record_id,
				     .stream = -1 };
	snprintf(sampler->name, sizeof sampler->name, "%s GT %u", device->name, gt->id);
	device_label(sampling->devices, device, gt->id, sampler->label, sizeof sampler->label);
	int position = rate_choice_find(&sampling->rate, &device->eu_stall);
	if (position < 0) {
		char rates[256];
		rate_list_format(&device->eu_stall, rates, sizeof rates);
		snprintf(problem, problem_size, "rate=%" PRIu32 ": %s supports sampling periods of %s GPU cycles",
			 sampling->rate.cycles, sampler->label, rates);
		return -EINVAL;
	}
	sampler->rate.position = (size_t)position;
	int result = fold_init(&sampler->fold, device->layout, FOLD_SLOTS_MAX);
	if (result)
		snprintf(problem, problem_size, "%s: %s", sampler->label, strerror(-result));
	return result;
}

int sampler_open(struct sampler *sampler, char *problem, size_t problem_size)
{
	int result = sampler_stream_open(sampler);

	if (result)
		sampler_stream_describe(sampler, result, problem, problem_size);
	return result;
}

int sampler_start(struct sampler *sampler, char *problem, size_t problem_size)
{
	const struct iaprof_host *host = sampler->sampling->host;
	char key[200];

	int result = records_declare_device(&sampler->sampling->batch, sampler);
	if (!result)
		result = record_batch_flush(&sampler->sampling->batch);
	if (result)
		return host->fail(host, result, "%s: records: %s", sampler->label, strerror(-result));
	result = stream_enable(sampler->stream);
	if (result) {
		snprintf(problem, problem_size, "%s at %s: cannot start EU stall sampling: %s", sampler->name,
			 sampler->device->address, strerror(-result));
		return 1;
	}
	uint64_t now = sampler_now(sampler);
	sampler_begin(sampler, now);
	rate_control_init(&sampler->rate, sampler->rate.position, now);
	duty_cycle_begin(&sampler->cycle, 1, now);
	sampler->turned = now;
	host->metadata(host, sampler->label, "at %s, %" PRIu32 " Xe-cores, %s rows", sampler->device->address,
		       sampler->xe_cores, sampler->device->layout->name);
	sampler_send_rate(sampler);
	snprintf(key, sizeof key, "idle state of %s", sampler->label);
	host->metadata(host, key, "RC6 is off while EU stalls are sampled: the GT stays awake and draws more power");
	return 0;
}

static int stretch_end(struct sampler *sampler)
{
	int result = sampler->stretch.count ? records_add_overflow_finding(&sampler->sampling->batch, sampler) : 0;

	sampler->stretch = (struct overflow_stretch){ 0 };
	return result;
}

static void overflow_note(struct sampler *sampler)
{
	const struct iaprof_host *host = sampler->sampling->host;
	uint64_t now = sampler_now(sampler);

	if (!sampler->stretch.count++)
		sampler->stretch.begin = now;
	sampler->stretch.last = now;
	if (sampler->stretch.position < sampler->rate.position)
		sampler->stretch.position = sampler->rate.position;
	sampler->overflows++;
	sampler->overflowed = true;
	host->lost(host, "EU stall rows: the GPU's buffer overflowed", sampler_latched(sampler), IAPROF_COUNT_UNKNOWN,
		   0, 0);
}

/* Adds rows to the fold, all of them or every Nth. */
static int rows_take(struct sampler *sampler, size_t count)
{
	const unsigned char *rows = sampler->sampling->rows;
	size_t step = (size_t)sampler->sampling->subsample;
	size_t next = sampler->row_phase;

	sampler->rows += count;
	if (sampler->silent_since && count)
		sampler_stream_revived(sampler);
	while (next < count) {
		size_t wanted = (count - next + step - 1) / step;
		size_t taken = fold_rows(&sampler->fold, rows + next * ROW_SIZE, wanted, step);
		next += taken * step;
		if (taken == wanted)
			break;
		/* More addresses than fit: the interval ends early. */
		int result = sampler_end_interval(sampler);
		if (result)
			return result;
	}
	sampler->row_phase = (uint32_t)(next - count);
	return 0;
}

static int rows_read(struct sampler *sampler)
{
	for (unsigned reads = 0; sampler->state == SAMPLER_OPEN && reads < READS_PER_TURN; reads++) {
		uint64_t polled = activity_polled(sampler->sampling->activity, sampler->sampling->open);
		uint64_t before = sampler_now(sampler);
		ssize_t size = read(sampler->stream, sampler->sampling->rows, sampler->sampling->rows_size);
		int result = 0;

		if (size > 0) {
			sampler->end = sampler->newest = sampler_now(sampler);
			result = rows_take(sampler, (size_t)size / ROW_SIZE);
		} else if (size == 0 || errno == EAGAIN) {
			sampler->complete = before;
			sampler->polled = polled;
			return 0;
		} else if (errno == EIO) {
			overflow_note(sampler); /* the next read returns the available rows */
		} else if (errno == ENODEV) {
			return sampler_stream_restart(sampler, "the GPU was reset", sampler_latched(sampler));
		} else if (errno != EINTR) {
			char reason[128];
			snprintf(reason, sizeof reason, "reading failed: %s", strerror(errno));
			return sampler_stream_restart(sampler, reason, sampler_latched(sampler));
		}
		if (result)
			return result;
	}
	return 0;
}

int sampler_read(struct sampler *sampler)
{
	if (!sampler->sampling->rate.automatic)
		return rows_read(sampler);
	/* Measures only the time spent reading, because the rate does not change the thread's other work. */
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	int result = rows_read(sampler);
	sampler->read_time += clock_read(CLOCK_THREAD_CPUTIME_ID) - begin;
	return result;
}

int sampler_flush(struct sampler *sampler)
{
	struct record_batch *batch = &sampler->sampling->batch;
	int result = 0;

	if (sampler->fold.count) {
		result = records_add_samples(batch, sampler);
		fold_clear(&sampler->fold);
	}
	if (!result && (sampler->rows != sampler->rows_reported || sampler->overflows != sampler->overflows_reported)) {
		sampler->rows_reported = sampler->rows;
		sampler->overflows_reported = sampler->overflows;
		result = records_set_counters(batch, sampler, sampler_now(sampler));
	}
	if (!result)
		result = record_batch_flush(batch);
	sampler->begin = sampler_latched(sampler);
	return result ? sampler->sampling->host->fail(sampler->sampling->host, result, "%s: records: %s",
						      sampler->label, strerror(-result))
		      : 0;
}

int sampler_end_interval(struct sampler *sampler)
{
	int result = 0;

	if (sampler->fold.count && sampler->begin < sampler->end)
		result = activity_emit(sampler->sampling->activity, sampler->begin, sampler->end);
	return result < 0 ? result : sampler_flush(sampler);
}

/* Another rate requires another stream. Rows read so far count; rows until the new stream starts are lost. */
static int rate_change(struct sampler *sampler, size_t position)
{
	const struct iaprof_host *host = sampler->sampling->host;
	uint32_t before = sampler_cycles(sampler);

	int result = sampler_read(sampler);
	if (!result)
		result = sampler_end_interval(sampler);
	if (result || sampler->state != SAMPLER_OPEN)
		return result;
	sampler_stream_break(sampler, SAMPLER_BROKEN);
	sampler->rate.position = position;
	result = sampler_stream_replace(sampler, "the sampling rate changed");
	if (sampler->state == SAMPLER_OPEN)
		host->log(host, IAPROF_LOG_INFO, "%s: samples every %" PRIu32 " GPU cycles instead of %" PRIu32,
			  sampler->label, sampler_cycles(sampler), before);
	sampler_send_rate(sampler);
	return result;
}

static void window_begin(struct sampler *sampler, uint32_t stride, uint64_t now)
{
	uint32_t before = sampler->cycle.stride;

	duty_cycle_begin(&sampler->cycle, stride, now);
	if (sampler->cycle.stride != before)
		sampler_send_cycle(sampler);
}

/* The time that was sampled ends, on average, halfway between two times at which the driver makes rows available. */
static uint64_t window_length(const struct sampler *sampler)
{
	uint64_t begin = sampler->cycle.begin > sampler->enabled ? sampler->cycle.begin : sampler->enabled;
	uint64_t end = sampler->complete - sampler->sampling->latch_age / 2;

	return end > begin && end < sampler->complete ? end - begin : 0;
}

int sampler_follow_cycle(struct sampler *sampler, uint64_t now)
{
	uint32_t stride = __atomic_load_n(&sampler->sampling->stride, __ATOMIC_RELAXED), random;

	if (sampler->state == SAMPLER_PAUSED && now >= sampler->cycle.change) {
		sampler_stream_resume(sampler);
		window_begin(sampler, stride, now);
		return 0;
	}
	bool is_first = sampler->cycle.stride == 1 && stride > 1;
	if (sampler->state != SAMPLER_OPEN || (now < sampler->cycle.change && !is_first))
		return 0;
	int result = sampler_read(sampler);
	if (!result)
		result = sampler_end_interval(sampler);
	if (result || sampler->state != SAMPLER_OPEN)
		return result;
	if (is_first) {
		window_begin(sampler, stride, now);
		return 0;
	}
	if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
		random = UINT32_MAX / 2;
	duty_cycle_pause(&sampler->cycle, window_length(sampler), random, now);
	sampler_stream_pause(sampler);
	return 0;
}

int sampler_turn(struct sampler *sampler, uint64_t now)
{
	struct sampling *sampling = sampler->sampling;
	double share = now > sampler->turned ? (double)sampler->read_time / (double)(now - sampler->turned) : 0;

	sampler->turned = now;
	sampler->read_time = 0;
	if (sampler->stretch.count && now - sampler->stretch.last >= STRETCH_GAP) {
		int result = stretch_end(sampler);
		if (result)
			return result;
	}
	if (sampler->state == SAMPLER_BROKEN)
		return sampler_stream_replace(sampler, "the stream broke");
	if (sampler->state != SAMPLER_OPEN || !sampling->rate.automatic)
		return 0;
	struct rate_control next = sampler->rate;
	/* No faster rate while the run exceeds its budget. */
	rate_control_next(&next, &sampler->device->eu_stall, now, sampler->overflowed, share,
			  sampler->cycle.stride > 1 ? -1 : sampling->budget);
	sampler->overflowed = false;
	size_t position = next.position;
	next.position = sampler->rate.position; /* until the change is made */
	sampler->rate = next;
	return position == sampler->rate.position ? 0 : rate_change(sampler, position);
}

int sampler_stop(struct sampler *sampler)
{
	int result = sampler_read(sampler);
	int flushed = sampler_end_interval(sampler);
	char key[200];

	if (sampler->state == SAMPLER_BROKEN)
		sampler_stream_report_lost(sampler, "the stream broke", sampler->broken);
	if (!result)
		result = flushed;
	if (!result)
		result = stretch_end(sampler);
	if (!result)
		result = record_batch_flush(&sampler->sampling->batch);
	if (sampler->fold.saturated) {
		snprintf(key, sizeof key, "full counters of %s", sampler->label);
		sampler->sampling->host->metadata(sampler->sampling->host, key,
						  "%" PRIu64 " saturated (255): they may have missed samples",
						  sampler->fold.saturated);
	}
	/* Unread rows are lost after this. */
	if (sampler->state == SAMPLER_OPEN)
		(void)stream_disable(sampler->stream);
	sampler_stream_close(sampler);
	if (sampler->state == SAMPLER_OPEN || sampler->state == SAMPLER_PAUSED)
		sampler->state = SAMPLER_CLOSED;
	return result;
}

void sampler_free(struct sampler *sampler)
{
	sampler_stream_close(sampler);
	fold_free(&sampler->fold);
}
