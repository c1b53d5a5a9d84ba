/* SPDX-License-Identifier: Apache-2.0 */
/* See times.h. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "base/hash.h"
#include "probes.h"
#include "recordings.h"
#include "times.h"

/* The newest time of a site waits so long for the launches that it represents: less than the core waits for it. */
#define HOLD UINT64_C(300000000) /* ns */

/* A launch whose end was not reported after that time is forgotten when there are too many. */
#define FORGET UINT64_C(10000000000) /* ns */

void times_free(struct times *times)
{
	keyed_array_free(&times->sites);
	keyed_array_free(&times->launches);
	array_free(&times->ends);
}

static uint64_t site_key(const struct ze_launch_key *key)
{
	struct ze_launch_key site = *key;
	site.cell = 0;
	uint64_t hash = hash_bytes(&site, sizeof site);
	return hash ? hash : 1;
}

uint64_t times_add_launches(struct times *times, const struct ze_launch_key *key, uint32_t kernel, uint64_t count)
{
	struct timed_site added = {
		.key = site_key(key), .process = key->process, .kernel = kernel, .thread = key->thread
	};
	if (!times->is_on)
		return 0;
	times->launched += count;
	memcpy(added.thread_name, key->thread_name, sizeof added.thread_name);
	uint32_t position = keyed_array_find(&times->sites, &added.key);
	if (position == POSITION_NONE && times->sites.count < TIMED_SITES_MAX)
		position = keyed_array_add(&times->sites, &added);
	if (position == POSITION_NONE)
		return 0;
	times->sites.items[position].waiting += count;
	return added.key;
}

/* Forgets launches whose end was not reported. */
static void room_make(struct times *times, uint64_t now)
{
	for (size_t i = times->launches.count; i-- > 0;)
		if (times->launches.items[i].counted + FORGET < now) {
			keyed_array_remove(&times->launches, (uint32_t)i);
			times->dropped++;
		}
}

static void take_unread(struct times *times, const struct ze_time *event)
{
	const struct launch_being_timed wanted = { .key = { event->process, event->number } };
	uint32_t position = keyed_array_find(&times->launches, &wanted.key);
	if (position != POSITION_NONE)
		keyed_array_remove(&times->launches, position);
	times->unread++;
}

void times_take(struct times *times, const struct ze_time *event, size_t size)
{
	bool taken = false;
	if (event->type == ZE_TIMED_LAUNCH && size >= sizeof(struct ze_timed_launch)) {
		const struct ze_timed_launch *launch = (const void *)event;
		struct launch_being_timed added = { .key = { event->process, event->number },
						    .site = site_key(&launch->key),
						    .counted = event->begin };
		if (times->launches.count == TIMED_LAUNCHES_MAX)
			room_make(times, event->begin);
		taken = times->launches.count < TIMED_LAUNCHES_MAX &&
			keyed_array_add(&times->launches, &added) != POSITION_NONE;
	} else if (event->type == ZE_KERNEL_TIME && !event->begin) {
		take_unread(times, event);
		taken = true;
	} else if (event->type == ZE_KERNEL_TIME) {
		taken = times->ends.count < TIMED_LAUNCHES_MAX &&
			array_push(&times->ends, ((struct timed_end){ .time = *event }));
	}
	times->dropped += !taken;
}

/* Returns the id of a device, which is announced if it is new; 0: there are too many. */
static uint32_t device_id(struct times *times, uint64_t address)
{
	char text[32];
	for (uint32_t i = 0; i < times->device_count; i++)
		if (times->devices[i] == address)
			return i + 1;
	if (times->device_count == TIMED_DEVICES_MAX)
		return 0;
	times->devices[times->device_count++] = address;
	snprintf(text, sizeof text, "%04" PRIx64 ":%02" PRIx64 ":%02" PRIx64 ".%" PRIx64, address >> 16 & 0xffffffff,
		 address >> 8 & 0xff, address >> 3 & 0x1f, address & 7);
	struct iaprof_record_device device = { .header = { .size = sizeof device,
							   .type = IAPROF_RECORD_DEVICE,
							   .time = times->host->clock(times->host) },
					       .id = times->device_count,
					       .name = record_batch_text(times->batch, "Intel GPU"),
					       .address = address & ZE_DEVICE_KNOWN
								  ? record_batch_text(times->batch, text)
								  : 0,
					       .kind = IAPROF_DEVICE_GPU };
	return record_batch_append(times->batch, &device.header) ? 0 : device.id;
}

/* represents 0: all launches are timed. */
static int job_emit(struct times *times, const struct timed_site *site, const struct timed_end *end,
		    uint64_t represents)
{
	const struct iaprof_host *host = times->host;
	if (!times->time_type)
		times->time_type = host->declare_value_type(host, "gpu-time", "nanoseconds", 0);
	struct iaprof_record_job job = {
		.header = { .size = sizeof job, .type = IAPROF_RECORD_JOB, .time = end->time.end },
		.submitted = end->submitted,
		.started = end->time.begin,
		.id = (uint32_t)end->time.number,
		.pid = site->process.id,
		.tid = site->thread,
		.device = device_id(times, end->time.device),
		.state = IAPROF_JOB_DONE,
		.kernel = site->kernel,
		.time_type = times->time_type,
		.correlation = site->key,
		.thread_name = host->intern_string(host, site->thread_name,
						   strnlen(site->thread_name, sizeof site->thread_name)),
		.represents = represents < UINT32_MAX ? (uint32_t)represents : UINT32_MAX
	};
	times->timed++;
	times->represented += represents ? represents : 1;
	return record_batch_append(times->batch, &job.header);
}

/* Emits the held time, for its part of the launches. */
static int held_emit(struct times *times, struct timed_site *site)
{
	uint64_t part = site->waiting / (site->ended ? site->ended : 1);
	struct timed_end held = site->held;
	if (!held.time.number)
		return 0;
	site->waiting -= part;
	site->ended -= site->ended > 0;
	site->held.time.number = 0;
	return job_emit(times, site, &held, part ? part : 1);
}

static int end_emit(struct times *times, struct timed_site *site, const struct timed_end *end, uint64_t now)
{
	if (times->is_complete) {
		site->waiting -= site->waiting > 0;
		return job_emit(times, site, end, 0);
	}
	int result = held_emit(times, site);
	site->held = *end;
	site->held_since = now;
	return result;
}

/* Finds the launch of a time. Returns false if it was not seen. */
static bool launch_find(struct times *times, struct timed_end *end)
{
	const struct launch_being_timed wanted = { .key = { end->time.process, end->time.number } };
	uint32_t position = end->site ? POSITION_NONE : keyed_array_find(&times->launches, &wanted.key);
	if (position == POSITION_NONE)
		return end->site;
	end->site = times->launches.items[position].site;
	end->submitted = times->launches.items[position].counted;
	keyed_array_remove(&times->launches, position);
	return true;
}

int times_emit(struct times *times, uint64_t now, bool is_last)
{
	size_t kept = 0;
	int result = 0;
	for (size_t i = 0; i < times->ends.count; i++) {
		struct timed_end *end = &times->ends.items[i];
		struct timed_site *site = launch_find(times, end) ? keyed_array_get(&times->sites, &end->site) : NULL;
		if (site)
			site->ended += 1 + (!site->ended && site->held.time.number);
	}
	for (size_t i = 0; i < times->ends.count && result == 0; i++) {
		const struct timed_end end = times->ends.items[i];
		struct timed_site *site = end.site ? keyed_array_get(&times->sites, &end.site) : NULL;
		if (site)
			result = end_emit(times, site, &end, now);
		else if (end.site && !is_last) /* its launch is in the other set of maps */
			times->ends.items[kept++] = end;
		else
			times->dropped++;
	}
	times->ends.count = kept;
	for (size_t i = 0; i < times->sites.count && result == 0; i++) {
		struct timed_site *site = &times->sites.items[i];
		site->ended = 0;
		if (is_last || now - site->held_since >= HOLD)
			result = held_emit(times, site);
	}
	return result;
}

int times_forget_process(struct times *times, const struct ze_process *ended)
{
	int result = 0;
	for (size_t i = times->sites.count; i-- > 0 && result == 0;) {
		struct timed_site *site = &times->sites.items[i];
		if (!ze_process_is_over(&site->process, ended))
			continue;
		result = held_emit(times, site);
		keyed_array_remove(&times->sites, (uint32_t)i);
	}
	for (size_t i = times->launches.count; i-- > 0;)
		if (ze_process_is_over(&times->launches.items[i].key.process, ended))
			keyed_array_remove(&times->launches, (uint32_t)i);
	return result;
}

void times_describe(const struct times *times)
{
	const struct iaprof_host *host = times->host;
	if (times->is_on)
		host->metadata(host, "launches timed on the device",
			       "%" PRIu64 " of %" PRIu64 ", which represent %" PRIu64, times->timed, times->launched,
			       times->represented);
	if (times->is_on && times->launched - times->launched / 100 > times->represented)
		host->log(host, IAPROF_LOG_WARNING,
			  "%" PRIu64 " of %" PRIu64 " launches have no time on the device, which counts as idle "
			  "meanwhile (README.md of ze-usdt lists "
			  "those that are not timed)",
			  times->launched - times->represented, times->launched);
	if (times->unread)
		host->metadata(host, "timed launches of which the device wrote no time", "%" PRIu64, times->unread);
	if (times->dropped)
		host->metadata(host, "times of launches dropped", "%" PRIu64, times->dropped);
}
