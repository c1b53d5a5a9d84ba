/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses records of a source, and counts them: see record_gate.h. */
#include "bus/record_gate.h"

#include <iaprof/host.h>

#include "base/saturating.h"

void record_gate_free(struct record_gate *gate)
{
	keyed_array_free(&gate->counters);
	keyed_array_free(&gate->devices);
}

void record_gate_start(struct record_gate *gate, uint64_t now)
{
	gate->earliest = now > IAPROF_TIME_AHEAD_MAX ? now - IAPROF_TIME_AHEAD_MAX : 0;
}

const char *gate_reason_text(enum gate_reason reason)
{
	static const char *const texts[GATE_REASON_COUNT] = {
		[GATE_UNKNOWN_TYPE] = "records: unknown type",
		[GATE_AHEAD] = "records: time is in the future",
		[GATE_BEFORE_START] = "records: time is before the start of the run",
		[GATE_COUNTER_UNDECLARED] = "counter values: counter not declared",
		[GATE_LATE] = "records: sent after the source had advanced past their time",
		[GATE_DEVICE_UNDECLARED] = "records: device not declared",
	};
	return texts[reason];
}

static bool count(struct record_gate *gate, enum gate_reason reason, uint64_t now)
{
	gate->begin = gate->begin ? gate->begin : now;
	gate->counts[reason]++;
	return false;
}

/* Samples wait for these; those of a kernel without an address come after it. */
static bool is_awaited(const struct iaprof_record *record)
{
	return record->type == IAPROF_RECORD_CODE_OBJECT || record->type == IAPROF_RECORD_LAUNCH ||
	       record->type == IAPROF_RECORD_DEVICE_ACTIVITY ||
	       (record->type == IAPROF_RECORD_KERNEL && ((const struct iaprof_record_kernel *)record)->address);
}

bool record_is_before(const struct iaprof_record *record, uint64_t earliest)
{
	const struct iaprof_record_call *call = (const void *)record;
	if (record->time >= earliest)
		return false;
	switch (record->type) {
	case IAPROF_RECORD_SAMPLE:
	case IAPROF_RECORD_STALL_SAMPLE:
	case IAPROF_RECORD_HISTOGRAM:
	case IAPROF_RECORD_JOB:
	case IAPROF_RECORD_COUNTER_VALUE:
		return true;
	case IAPROF_RECORD_CALL: /* its time is the start of the last call */
		return saturating_add(record->time, call->duration) < earliest;
	default:
		return false;
	}
}

/* Returns the device that a record refers to; 0: none. */
static uint32_t device_of(const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_STALL_SAMPLE:
		return ((const struct iaprof_record_stall_sample *)record)->device;
	case IAPROF_RECORD_LAUNCH:
		return ((const struct iaprof_record_launch *)record)->device;
	case IAPROF_RECORD_JOB:
		return ((const struct iaprof_record_job *)record)->device;
	case IAPROF_RECORD_DEVICE_ACTIVITY:
		return ((const struct iaprof_record_device_activity *)record)->device;
	case IAPROF_RECORD_CODE_OBJECT:
		return ((const struct iaprof_record_code_object *)record)->device;
	case IAPROF_RECORD_COUNTER:
		return ((const struct iaprof_record_counter *)record)->device;
	default:
		return 0;
	}
}

/* Devices of a source are usually numbered from 1 on: the first 63 need no look-up. */
static bool is_declared(const struct record_gate *gate, uint32_t device)
{
	return (device < 64 && gate->low_devices >> device & 1) || gate->devices.count >= GATE_DEVICES_MAX ||
	       keyed_array_get(&gate->devices, &device);
}

static void declare_device(struct record_gate *gate, uint32_t device)
{
	if (device < 64)
		gate->low_devices |= UINT64_C(1) << device;
	if (gate->devices.count < GATE_DEVICES_MAX)
		(void)keyed_array_add(&gate->devices, &((struct gate_id){ device }));
}

/* Remembers what later records refer to. */
static void declare(struct record_gate *gate, const struct iaprof_record *record)
{
	if (record->type == IAPROF_RECORD_COUNTER && gate->counters.count < GATE_COUNTERS_MAX)
		(void)keyed_array_add(&gate->counters,
				      &((struct gate_id){ ((const struct iaprof_record_counter *)record)->id }));
	if (record->type == IAPROF_RECORD_DEVICE)
		declare_device(gate, ((const struct iaprof_record_device *)record)->id);
}

bool record_gate_takes(struct record_gate *gate, const struct iaprof_record *record, uint64_t now)
{
	if (!record->type || record->type >= IAPROF_RECORD_TYPE_COUNT)
		return count(gate, GATE_UNKNOWN_TYPE, now);
	if (record->time > now && record->time - now > IAPROF_TIME_AHEAD_MAX)
		return count(gate, GATE_AHEAD, now);
	if (record_is_before(record, gate->earliest))
		return count(gate, GATE_BEFORE_START, now);
	if (record->type == IAPROF_RECORD_SAMPLE) /* most records; the rest does not concern them */
		return true;
	declare(gate, record);
	if (record->type == IAPROF_RECORD_COUNTER_VALUE &&
	    !keyed_array_get(&gate->counters, &((const struct iaprof_record_counter_value *)record)->counter))
		return count(gate, GATE_COUNTER_UNDECLARED, now);
	if (record->type == IAPROF_RECORD_PROGRESS) {
		if (record->time <= gate->progress)
			return false;
		gate->progress = record->time;
	}
	if (is_awaited(record) && record->time < gate->progress)
		(void)count(gate, GATE_LATE, now);
	uint32_t device = device_of(record);
	if (device && !is_declared(gate, device))
		(void)count(gate, GATE_DEVICE_UNDECLARED, now);
	return true;
}
