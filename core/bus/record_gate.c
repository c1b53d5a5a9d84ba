/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses records of a source, and counts them: see record_gate.h. */
#include "bus/record_gate.h"

#include <iaprof/host.h>

void record_gate_free(struct record_gate *gate)
{
	keyed_array_free(&gate->counters);
}

const char *gate_reason_text(enum gate_reason reason)
{
	static const char *const texts[GATE_REASON_COUNT] = {
		[GATE_UNKNOWN_TYPE] = "records: unknown type",
		[GATE_AHEAD] = "records: time is in the future",
		[GATE_COUNTER_UNDECLARED] = "counter values: counter not declared",
		[GATE_LATE] = "records: sent after the source had advanced past their time",
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

bool record_gate_takes(struct record_gate *gate, const struct iaprof_record *record, uint64_t now)
{
	if (!record->type || record->type >= IAPROF_RECORD_TYPE_COUNT)
		return count(gate, GATE_UNKNOWN_TYPE, now);
	if (record->time > now && record->time - now > IAPROF_TIME_AHEAD_MAX)
		return count(gate, GATE_AHEAD, now);
	if (record->type == IAPROF_RECORD_COUNTER && gate->counters.count < GATE_COUNTERS_MAX) {
		struct gate_counter counter = { ((const struct iaprof_record_counter *)record)->id };
		(void)keyed_array_add(&gate->counters, &counter);
	}
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
	return true;
}
