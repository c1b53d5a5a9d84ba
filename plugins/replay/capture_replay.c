/* SPDX-License-Identifier: Apache-2.0 */
/* See capture_replay.h. */
#include "capture_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum pass {
	PASS_NAMES,  /* definitions: strings, sources, value types, symbols of addresses, device code and its sources,
			stacks */
	PASS_EVENTS, /* everything else */
	PASS_VALUES  /* in the second pass, by a separate reader */
};

static int open_reader(struct capture_replay *capture, const struct iaprof_host *host)
{
	capture_reader_close(&capture->reader);
	capture->reader = (struct capture_reader){ .read = input_file_read, .context = capture->input };
	int result = capture_reader_open(&capture->reader);
	if (result == -ECANCELED)
		return result;
	return result < 0 ? host->fail(host, result, "%s: %s", capture->input->file, capture->reader.wrong) : 0;
}

int capture_replay_open(struct capture_replay *capture, const struct iaprof_host *host, struct input_file *input)
{
	capture->input = input;
	replay_budget_open(&capture->budget);
	capture->selected = malloc(2 * CAPTURE_BLOCK_SIZE_MAX); /* spare capacity: older records grow, see append() */
	if (!capture->selected)
		return host->fail(host, ENOMEM, "not enough memory");
	int result = input_file_keep(input, host);
	return result ? result : open_reader(capture, host);
}

/* Returns to the beginning of the file, or for a pipe, of the copy of what was read. */
static int read_again(struct capture_replay *capture, const struct iaprof_host *host)
{
	int result = input_file_rewind(capture->input, host);
	return result ? result : open_reader(capture, host);
}

static enum pass pass_of(const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_STRING:
	case IAPROF_RECORD_NAMED_FRAME:
	case IAPROF_RECORD_SOURCE:
	case IAPROF_RECORD_VALUE_TYPE:
	case IAPROF_RECORD_FRAMES:
	case IAPROF_RECORD_MODULE:
	case IAPROF_RECORD_STACK_FRAMES:
	case IAPROF_RECORD_CODE_FUNCTION:
	case IAPROF_RECORD_CODE_LISTING:
	case IAPROF_RECORD_PROFILE_STACK:
	case IAPROF_RECORD_SOURCE_TEXT:
		return PASS_NAMES;
	case IAPROF_RECORD_PROFILE_VALUE:
		return PASS_VALUES;
	default:
		return PASS_EVENTS;
	}
}

static int emit(const struct iaprof_host *host, const struct capture_replay *capture, const struct iaprof_batch *batch)
{
	int sent = batch->count ? host->emit(host, batch) : 0;
	return sent < 0 ? host->fail(host, sent, "%s: block %" PRIu64 ": records rejected: %s", capture->input->file,
				     capture->reader.totals.blocks - 1, strerror(-sent))
			: 0;
}

/* Damage in the file is reported by the pass that finds it. */
static int emit_values(const struct iaprof_host *host, struct capture_replay *capture, uint64_t until)
{
	const struct iaprof_record *record;
	int result = 0;
	while (capture->has_values && (result = value_reader_next(&capture->values, until, &record)) > 0) {
		struct iaprof_batch batch = { .records = record, .size = record->size, .count = 1 };
		result = emit(host, capture, &batch);
		if (result < 0)
			return result;
	}
	if (result == 0 || result == -EBADMSG || result == -ECANCELED)
		return result == -ECANCELED ? result : 0;
	return host->fail(host, result, "%s: %s", capture->input->file, capture->values.reader.wrong);
}

/* Captures made before counters had a role: counters with these names had the role implicitly. */
static void note_counter_name(struct capture_replay *capture, const struct iaprof_record_string *string)
{
	const char *text = iaprof_record_string_text(string);
	if (strcmp(text, "rows") == 0)
		capture->rows_name = string->id;
	else if (strcmp(text, "overflows") == 0)
		capture->overflows_name = string->id;
}

static void append(const struct capture_replay *capture, struct iaprof_batch *selected,
		   const struct iaprof_record *record)
{
	struct iaprof_record_counter counter = { 0 };
	if (record->type == IAPROF_RECORD_COUNTER && record->size == offsetof(struct iaprof_record_counter, role)) {
		memcpy(&counter, record, record->size);
		counter.header.size = sizeof counter;
		if (counter.device && counter.name && counter.name == capture->rows_name)
			counter.role = IAPROF_COUNTER_ROLE_ROWS;
		else if (counter.device && counter.name && counter.name == capture->overflows_name)
			counter.role = IAPROF_COUNTER_ROLE_OVERFLOWS;
		record = &counter.header;
	}
	memcpy(capture->selected + selected->size, record, record->size);
	selected->size += record->size;
	selected->count++;
}

static int emit_selected(const struct iaprof_host *host, struct capture_replay *capture,
			 const struct iaprof_batch *batch, enum pass pass)
{
	struct iaprof_batch selected = { .records = capture->selected };
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		if (pass == PASS_NAMES)
			capture->has_values |= record->type == IAPROF_RECORD_PROFILE_VALUE;
		if (pass_of(record) != pass)
			continue;
		if (record->type == IAPROF_RECORD_SYNC && capture->has_values) {
			int result = emit(host, capture, &selected);
			selected.size = selected.count = 0;
			if (result == 0)
				result = emit_values(host, capture, record->time);
			if (result < 0)
				return result;
		}
		if (pass == PASS_NAMES && record->type == IAPROF_RECORD_STRING)
			note_counter_name(capture, (const void *)record);
		append(capture, &selected, record);
	}
	return emit(host, capture, &selected);
}

/* Sends the records of a pass. Returns -ECANCELED if the run is ending. Damage is reported by the last pass. */
static int send_pass(const struct iaprof_host *host, struct capture_replay *capture, enum pass pass)
{
	struct iaprof_batch batch;
	int result;
	while ((result = capture_reader_next(&capture->reader, &batch)) > 0) {
		if (pass == PASS_NAMES && replay_budget_count(&capture->budget, &batch))
			return host->fail(host, ENOMEM, "not enough memory");
		int sent = replay_budget_check(&capture->budget, host, capture->input->file, capture->reader.offset,
					       capture->reader.totals.bytes, capture->reader.totals.blocks);
		if (sent == 0)
			sent = emit_selected(host, capture, &batch, pass);
		if (sent < 0)
			return sent;
		if (input_file_is_stopping(capture->input))
			return -ECANCELED;
	}
	if (result == -ECANCELED)
		return result;
	if (pass == PASS_NAMES)
		return 0;
	int sent = emit_values(host, capture, UINT64_MAX);
	if (sent < 0)
		return sent;
	if (result < 0)
		return host->fail(host, result, "%s: %s; the %" PRIu64 " records before it were replayed",
				  capture->input->file, capture->reader.wrong, capture->reader.totals.records);
	return 0;
}

int capture_replay_run(struct capture_replay *capture, const struct iaprof_host *host)
{
	int result = send_pass(host, capture, PASS_NAMES);
	if (result == 0)
		result = read_again(capture, host);
	if (result == 0 && capture->has_values) {
		result = value_reader_open(&capture->values, capture->input->descriptor, capture->input->stopping);
		if (result < 0 && result != -ECANCELED)
			result = host->fail(host, result, "%s: %s", capture->input->file, capture->values.reader.wrong);
	}
	if (result == 0)
		result = send_pass(host, capture, PASS_EVENTS);
	return result == -ECANCELED ? 0 : result;
}

void capture_replay_close(struct capture_replay *capture)
{
	capture_reader_close(&capture->reader);
	value_reader_close(&capture->values);
	replay_budget_close(&capture->budget);
	free(capture->selected);
	capture->selected = NULL;
}
