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

/* Opens the streams of a device's GTs. *problem is unchanged on success. */
static int streams_open(struct xe_eustall *self, const struct device *device, char *problem, size_t size)
{
	for (size_t i = 0; i < device->gts.count && self->sampler_count < SAMPLERS_MAX; i++) {
		const struct query_gt *gt = &device->gts.gts[i];
		char text[512];
		if (!gt->main || !gt->xe_cores)
			continue;
		int result = sampler_open(&self->samplers[self->sampler_count], &self->sampling, device, gt,
					  (uint32_t)self->sampler_count + 1, self->from, text, sizeof text);
		if (!result) {
			self->sampler_count++;
			continue;
		}
		omit_gt(self, text, problem, size);
		if (result == -EINVAL || result == -EACCES) /* all GTs would fail */
			return result;
	}
	return 0;
}

static int samplers_open(struct xe_eustall *self)
{
	const struct iaprof_host *host = self->sampling.host;
	char problem[512] = "";
	int result = 0;

	self->samplers = calloc(SAMPLERS_MAX, sizeof *self->samplers);
	if (!self->samplers)
		return host->fail(host, ENOMEM, "out of memory");
	for (size_t i = 0; !result && i < self->devices.count; i++)
		result = streams_open(self, &self->devices.items[i], problem, sizeof problem);
	return result ? host->fail(host, result, "%s", problem) : continue_with_others(self, EBUSY, problem);
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

static int xe_eustall_inherit(const struct iaprof_host *host, void *instance, void *earlier_instance)
{
	struct xe_eustall *self = instance;
	const struct xe_eustall *earlier = earlier_instance;

	(void)host;
	self->from = stream_handover_attach(earlier->to);
	return 0;
}

static int xe_eustall_prepare(const struct iaprof_host *host, void *instance)
{
	struct xe_eustall *self = instance;

	self->sampling.host = host;
	self->sampling.devices = &self->devices;
	self->sampling.latch_age = stream_latch_age();
	self->limit_end = UINT64_MAX;
	self->to = stream_handover_new();
	if (!self->to)
		return host->fail(host, ENOMEM, "out of memory");
	int result = record_batch_init(&self->sampling.batch, host);
	if (!result)
		result = devices_open(&self->devices, host, self->device, IAPROF_LOG_WARNING);
	if (!result)
		result = samplers_open(self);
	if (result)
		return result;
	self->sampling.activity = activity_new(host, self->jobs);
	if (!self->sampling.activity || rows_allocate(self))
		return host->fail(host, ENOMEM, "out of memory");
	for (size_t i = 0; !result && i < self->sampler_count; i++)
		result = activity_add_device(self->sampling.activity, self->samplers[i].device->address,
					     self->samplers[i].record_id);
	if (!result)
		result = device_watchdog_init(&self->watchdog, self->devices.count);
	for (size_t i = 0; !result && i < self->devices.count; i++)
		self->watchdog.devices[i].address = self->devices.items[i].address;
	return result ? host->fail(host, result, "cannot track GPU use by process: %s", strerror(-result)) : 0;
}

/* Omits a GT that cannot be started, unless it is the only one. */
static int samplers_start(struct xe_eustall *self)
{
	size_t wanted = self->sampler_count, started = 0;
	char problem[512] = "";
	int result = 0;

	for (size_t i = 0; i < wanted; i++) {
		char text[512];
		if (result >= 0)
			result = sampler_start(&self->samplers[i], self->from != NULL, text, sizeof text);
		if (result <= 0) {
			self->samplers[started++] = self->samplers[i];
			continue;
		}
		omit_gt(self, text, problem, sizeof problem);
		sampler_free(&self->samplers[i]);
	}
	self->sampler_count = started;
	for (size_t i = 0; result >= 0 && i < started; i++)
		(void)stream_handover_add(self->to, self->samplers[i].device->address, self->samplers[i].gt);
	return result < 0 ? result : continue_with_others(self, EIO, problem);
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
	self->begin = host->clock(host);
	self->drain_now = self->drain;
	if (self->sampling.subsample > 1)
		host->metadata(host, "rows that are taken",
			       "1 of %" PRIu64 "; the counts are of these, and not scaled up",
			       self->sampling.subsample);
	result = activity_start(self->sampling.activity);
	if (self->from)
		stream_handover_begin(self->from, host->clock(host));
	if (!result)
		result = samplers_start(self);
	if (result)
		return result;
	follow_budget(host, self, 0);
	result = host->on_timer(host, SECOND, follow_budget);
	return result ? host->fail(host, result, "cannot start a timer: %s", strerror(-result)) : 0;
}

static int xe_eustall_limit(const struct iaprof_host *host, void *instance, uint64_t begin, uint64_t end)
{
	struct xe_eustall *self = instance;

	(void)host;
	activity_limit(self->sampling.activity, begin, end, stream_handover_since(self->to));
	__atomic_store_n(&self->limit_begin, begin, __ATOMIC_SEQ_CST);
	__atomic_store_n(&self->limit_end, end, __ATOMIC_SEQ_CST);
	return 0;
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
	int result = 0;

	stream_handover_detach(self->from);
	self->from = NULL;
	if (!self->begin)
		return 0;
	/* The thread may have ended too early. */
	if (!self->has_handed_over)
		result = self->limit_end == UINT64_MAX ? read_last_rows(self) : sampling_thread_hand_over(self);
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
	stream_handover_detach(self->from);
	stream_handover_free(self->to);
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

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES | IAPROF_PLUGIN_JOBS | IAPROF_PLUGIN_EXCLUSIVE,
	.name = "xe-eustall",
	.version = PLUGIN_VERSION,
	.description = "EU stall sampling on Intel Xe GPUs",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct xe_eustall),
	.configure = xe_eustall_configure,
	.destroy = xe_eustall_destroy,
	.probe = xe_eustall_probe,
	.prepare = xe_eustall_prepare,
	.start = xe_eustall_start,
	.stop = xe_eustall_stop,
	.thread = sampling_thread_run,
	.finish = xe_eustall_finish,
	.companions = companions,
	.check = xe_eustall_check,
	.limit = xe_eustall_limit,
	.inherit = xe_eustall_inherit,
};

IAPROF_REGISTER_PLUGIN(plugin)
