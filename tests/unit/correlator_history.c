/* SPDX-License-Identifier: Apache-2.0 */
/* Histories for tests of the correlator: see correlator_history.h. */
#include "correlator_history.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "correlator/instruction_bases.h"

struct intern *intern;
struct collector *collector;
static char symbols[] = "/tmp/iaprof-test-symbols-XXXXXX";
uint64_t start; /* records of the future are not believed: all happens in the minute before now */
uint32_t kernel_count, object_count;
uint64_t samples_in;
uint64_t history_resolution = 20000000;
bool history_threads;
bool history_spans;
bool history_continuous;

uint32_t text(const char *name)
{
	return intern_string(intern, name, strlen(name));
}

void take(uint16_t source, void *record, uint16_t type, size_t size, uint64_t time)
{
	struct iaprof_record *header = record;
	header->type = type;
	header->size = (uint32_t)size;
	header->time = start + time;
	header->source = source;
	collector_take(collector, &(struct iaprof_batch){ .records = record, .size = size, .count = 1 }, NULL, NULL);
}

void take_process(uint32_t pid, uint32_t event, const char *name, uint64_t time)
{
	struct iaprof_record_process record = { .pid = pid, .event = event, .name = text(name) };
	take(0, &record, IAPROF_RECORD_PROCESS, sizeof record, time);
}

static uint64_t base_of(uint64_t address)
{
	return address / INSTRUCTION_WINDOW_DEFAULT * INSTRUCTION_WINDOW_DEFAULT;
}

uint32_t take_kernel(uint32_t pid, const char *name, uint64_t address, uint64_t time)
{
	struct iaprof_record_kernel record = {
		.id = ++kernel_count,
		.pid = pid,
		.name = text(name),
		.address = address,
		.size = 0x1000,
		.instruction_base = base_of(address),
	};
	take(LAUNCHES, &record, IAPROF_RECORD_KERNEL, sizeof record, time);
	return record.id;
}

uint32_t take_object(uint32_t pid, const char *path, uint64_t address, uint64_t time)
{
	struct iaprof_record_code_object record = {
		.id = ++object_count,
		.pid = pid,
		.machine = 205,
		.address = address,
		.instruction_base = base_of(address),
		.path = text(path),
	};
	take(LAUNCHES, &record, IAPROF_RECORD_CODE_OBJECT, sizeof record, time);
	return record.id;
}

void take_unload(uint32_t pid, uint32_t object, uint64_t time)
{
	struct iaprof_record_code_object_unload record = { .id = object, .pid = pid };
	take(LAUNCHES, &record, IAPROF_RECORD_CODE_OBJECT_UNLOAD, sizeof record, time);
}

/* site: 'a' to 'z', a function of the Linux kernel in our own list of symbols; 0: no stack. */
void take_launches(uint32_t pid, uint32_t kernel, char site, uint64_t count, uint64_t from, uint64_t to)
{
	uint64_t address = UINT64_C(0xffffffff81000000) + (uint64_t)(site - 'a') * 0x100 + 4;
	struct iaprof_record_launch record = { .kernel = kernel,
					       .pid = pid,
					       .kernel_stack = site ? intern_stack(intern, 0, &address, 1) : 0,
					       .count = count,
					       .first_time = start + from };
	take(LAUNCHES, &record, IAPROF_RECORD_LAUNCH, sizeof record, to);
}

/* All that the source of launches has to say up to a time. */
void tell(uint64_t time)
{
	struct iaprof_record_counter_value record = { .counter = 1, .value = 1 };
	take(LAUNCHES, &record, IAPROF_RECORD_COUNTER_VALUE, sizeof record, time);
}

void take_activity(uint32_t pid, uint32_t kind, uint64_t busy, const char *label, uint64_t from, uint64_t to)
{
	struct iaprof_record_device_activity record = { .begin = start + from,
							.busy = busy,
							.device = 1,
							.pid = pid,
							.kind = kind,
							.label = label ? text(label) : 0 };
	take(STALLS, &record, IAPROF_RECORD_DEVICE_ACTIVITY, sizeof record, to);
}

/* count samples of reason 0 and as many of reason 1. */
void take_stalls(uint64_t address, uint32_t space, uint64_t count, uint64_t from, uint64_t to)
{
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[2];
	} record = { .head = { .begin = start + from,
			       .address = address,
			       .device = 1,
			       .address_space = space,
			       .reason_count = 2 },
		     .counts = { count, count } };
	take(STALLS, &record, IAPROF_RECORD_STALL_SAMPLE, sizeof record, to);
	samples_in += 2 * count;
}

void take_relative(uint64_t offset, uint64_t count, uint64_t from, uint64_t to)
{
	take_stalls(offset, IAPROF_ADDRESS_INSTRUCTION_BASE, count, from, to);
}

void synchronize(uint64_t time)
{
	struct iaprof_record_sync record = { 0 };
	take(0, &record, IAPROF_RECORD_SYNC, sizeof record, time);
}

struct collector *make_collector(bool live, struct decoder_finder *decoders)
{
	return collector_new(&(struct collector_options){ .intern = intern,
							  .live = live,
							  .records = live,
							  .continuous = history_continuous,
							  .kallsyms = symbols,
							  .decoders = decoders,
							  .time_resolution = history_resolution,
							  .threads = history_threads,
							  .spans = history_spans,
							  .listings = decoders != NULL });
}

void replay_results(struct collector *from, struct collector *replay)
{
	for (struct block *block = collector_take_results(from), *next; block; block = next) {
		struct iaprof_batch batch = block_batch(block);
		next = block->next;
		collector_take(replay, &batch, NULL, NULL);
		block_release(block);
	}
	collector_finish(replay);
}

void announce(void)
{
	const char *const reasons[] = { "active", "sbid" };
	struct iaprof_record_device device = { .id = 1, .name = text("GPU 1") };
	take(STALLS, &device, IAPROF_RECORD_DEVICE, sizeof device, 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct iaprof_record_stall_reason reason = { .id = i,
							     .name = text(reasons[i]),
							     .flags = i ? IAPROF_STALL_REASON_WAITS : 0 };
		take(STALLS, &reason, IAPROF_RECORD_STALL_REASON, sizeof reason, 0);
	}
	take_process(10, IAPROF_PROCESS_EXISTING, "first", 0);
	take_process(11, IAPROF_PROCESS_EXISTING, "second", 0);
}

void two_processes(void)
{
	for (uint32_t pid = 10; pid < 12; pid++) {
		uint32_t kernel = take_kernel(pid, pid == 10 ? "add" : "multiply", BASE + 0x1000, SECOND);
		take_launches(pid, kernel, pid == 10 ? 'a' : 'b', 1000, SECOND, 10 * SECOND);
	}
}

void set_up(void)
{
	int descriptor = mkstemp(symbols);
	ck_assert_int_ge(descriptor, 0);
	for (char site = 'a'; site <= 'z'; site++)
		dprintf(descriptor, "%lx T site_%c\n", 0xffffffff81000000UL + (unsigned long)(site - 'a') * 0x100,
			site);
	close(descriptor);
	intern = intern_new(NULL);
	collector = make_collector(true, NULL);
	start = clock_monotonic() - 60 * SECOND;
	kernel_count = object_count = 0;
	samples_in = 0;
	announce();
}

void tear_down(void)
{
	collector_free(collector);
	intern_free(intern);
	unlink(symbols);
	memcpy(strrchr(symbols, '-') + 1, "XXXXXX", 6);
}

/* Whether a stack has all frames of a text, "first;site_a;-", in this order, others between them or not. */
static bool has_frames(const struct iaprof_profile *profile, const struct iaprof_value *value, const char *wanted)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
	CLEANUP_FREE char *names = strdup(wanted);
	char *rest = names, *name = strsep(&rest, ";");
	for (uint32_t i = 0; name && i < stack->frame_count; i++)
		if (!strcmp(iaprof_profile_frame(profile, stack->frames[i])->name, name))
			name = strsep(&rest, ";");
	return !name;
}

uint64_t sum_of(struct collector *of, const char *frames)
{
	struct snapshot *snapshot = collector_snapshot(of, true);
	uint64_t sum = 0;
	for (size_t i = 0; i < snapshot->profile.value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(&snapshot->profile, i);
		const char *type = iaprof_profile_value_type(&snapshot->profile, value->value_type)->name;
		if (!strcmp(type, "gpu-stalls") && has_frames(&snapshot->profile, value, frames))
			sum += value->value;
	}
	snapshot_release(snapshot);
	return sum;
}

uint64_t total_of(const char *type, const char *unit)
{
	struct snapshot *snapshot = collector_snapshot(collector, true);
	uint64_t total = 0;
	for (size_t i = 0; i < snapshot->profile.value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(&snapshot->profile, i);
		const struct iaprof_value_type *of = iaprof_profile_value_type(&snapshot->profile, value->value_type);
		if (!strcmp(of->name, type) && !strcmp(of->unit, unit))
			total += value->value;
	}
	snapshot_release(snapshot);
	return total;
}

uint64_t sum(const char *frames)
{
	return sum_of(collector, frames);
}

struct device_samples statistics(void)
{
	size_t count;
	const struct sampled_device *devices = collector_devices(collector, &count);
	ck_assert_uint_eq(count, 1);
	return devices[0].samples;
}

/* Ends the run: everything that came in is in the profile, once. */
void finish(uint64_t matched, uint64_t ambiguous, uint64_t unmatched)
{
	collector_finish(collector);
	struct device_samples became = statistics();
	ck_assert_uint_eq(sum("-"), samples_in);
	ck_assert_uint_eq(became.samples, samples_in);
	ck_assert_uint_eq(became.matched, matched);
	ck_assert_uint_eq(became.ambiguous, ambiguous);
	ck_assert_uint_eq(became.unmatched, unmatched);
	ck_assert_uint_eq(sum("-;[ambiguous]"), ambiguous);
}
