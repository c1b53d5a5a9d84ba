/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for the records of a source: see record_rules.h. */
#include "record_rules.h"

#include <inttypes.h>
#include <stdio.h>

#include <check.h>

#include "bus/record_check.h"

/* Keeps the first violation. */
IAPROF_PRINTF(2, 3) static void report(struct finding *finding, const char *format, ...)
{
	va_list arguments;
	if (finding->text[0])
		return;
	va_start(arguments, format);
	vsnprintf(finding->text, sizeof finding->text, format, arguments);
	va_end(arguments);
}

void rule_types(const struct test_host *host, struct finding *finding)
{
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, 0));)
		if (record->type >= IAPROF_RECORD_TYPE_COUNT)
			report(finding,
			       "a record has type %u, which version %u of the schema does not define: iaprof drops it",
			       record->type, IAPROF_SCHEMA_VERSION);
}

/* Members with a value of an enum, which is from first to last; flags are a set of bits: first is 0, last is all. */
#define ENUM(TYPE, type, member, first, last)                                                                          \
	{                                                                                                              \
		IAPROF_RECORD_##TYPE, offsetof(struct iaprof_record_##type, member), first, last, false, #member       \
	}
#define FLAGS(TYPE, type, member, all)                                                                                 \
	{                                                                                                              \
		IAPROF_RECORD_##TYPE, offsetof(struct iaprof_record_##type, member), 0, all, true, #member             \
	}
static const struct {
	uint16_t type, offset;
	uint32_t first, last;
	bool is_flags;
	const char *name;
} enums[] = {
	ENUM(PROCESS, process, event, IAPROF_PROCESS_EXISTING, IAPROF_PROCESS_EXIT),
	FLAGS(MAPPING, mapping, flags, IAPROF_MAPPING_DELETED | IAPROF_MAPPING_EXISTING),
	FLAGS(SAMPLE, sample, flags,
	      IAPROF_SAMPLE_USER_STACK_MISSING | IAPROF_SAMPLE_KERNEL_STACK_MISSING | IAPROF_SAMPLE_TRUNCATED |
		      IAPROF_SAMPLE_NO_UNWIND_TABLE | IAPROF_SAMPLE_STACK_UNREADABLE),
	FLAGS(STALL_REASON, stall_reason, flags, IAPROF_STALL_REASON_WAITS),
	ENUM(STALL_REASON, stall_reason, stall_class, IAPROF_STALL_UNKNOWN, IAPROF_STALL_ISSUING),
	ENUM(STALL_SAMPLE, stall_sample, address_space, IAPROF_ADDRESS_ABSOLUTE, IAPROF_ADDRESS_KERNEL),
	ENUM(CALL_FUNCTION, call_function, kind, IAPROF_CALL_API, IAPROF_CALL_CONTEXT),
	ENUM(JOB, job, state, IAPROF_JOB_DONE, IAPROF_JOB_IN_FLIGHT),
	ENUM(COUNTER, counter, kind, IAPROF_COUNTER_GAUGE, IAPROF_COUNTER_CUMULATIVE),
	ENUM(COUNTER, counter, role, IAPROF_COUNTER_ROLE_NONE, IAPROF_COUNTER_ROLE_OVERFLOWS),
	ENUM(FINDING, finding, severity, IAPROF_FINDING_NOTE, IAPROF_FINDING_PROBLEM),
	ENUM(DEVICE_ACTIVITY, device_activity, kind, IAPROF_ACTIVITY_SCHEDULER, IAPROF_ACTIVITY_STATISTICS),
};

void rule_enums(const struct test_host *host, struct finding *finding)
{
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, 0));)
		for (size_t i = 0; i < sizeof enums / sizeof *enums; i++) {
			if (enums[i].type != record->type || record->size < enums[i].offset + sizeof(uint32_t))
				continue;
			uint32_t value = *(const uint32_t *)((const char *)record + enums[i].offset);
			bool is_defined = enums[i].is_flags ? !(value & ~enums[i].last)
							    : value >= enums[i].first && value <= enums[i].last;
			if (!is_defined)
				report(finding, "a %s record has %s %u, which iaprof/record.h does not define",
				       record_type_name(record->type), enums[i].name, value);
		}
}

/* Members that hold an id of the same source; 0 means none, unless it is required. */
static const struct {
	uint16_t type, offset, target;
	bool is_required;
} references[] = {
	{ IAPROF_RECORD_CODE_OBJECT, offsetof(struct iaprof_record_code_object, device), IAPROF_RECORD_DEVICE, false },
	{ IAPROF_RECORD_CODE_OBJECT_UNLOAD, offsetof(struct iaprof_record_code_object_unload, id),
	  IAPROF_RECORD_CODE_OBJECT, true },
	{ IAPROF_RECORD_KERNEL, offsetof(struct iaprof_record_kernel, code_object), IAPROF_RECORD_CODE_OBJECT, false },
	{ IAPROF_RECORD_LAUNCH, offsetof(struct iaprof_record_launch, kernel), IAPROF_RECORD_KERNEL, true },
	{ IAPROF_RECORD_LAUNCH, offsetof(struct iaprof_record_launch, device), IAPROF_RECORD_DEVICE, false },
	{ IAPROF_RECORD_STALL_SAMPLE, offsetof(struct iaprof_record_stall_sample, device), IAPROF_RECORD_DEVICE,
	  false },
	{ IAPROF_RECORD_COUNTER, offsetof(struct iaprof_record_counter, device), IAPROF_RECORD_DEVICE, false },
	{ IAPROF_RECORD_COUNTER_VALUE, offsetof(struct iaprof_record_counter_value, counter), IAPROF_RECORD_COUNTER,
	  true },
	{ IAPROF_RECORD_JOB, offsetof(struct iaprof_record_job, device), IAPROF_RECORD_DEVICE, false },
	{ IAPROF_RECORD_JOB, offsetof(struct iaprof_record_job, kernel), IAPROF_RECORD_KERNEL, false },
	{ IAPROF_RECORD_DEVICE_ACTIVITY, offsetof(struct iaprof_record_device_activity, device), IAPROF_RECORD_DEVICE,
	  false },
	{ IAPROF_RECORD_CALL, offsetof(struct iaprof_record_call, node), IAPROF_RECORD_CALL_NODE, false },
	{ IAPROF_RECORD_CALL_NODE, offsetof(struct iaprof_record_call_node, parent), IAPROF_RECORD_CALL_NODE, false },
	{ IAPROF_RECORD_CALL_NODE, offsetof(struct iaprof_record_call_node, function), IAPROF_RECORD_CALL_FUNCTION,
	  true },
};

/* Ids that records have declared, by type. */
struct declarations {
	ARRAY(struct iaprof_record) items; /* time is the id */
	struct hash_index index;
};

static bool is_declared(const struct declarations *known, uint16_t type, uint32_t id)
{
	struct hash_probe probe = hash_index_probe(&known->index, hash_pair(type, id));
	while (hash_index_next(&known->index, &probe)) {
		const struct iaprof_record *item = &known->items.items[probe.position];
		if (item->type == type && item->time == id)
			return true;
	}
	return false;
}

static void declare(struct declarations *known, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_DEVICE:
	case IAPROF_RECORD_CODE_OBJECT:
	case IAPROF_RECORD_KERNEL:
	case IAPROF_RECORD_STALL_REASON:
	case IAPROF_RECORD_COUNTER:
	case IAPROF_RECORD_CALL_FUNCTION:
	case IAPROF_RECORD_CALL_NODE: {
		uint32_t id = *(const uint32_t *)(record + 1); /* the first member of each of them */
		if (is_declared(known, record->type, id))
			return;
		struct iaprof_record item = { .type = record->type, .time = id };
		ck_assert(hash_index_add(&known->index, hash_pair(item.type, id), (uint32_t)known->items.count));
		ck_assert(array_push(&known->items, item));
		return;
	}
	default:
		return;
	}
}

static void check_references(const struct declarations *known, const struct iaprof_record *record,
			     struct finding *finding)
{
	for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
		if (references[i].type != record->type ||
		    record->size < references[i].offset + sizeof(uint32_t)) /* a shorter record of an older plugin */
			continue;
		uint32_t id = *(const uint32_t *)((const char *)record + references[i].offset);
		if ((id || references[i].is_required) && !is_declared(known, references[i].target, id))
			report(finding, "a %s record refers to %s %u, which no earlier record declares",
			       record_type_name(record->type), record_type_name(references[i].target), id);
	}
	if (record->type != IAPROF_RECORD_STALL_SAMPLE)
		return;
	const struct iaprof_record_stall_sample *sample = (const void *)record;
	for (uint32_t i = 0; i < sample->reason_count; i++)
		if (iaprof_record_stall_sample_counts(sample)[i] && !is_declared(known, IAPROF_RECORD_STALL_REASON, i))
			report(finding, "a STALL_SAMPLE record counts reason %u, which no earlier STALL_REASON names",
			       i);
	const struct iaprof_record_stall_details *details = iaprof_record_stall_sample_details(sample);
	if (details && details->kernel && !is_declared(known, IAPROF_RECORD_KERNEL, details->kernel))
		report(finding, "a STALL_SAMPLE record is of kernel %u, which no earlier record declares",
		       details->kernel);
}

void rule_declared(const struct test_host *host, struct finding *finding)
{
	struct declarations known = { 0 };
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, 0));) {
		check_references(&known, record, finding);
		declare(&known, record);
	}
	array_free(&known.items);
	hash_index_free(&known.index);
}

/* Returns whether a KERNEL or CODE_OBJECT record of the stream covers the address of a sample. */
static bool is_covered(const struct test_host *host, const struct iaprof_record_stall_sample *sample)
{
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, 0));) {
		uint64_t address, size, base;
		uint32_t pid;
		if (record->type == IAPROF_RECORD_KERNEL) {
			const struct iaprof_record_kernel *kernel = (const void *)record;
			address = kernel->address, size = kernel->size, pid = kernel->pid;
			base = record->size > offsetof(struct iaprof_record_kernel, instruction_base)
				       ? kernel->instruction_base
				       : 0;
		} else if (record->type == IAPROF_RECORD_CODE_OBJECT) {
			const struct iaprof_record_code_object *object = (const void *)record;
			address = object->address, size = object->size, pid = object->pid;
			base = object->instruction_base;
		} else {
			continue;
		}
		uint64_t wanted =
			sample->address + (sample->address_space == IAPROF_ADDRESS_INSTRUCTION_BASE ? base : 0);
		if (record->time <= sample->header.time && (!sample->pid || sample->pid == pid) && address &&
		    wanted >= address && (!size || wanted - address < size))
			return true;
	}
	return false;
}

void rule_code(const struct test_host *host, struct finding *finding)
{
	uint64_t sample_count = 0, unmatched_count = 0, address = 0;
	/* The code of a source that sends stall samples alone is that of another source. */
	if (!test_host_next(host, NULL, IAPROF_RECORD_KERNEL) && !test_host_next(host, NULL, IAPROF_RECORD_CODE_OBJECT))
		return;
	for (const struct iaprof_record *record = NULL;
	     (record = test_host_next(host, record, IAPROF_RECORD_STALL_SAMPLE));) {
		const struct iaprof_record_stall_sample *sample = (const void *)record;
		sample_count++;
		if (sample->address_space > IAPROF_ADDRESS_INSTRUCTION_BASE || is_covered(host, sample))
			continue;
		if (!unmatched_count++)
			address = sample->address;
	}
	if (unmatched_count)
		report(finding,
		       "%" PRIu64 " of %" PRIu64 " stall samples, the first at 0x%" PRIx64
		       ", are outside all KERNEL and "
		       "CODE_OBJECT records of their process with an earlier time",
		       unmatched_count, sample_count, address);
}

void rule_progress(const struct test_host *host, struct finding *finding)
{
	uint64_t progress = 0, last = 0;
	/* As in the core: counter values state it only for sources that never call host->advance(). */
	uint16_t stated_by = test_host_next(host, NULL, IAPROF_RECORD_PROGRESS) ? IAPROF_RECORD_PROGRESS
										: IAPROF_RECORD_COUNTER_VALUE;
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, 0));) {
		if (record->type == stated_by) {
			progress = record->time > progress ? record->time : progress;
			continue;
		}
		if (record->type != IAPROF_RECORD_CODE_OBJECT && record->type != IAPROF_RECORD_KERNEL &&
		    record->type != IAPROF_RECORD_LAUNCH)
			continue;
		last = record->time > last ? record->time : last;
		if (record->time < progress)
			report(finding,
			       "a %s record is %" PRIu64 " ns older than the time to which its source had advanced: "
			       "samples were attributed without it",
			       record_type_name(record->type), progress - record->time);
		if (record->time == progress && stated_by == IAPROF_RECORD_PROGRESS)
			report(finding,
			       "a %s record has the time to which its source had advanced, which states that all "
			       "records up to that time were sent: samples were attributed without it",
			       record_type_name(record->type));
	}
	if (progress < last)
		report(finding, "host->advance() is not called after its last code or launch: stall samples wait for "
				"up to two seconds");
}

void rule_arrays(const struct test_host *host, struct finding *finding)
{
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, 0));) {
		uint8_t offset = record->type == IAPROF_RECORD_STALL_SAMPLE
					 ? ((const struct iaprof_record_stall_sample *)record)->array_offset
				 : record->type == IAPROF_RECORD_HISTOGRAM
					 ? ((const struct iaprof_record_histogram *)record)->array_offset
					 : UINT8_MAX;
		if (!offset)
			report(finding,
			       "a %s record has array_offset 0: its array moves when the struct grows (set "
			       "IAPROF_ARRAY_OFFSET())",
			       record_type_name(record->type));
	}
}

void rule_details(const struct test_host *host, struct finding *finding)
{
	for (const struct iaprof_record *record = NULL;
	     (record = test_host_next(host, record, IAPROF_RECORD_STALL_SAMPLE));) {
		const struct iaprof_record_stall_sample *sample = (const void *)record;
		const struct iaprof_record_stall_details *details = iaprof_record_stall_sample_details(sample);
		bool is_in_kernel = sample->address_space == IAPROF_ADDRESS_KERNEL;
		uint32_t kernel = details ? details->kernel : 0;
		if (is_in_kernel && !kernel)
			report(finding, "a STALL_SAMPLE record with IAPROF_ADDRESS_KERNEL names no kernel in its "
					"details: iaprof drops it");
		if (!is_in_kernel && kernel)
			report(finding,
			       "a STALL_SAMPLE record names kernel %u in its details, but its address is not one of "
			       "IAPROF_ADDRESS_KERNEL: iaprof drops it",
			       kernel);
		if (details && details->correlation && !sample->pid)
			report(finding,
			       "a STALL_SAMPLE record names launch %" PRIu64
			       ", but no process: the launch is not found",
			       details->correlation);
	}
}
