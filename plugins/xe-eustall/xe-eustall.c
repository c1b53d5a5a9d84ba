/* SPDX-License-Identifier: Apache-2.0 */
/* xe-eustall: EU stall sampling on Intel GPUs (see README.md). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <iaprof/plugin.h>
#include "activity.h"
#include "device_check.h"
#include "sample_records.h"
#include "stream.h"
#include "xe-eustall.h"

static int xe_eustall_configure(const struct iaprof_host *host, void *instance)
{
	struct xe_eustall *self = instance;

	if (rate_choice_parse(self->rate, &self->sampling.rate))
		return host->fail(host, EINVAL, "rate=%s: not a number of GPU cycles, auto or slowest", self->rate);
	if (rate_budget_parse(self->budget, &self->sampling.budget))
		return host->fail(host, EINVAL,
				  "budget=%s: not a share of one CPU (above 0%% and up to 100%%, such as 0.5%%)",
				  self->budget);
	if (self->kernel && !self->ze_usdt)
		return host->fail(host, EINVAL,
				  "kernel=yes requires ze-usdt, which ze-usdt=no disables (use -s ze-usdt:kernel=yes)");
	return 0;
}

static int xe_eustall_probe(const struct iaprof_host *host, void *instance)
{
	const struct xe_eustall *self = instance;
	struct devices devices;

	int result = devices_open(&devices, host, self->device, IAPROF_LOG_DEBUG);
	if (result)
		return result;
	devices_close(&devices);
	return device_rights_check(host);
}

static void xe_eustall_check(const struct iaprof_host *host, void *instance)
{
	const struct xe_eustall *self = instance;

	devices_check(host, self->device);
}

/* Omits a GT. The failure of the first one is kept: it is the error if no GT can be sampled. */
static void omit_gt(struct xe_eustall *self, const char *text, char *problem, size_t size)
{
	if (!problem[0])
		snprintf(problem, size, "%s", text);
	else
		self->sampling.host->log(self->sampling.host, IAPROF_LOG_WARNING, "%s", text);
	self->left_out++;
}

static int continue_with_others(const struct xe_eustall *self, int error, const char *problem)
{
	const struct iaprof_host *host = self->sampling.host;

	if (!self->sampler_count)
		return host->fail(host, error, "%s", problem);
	if (problem[0])
		host->log(host, IAPROF_LOG_WARNING, "%s (the other GTs are sampled)", problem);
	return 0;
}

static int samplers_init(struct xe_eustall *self, const struct device *device)
{
	const struct iaprof_host *host = self->sampling.host;

	for (size_t i = 0; i < device->gts.count && self->sampler_count < SAMPLERS_MAX; i++) {
		const struct query_gt *gt = &device->gts.gts[i];
		char text[512];
		if (!gt->main || !gt->xe_cores)
			continue;
		uint32_t id = (uint32_t)self->sampler_count + 1;
		struct sampler *sampler = &self->samplers[self->sampler_count++];
		int result = sampler_init(sampler, &self->sampling, device, gt, id, text, sizeof text);
		if (result)
			return host->fail(host, result, "%s", text);
	}
	return 0;
}

static int samplers_make(struct xe_eustall *self)
{
	const struct iaprof_host *host = self->sampling.host;
	int result = 0;

	self->samplers = calloc(SAMPLERS_MAX, sizeof *self->samplers);
	if (!self->samplers)
		return host->fail(host, ENOMEM, "out of memory");
	for (size_t i = 0; !result && i < self->devices.count; i++)
		result = samplers_init(self, &self->devices.items[i]);
	return result;
}

/* Keeps the samplers for which a function returns 0, and omits others. A negative result ends the source. */
static int samplers_keep(struct xe_eustall *self, int (*call)(struct sampler *sampler, char *text, size_t size),
			 int error)
{
	size_t wanted = self->sampler_count, kept = 0;
	char problem[512] = "";
	int result = 0;

	for (size_t i = 0; i < wanted; i++) {
		char text[512];
		if (result >= 0)
			result = call(&self->samplers[i], text, sizeof text);
		if (result <= 0) {
			self->samplers[kept++] = self->samplers[i];
			continue;
		}
		omit_gt(self, text, problem, sizeof problem);
		sampler_free(&self->samplers[i]);
	}
	self->sampler_count = kept;
	return result < 0 ? result : continue_with_others(self, error, problem);
}

static int stream_open_of(struct sampler *sampler, char *text, size_t size)
{
	const struct iaprof_host *host = sampler->sampling->host;
	int result = sampler_open(sampler, text, size);

	/* All GTs would fail. */
	if (result == -EINVAL || result == -EACCES)
		return host->fail(host, result, "%s", text);
	return result != 0;
}

/*
 * Buffer for one read(): all ring buffers of the GT with the most Xe-cores. A smaller one would starve the last ring
 * buffers.
 */
static int rows_allocate(struct xe_eustall *self)
{
	for (size_t i = 0; i < self->sampler_count; i++) {
		const struct sampler *sampler = &self->samplers[i];
		size_t size = (size_t)sampler->device->eu_stall.buffer_size * sampler->xe_cores;
		if (size > self->sampling.rows_size)
			self->sampling.rows_size = size;
	}
	self->sampling.rows = aligned_alloc(ROW_SIZE, self->sampling.rows_size);
	return self->sampling.rows ? 0 : -ENOMEM;
}

static int xe_eustall_prepare(const struct iaprof_host *host, void *instance)
{
	struct xe_eustall *self = instance;

	self->sampling.host = host;
	self->sampling.devices = &self->devices;
	self->sampling.latch_age = stream_latch_age();
	int result = record_batch_init(&self->sampling.batch, host);
	if (!result)
		result = devices_open(&self->devices, host, self->device, IAPROF_LOG_WARNING);
	if (!result)
		result = samplers_make(self);
	if (result)
		return result;
	self->sampling.activity = activity_new(host, self->jobs);
	if (!self->sampling.activity || rows_allocate(self))
		return host->fail(host, ENOMEM, "out of memory");
	result = device_watchdog_init(&self->watchdog, self->devices.count);
	for (size_t i = 0; !result && i < self->devices.count; i++)
		self->watchdog.devices[i].address = self->devices.items[i].address;
	return result ? host->fail(host, result, "cannot track GPU use by process: %s", strerror(-result)) : 0;
}

static int activity_begin(struct xe_eustall *self)
{
	const struct iaprof_host *host = self->sampling.host;
	int result = 0;

	for (size_t i = 0; !result && i < self->sampler_count; i++)
		result = activity_add_device(self->sampling.activity, self->samplers[i].device->address,
					     self->samplers[i].record_id);
	if (result)
		return host->fail(host, result, "cannot track GPU use by process: %s", strerror(-result));
	return activity_start(self->sampling.activity);
}

/* Adapts the share of time that is sampled to the run's budget. */
static int follow_budget(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	struct xe_eustall *self = instance;

	(void)expirations;
	__atomic_store_n(&self->sampling.stride, host->sample_stride(host, DUTY_STRIDE_MAX), __ATOMIC_RELAXED);
	return 0;
}

static int xe_eustall_start(const struct iaprof_host *host, void *instance)
{
	struct xe_eustall *self = instance;

	int result = records_declare_reasons(&self->sampling.batch);
	if (result)
		return host->fail(host, result, "records: %s", strerror(-result));
	uint64_t begin = host->clock(host);
	self->drain_now = self->drain;
	if (self->sampling.subsample > 1)
		host->metadata(host, "rows that are taken",
			       "1 of %" PRIu64 "; the counts are of these, and not scaled up",
			       self->sampling.subsample);
	result = samplers_keep(self, stream_open_of, EBUSY);
	if (!result)
		result = activity_begin(self);
	if (!result)
		result = samplers_keep(self, sampler_start, EIO);
	if (result)
		return result;
	self->begin = begin;
	follow_budget(host, self, 0);
	result = host->on_timer(host, SECOND, follow_budget);
	return result ? host->fail(host, result, "cannot start a timer: %s", strerror(-result)) : 0;
}

static int read_last_rows(struct xe_eustall *self)
{
	const struct timespec latch = { .tv_nsec = (long)self->sampling.latch_age };
	int result = 0;

	/* The driver must latch the last rows first. */
	nanosleep(&latch, NULL);
	for (size_t i = 0; !result && i < self->sampler_count; i++)
		result = sampler_read(&self->samplers[i]);
	if (!result)
		result = sampling_thread_flush(self);
	return result ? result : sampling_thread_check_devices(self);
}

static int xe_eustall_stop(const struct iaprof_host *host, void *instance)
{
	struct xe_eustall *self = instance;

	if (!self->begin)
		return 0;
	int result = read_last_rows(self);
	if (!result)
		result = activity_stop(self->sampling.activity);
	for (size_t i = 0; i < self->sampler_count; i++) {
		int stopped = sampler_stop(&self->samplers[i]);
		result = result ? result : stopped;
	}
	for (size_t i = 0; i < self->left_out; i++)
		host->lost(host, "EU stalls: a GT could not be sampled", self->begin, IAPROF_COUNT_UNKNOWN, 0, 0);
	return result;
}

/* The profile is written, but marked as incomplete. */
static int xe_eustall_finish(const struct iaprof_host *host, void *instance)
{
	const struct xe_eustall *self = instance;

	for (size_t i = 0; i < self->sampler_count; i++)
		if (self->samplers[i].state == SAMPLER_GONE)
			return host->fail(host, ENODEV, "%s at %s was removed before the end of the run",
					  self->samplers[i].name, self->samplers[i].device->address);
	return 0;
}

static void xe_eustall_destroy(const struct iaprof_host *host, void *instance)
{
	struct xe_eustall *self = instance;

	(void)host;
	for (size_t i = 0; i < self->sampler_count; i++)
		sampler_free(&self->samplers[i]);
	free(self->samplers);
	device_watchdog_free(&self->watchdog);
	activity_free(self->sampling.activity);
	free(self->sampling.rows);
	devices_close(&self->devices);
	record_batch_free(&self->sampling.batch);
}

#define OPTION(...) IAPROF_OPTION(struct xe_eustall, __VA_ARGS__)

static const struct iaprof_option options[] = {
	OPTION(device, STRING, "device", NULL,
	       "GPU to sample, as a PCI address or the path of a DRM node; by default, all GPUs of the xe driver that "
	       "support EU stall sampling"),
	OPTION(rate, STRING, "rate", "slowest",
	       "Sampling period in GPU cycles, which the GPU must support; or slowest; or auto, which starts "
	       "with "
	       "the slowest rate and raises it while no buffer overflows and budget= is not exceeded"),
	OPTION(budget, STRING, "budget", "1%",
	       "With rate=auto, the maximum share of one CPU for reading the samples of each GT, such as 0.1%"),
	OPTION(sampling.subsample, UINT, "subsample", "1", "Read only every Nth sample row; counts are not scaled up",
	       .minimum = 1, .maximum = 1000000, .alias = "eu-stall-subsample"),
	OPTION(drain, DURATION, "drain", "100ms",
	       "Aggregation interval of samples with the same address; at most 10 ms while several processes use the "
	       "GPU",
	       .minimum = MILLISECOND, .maximum = SECOND),
	OPTION(jobs, BOOL, "jobs", "yes",
	       "Record each job of the GPU's compute and render engines, with the times of its submission, start and "
	       "end"),
	OPTION(ze_usdt, BOOL, "ze-usdt", "yes", "Also run ze-usdt, which supplies the GPU code"),
	OPTION(kernel, BOOL, "kernel", "no", "Let ze-usdt record the Linux kernel stack of each launch"),
};

static const char *const companions[] = { "ze-usdt", NULL };

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.probe = xe_eustall_probe,
	.prepare = xe_eustall_prepare,
	.start = xe_eustall_start,
	.stop = xe_eustall_stop,
	.thread = sampling_thread_run,
	.finish = xe_eustall_finish,
	.companions = companions,
	.check = xe_eustall_check,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES | IAPROF_PLUGIN_JOBS,
	.name = "xe-eustall",
	.version = PLUGIN_VERSION,
	.description = "EU stall sampling on Intel Xe GPUs",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct xe_eustall),
	.source = &operations,
	.configure = xe_eustall_configure,
	.destroy = xe_eustall_destroy,
};

IAPROF_REGISTER_PLUGIN(plugin)
