/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink profile-delay: how long after the end of their interval stall samples were in the profile, from the
 * PROFILE_VALUE records that contain it. Prints a line with the mean, weighted by samples, and the longest.
 */
#include <stdio.h>
#include <iaprof/plugin.h>

struct profile_delay {
	uint64_t values, samples, longest;
	double sum; /* of nanoseconds times samples */
};

static int delay_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct profile_delay *delay = instance;
	uint64_t now = host->clock(host);
	for (const struct iaprof_record *record = batch->count ? batch->records : NULL; record;
	     record = iaprof_batch_next(batch, record)) {
		if (record->type != IAPROF_RECORD_PROFILE_VALUE || record->time > now)
			continue;
		const struct iaprof_record_profile_value *value = (const void *)record;
		uint64_t nanoseconds = now - record->time;
		delay->values++;
		delay->samples += value->count;
		delay->sum += (double)nanoseconds * (double)value->count;
		delay->longest = nanoseconds > delay->longest ? nanoseconds : delay->longest;
	}
	return 0;
}

static int delay_finish(const struct iaprof_host *host, void *instance)
{
	const struct profile_delay *delay = instance;
	printf("profile-delay: %llu values, %llu samples, mean %.1f ms, longest %.1f ms\n",
	       (unsigned long long)delay->values, (unsigned long long)delay->samples,
	       delay->samples ? delay->sum / (double)delay->samples / 1e6 : 0.0, (double)delay->longest / 1e6);
	return 0;
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.finish = delay_finish,
	.records = delay_records,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_NO_OUTPUT,
	.name = "profile-delay",
	.description = "how late stall samples come into the profile",
	.instance_size = sizeof(struct profile_delay),
	.sink = &operations,
};

IAPROF_REGISTER_PLUGIN(plugin)
