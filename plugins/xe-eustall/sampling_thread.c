/* SPDX-License-Identifier: Apache-2.0 */
/* The source's thread: reads rows, ends intervals, and supervises streams and rates. See xe-eustall.h. */
#include <errno.h>
#include <poll.h>
#include <time.h>
#include "activity.h"
#include "xe-eustall.h"

/* Interval while several processes use the GPU: a shorter one improves the attribution of samples. */
#define SHARED_DRAIN (10 * MILLISECOND)
/* How often the thread must check whether to stop. */
#define WAIT_MAX (100 * MILLISECOND)

static void pause_shortly(void)
{
	const struct timespec pause = { .tv_nsec = 5 * (long)MILLISECOND };

	nanosleep(&pause, NULL);
}

int sampling_thread_flush(struct xe_eustall *self)
{
	uint64_t begin = UINT64_MAX, end = 0;
	int result = 0;

	for (size_t i = 0; i < self->sampler_count; i++) {
		const struct sampler *sampler = &self->samplers[i];
		if (!sampler->fold.count)
			continue;
		begin = sampler->begin < begin ? sampler->begin : begin;
		end = sampler->end > end ? sampler->end : end;
	}
	if (begin < end)
		result = activity_emit(self->sampling.activity, begin, end);
	else
		result = activity_record_idle(self->sampling.activity);
	self->drain_now = result > 1 && self->drain > SHARED_DRAIN ? SHARED_DRAIN : self->drain;
	if (result > 0)
		result = 0;
	for (size_t i = 0; !result && i < self->sampler_count; i++)
		result = sampler_flush(&self->samplers[i]);
	return result;
}

/* Restarts GTs that may be dead while another GT of the same device is not. */
static int watch_gts(struct xe_eustall *self, const struct device *device)
{
	size_t active = 0;
	int result = 0;

	for (size_t i = 0; i < self->sampler_count; i++)
		active +=
			self->samplers[i].device == device && self->samplers[i].rows != self->samplers[i].watchdog.rows;
	for (size_t i = 0; !result && i < self->sampler_count; i++) {
		struct sampler *sampler = &self->samplers[i];
		if (sampler->device == device && gt_watchdog_check(&sampler->watchdog, sampler->rows, active > 0))
			result = sampler_restart_quietly(sampler);
	}
	return result;
}

/* Restarts dead streams. */
static int watch(struct xe_eustall *self, uint64_t now)
{
	int result = 0;

	for (size_t i = 0; i < self->devices.count; i++) {
		uint64_t rows = 0;
		for (size_t k = 0; k < self->sampler_count; k++)
			if (self->samplers[k].device == &self->devices.items[i])
				rows += self->samplers[k].rows;
		device_watchdog_rows(&self->watchdog, i, rows,
				     activity_used(self->sampling.activity, self->watchdog.devices[i].address));
	}
	device_watchdog_check(&self->watchdog, now);
	for (size_t i = 0; !result && i < self->devices.count; i++) {
		result = watch_gts(self, &self->devices.items[i]);
		if (!device_watchdog_is_dead(&self->watchdog, i))
			continue;
		for (size_t k = 0; !result && k < self->sampler_count; k++)
			if (self->samplers[k].device == &self->devices.items[i])
				result = sampler_restart(&self->samplers[k],
							 "no rows though the GPU is busy, as after a reset");
	}
	return result;
}

int sampling_thread_check_devices(struct xe_eustall *self)
{
	int result = 0;

	for (size_t i = 0; i < self->devices.count; i++) {
		const struct device *device = &self->devices.items[i];
		if (!device_is_gone(device))
			continue;
		for (size_t k = 0; !result && k < self->sampler_count; k++)
			if (self->samplers[k].device == device && self->samplers[k].state != SAMPLER_GONE)
				result = sampler_lose_device(&self->samplers[k]);
	}
	return result;
}

static int turn(struct xe_eustall *self, uint64_t now)
{
	int result = sampling_thread_check_devices(self);

	if (!result)
		result = watch(self, now);
	self->turn = now;
	for (size_t i = 0; !result && i < self->sampler_count; i++)
		result = sampler_turn(&self->samplers[i], now);
	return result;
}

static bool all_gone(const struct xe_eustall *self)
{
	for (size_t i = 0; i < self->sampler_count; i++)
		if (self->samplers[i].state != SAMPLER_GONE)
			return false;
	return true;
}

/* Waits for rows, at most until time. Returns whether a stream is readable. */
static bool wait_for_rows(struct xe_eustall *self, uint64_t now, uint64_t time)
{
	struct pollfd streams[SAMPLERS_MAX];
	uint64_t wait = time > now ? time - now : 0;

	for (size_t i = 0; i < self->sampler_count; i++)
		streams[i] =
			(struct pollfd){ .fd = self->samplers[i].state == SAMPLER_OPEN ? self->samplers[i].stream : -1,
					 .events = POLLIN };
	if (wait > WAIT_MAX)
		wait = WAIT_MAX;
	return poll(streams, self->sampler_count, (int)((wait + MILLISECOND - 1) / MILLISECOND)) > 0;
}

/* Returns the time at which a window of sampling begins or ends, if that is before time. */
static uint64_t next_change(const struct xe_eustall *self, uint64_t time)
{
	for (size_t i = 0; i < self->sampler_count; i++)
		if (self->samplers[i].cycle.change < time &&
		    (self->samplers[i].state == SAMPLER_OPEN || self->samplers[i].state == SAMPLER_PAUSED))
			time = self->samplers[i].cycle.change;
	return time;
}

static uint64_t rows_read(const struct xe_eustall *self)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < self->sampler_count; i++)
		rows += self->samplers[i].rows;
	return rows;
}

int sampling_thread_run(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	struct xe_eustall *self = instance;
	uint64_t now = host->clock(host), flushed = now;
	int result = 0;

	self->turn = now;
	while (!result && !__atomic_load_n(stopping, __ATOMIC_ACQUIRE)) {
		uint64_t next_flush = flushed + self->drain_now, next_turn = self->turn + SECOND;
		bool ready =
			wait_for_rows(self, now, next_change(self, next_flush < next_turn ? next_flush : next_turn));
		uint64_t rows = rows_read(self);
		self->sampling.open = 0;
		for (size_t i = 0; i < self->sampler_count; i++)
			self->sampling.open += self->samplers[i].state == SAMPLER_OPEN;
		for (size_t i = 0; !result && i < self->sampler_count; i++)
			result = sampler_read(&self->samplers[i]);
		/* Do not spin on a stream that is readable but delivers no rows: the device may be going away. */
		if (ready && rows_read(self) == rows)
			pause_shortly();
		now = host->clock(host);
		for (size_t i = 0; !result && i < self->sampler_count; i++)
			result = sampler_follow_cycle(&self->samplers[i], now);
		if (!result && now >= next_flush) {
			flushed = now;
			result = sampling_thread_flush(self);
		}
		if (!result && now >= next_turn)
			result = turn(self, now);
		if (!result && all_gone(self))
			return host->fail(host, ENODEV, "all sampled GPUs were removed");
	}
	return result;
}
