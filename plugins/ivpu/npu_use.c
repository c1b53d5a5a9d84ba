/* SPDX-License-Identifier: Apache-2.0 */
/* See npu_use.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "base/cleanup.h"
#include "npu_use.h"
#include "text/text.h"

#define PAGE 4096u

void npu_use_free(struct npu_use *use)
{
	keyed_array_free(&use->processes);
	keyed_array_free(&use->contexts);
}

/* Returns the sums of a process, or NULL if it is not known or there are too many. */
static struct npu_process *process_get(struct npu_use *use, uint32_t pid, const char *comm)
{
	struct npu_process added = { .key = pid };
	uint32_t position = POSITION_NONE;

	if (!pid)
		return NULL;
	if (use->processes.count < NPU_USE_PROCESSES_MAX) {
		snprintf(added.comm, sizeof added.comm, "%s", comm);
		position = keyed_array_add(&use->processes, &added);
	} else {
		position = keyed_array_find(&use->processes, &pid);
	}
	return position == POSITION_NONE ? NULL : &use->processes.items[position];
}

bool npu_use_knows(const struct npu_use *use, uint32_t pid)
{
	return keyed_array_find(&use->processes, &pid) != POSITION_NONE;
}

static bool is_request(const struct ivpu_function *function)
{
	return function->flags & IVPU_FUNCTION_IOCTL || function->event == IVPU_EVENT_CONTEXT ||
	       function->event == IVPU_EVENT_SUBMIT;
}

void npu_use_add(struct npu_use *use, const struct npu_calls *calls)
{
	enum ivpu_event event = calls->function->event;
	struct phase_sums *sums = &use->phases[calls->place.phase];
	struct npu_process *process = process_get(use, calls->pid, calls->comm);
	uint64_t pages = event == IVPU_EVENT_PAGE_MAP ? calls->count : 0;

	sums->calls += calls->count;
	sums->driver_time += calls->driver_time;
	sums->pages += pages;
	use->submit_pages += calls->place.in_submit ? pages : 0;
	if (!process) {
		use->dropped += calls->pid ? calls->count : 0;
		return;
	}
	process->is_user |= is_request(calls->function);
	process->calls += calls->count;
	process->jobs += event == IVPU_EVENT_SUBMIT ? calls->count : 0;
	process->buffers += event == IVPU_EVENT_BUFFER_CREATE ? calls->count : 0;
	process->pages += pages;
	process->phases[calls->place.phase].calls += calls->count;
	process->phases[calls->place.phase].driver_time += calls->driver_time;
}

void npu_use_spend(struct npu_use *use, enum ivpu_phase phase, uint32_t pid, uint64_t driver_time)
{
	struct npu_process *process = process_get(use, pid, "");

	use->phases[phase].driver_time += driver_time;
	if (process)
		process->phases[phase].driver_time += driver_time;
}

void npu_use_add_job(struct npu_use *use, const struct iaprof_record_job *job)
{
	const struct npu_context added = { .key = { .pid = job->pid, .context = job->context } };
	uint64_t begin = job->started ? job->started : job->queued, end = job->header.time;
	uint32_t position = use->contexts.count < NPU_USE_PROCESSES_MAX ? keyed_array_add(&use->contexts, &added)
									: keyed_array_find(&use->contexts, &added.key);

	if (position == POSITION_NONE) {
		use->dropped++;
		return;
	}
	struct npu_context *context = &use->contexts.items[position];
	uint64_t run = begin && end > begin ? end - begin : 0;
	context->jobs++;
	context->aborted += job->state == IAPROF_JOB_ABORTED;
	context->run_time += run;
	context->queue_time += job->submitted && begin > job->submitted ? begin - job->submitted : 0;
	use->run_time += run;
}

void npu_use_set_memory(struct npu_use *use, uint32_t pid, uint64_t bytes)
{
	struct npu_process *process = keyed_array_get(&use->processes, &pid);

	if (process && bytes > process->memory)
		process->memory = bytes;
}

/* Appends nothing if the time is not known. */
static void append_time(struct text *text, const char *before, uint64_t time)
{
	double seconds = (double)time / 1e9;

	if (time)
		text_append_format(text, "%s%.3g %s", before,
				   seconds >= 1      ? seconds
				   : seconds >= 1e-3 ? seconds * 1e3
						     : seconds * 1e6,
				   seconds >= 1      ? "s"
				   : seconds >= 1e-3 ? "ms"
						     : "us");
}

static void append_count(struct text *text, const char *before, uint64_t count, const char *singular,
			 const char *plural)
{
	if (count)
		text_append_format(text, "%s%" PRIu64 " %s", before, count, count == 1 ? singular : plural);
}

/* Appends nothing if the size is not known. */
static void append_bytes(struct text *text, uint64_t bytes)
{
	double kibibytes = (double)bytes / 1024;

	if (bytes)
		text_append_format(text, " (%.3g %s)", kibibytes >= 1024 ? kibibytes / 1024 : kibibytes,
				   kibibytes >= 1024 ? "MiB" : "KiB");
}

static void append_pages(struct text *text, uint64_t pages)
{
	append_count(text, ", ", pages, "page", "pages");
	append_bytes(text, pages * PAGE);
}

static void describe_phase(struct text *text, const struct npu_use *use, enum ivpu_phase phase,
			   const struct ivpu_statistics *statistics)
{
	append_pages(text, use->phases[phase].pages);
	if (phase == IVPU_PHASE_MAP && use->submit_pages)
		text_append_format(text,
				   ", %" PRIu64 " of them in submissions: the driver maps a buffer when a job first "
				   "uses it, not when it is allocated",
				   use->submit_pages);
	if (phase == IVPU_PHASE_BOOT) {
		append_count(text, ", ", statistics->boots, "boot", "boots");
		append_count(text, ", ", statistics->boot_polls, "poll for the firmware's first message",
			     "polls for the firmware's first message");
	}
	if (phase == IVPU_PHASE_RUN)
		append_count(text, ", ", statistics->jobs, "job", "jobs");
	if (phase == IVPU_PHASE_ALLOCATE) {
		append_count(text, ", ", statistics->buffers_created, "buffer", "buffers");
		append_bytes(text, statistics->created_bytes);
	}
	if (phase == IVPU_PHASE_RECOVERY)
		append_count(text, ", ", statistics->recoveries, "recovery", "recoveries");
}

/* Appends the note and empties the text. */
static int note_emit(struct text *text, struct record_batch *batch, const char *name, uint64_t value, uint32_t pid,
		     uint64_t time)
{
	const struct record_finding finding = { .severity = IAPROF_FINDING_NOTE,
						.name = name,
						.text = text_string(text),
						.value = (double)value,
						.pid = pid };
	int result = text->failed ? -ENOMEM : record_batch_add_finding(batch, &finding, time);

	text->size = 0;
	return result;
}

static int emit_phases(const struct npu_use *use, struct text *text, struct record_batch *batch,
		       const struct ivpu_statistics *statistics, uint64_t time)
{
	uint64_t total = 0;
	int result = 0;

	for (uint32_t i = 0; i < IVPU_PHASE_COUNT; i++)
		total += use->phases[i].calls;
	for (uint32_t i = 0; i < IVPU_PHASE_COUNT && !result; i++) {
		/* What is not known is last. */
		uint32_t phase = (i + 1) % IVPU_PHASE_COUNT;
		const struct phase_sums *sums = &use->phases[phase];
		if (!sums->calls && !sums->elapsed)
			continue;
		text_append_format(text, "%s: ", ivpu_phase_name(phase));
		append_time(text, "", sums->elapsed);
		if (sums->calls)
			text_append_format(text, "%s%" PRIu64 " calls (%.3g %%)", sums->elapsed ? ", " : "",
					   sums->calls, 100.0 * (double)sums->calls / (double)total);
		append_time(text, ", driver time ", sums->driver_time);
		describe_phase(text, use, phase, statistics);
		result = note_emit(text, batch, ivpu_phase_note(phase), sums->calls, 0, time);
	}
	return result;
}

static int emit_process(const struct npu_process *process, struct text *text, struct record_batch *batch, uint64_t time)
{
	if (process->comm[0])
		text_append_format(text, "%s: ", process->comm);
	append_count(text, "", process->calls, "call", "calls");
	append_count(text, ", ", process->jobs, "job", "jobs");
	append_count(text, ", ", process->buffers, "buffer", "buffers");
	append_pages(text, process->pages);
	if (process->memory)
		text_append_format(text, ", at most %.3g MiB on the NPU", (double)process->memory / 1048576);
	for (uint32_t phase = 0; phase < IVPU_PHASE_COUNT; phase++) {
		const struct phase_sums *sums = &process->phases[phase];
		if (!sums->calls)
			continue;
		text_append_format(text, "; %s %" PRIu64, ivpu_phase_name(phase), sums->calls);
		append_time(text, ", ", sums->driver_time);
	}
	return note_emit(text, batch, "npu-process", process->calls, process->key, time);
}

static void append_context(struct text *text, const struct npu_use *use, const struct npu_context *context)
{
	if (context->key.context)
		text_append_format(text, "context %" PRIu32 ": ", context->key.context);
	text_append_format(text, "%" PRIu64 " job%s", context->jobs, context->jobs == 1 ? "" : "s");
	append_count(text, ", ", context->aborted, "aborted", "aborted");
	append_time(text, ", run time ", context->run_time);
	if (context->run_time)
		text_append_format(text, " (%.3g %% of all jobs')",
				   100.0 * (double)context->run_time / (double)use->run_time);
	append_time(text, ", queue time per job ", context->queue_time / context->jobs);
}

/* By process; its context with most run time is first. */
static int compare_contexts(const void *left, const void *right)
{
	const struct npu_context *one = left, *other = right;

	if (one->key.pid != other->key.pid)
		return one->key.pid < other->key.pid ? -1 : 1;
	if (one->run_time != other->run_time)
		return one->run_time > other->run_time ? -1 : 1;
	return one->key.context < other->key.context ? -1 : one->key.context > other->key.context;
}

/* Appends the contexts of the process of the first one. Returns their number. */
static size_t append_contexts(struct text *text, const struct npu_use *use, const struct npu_context *contexts,
			      size_t count)
{
	const struct npu_process *process = keyed_array_get(&use->processes, &contexts->key.pid);
	size_t end = 0;

	if (process && process->comm[0])
		text_append_format(text, "%s, ", process->comm);
	for (; end < count && contexts[end].key.pid == contexts->key.pid; end++) {
		if (end < NPU_USE_CONTEXTS_SHOWN)
			text_append_string(text, end ? "; " : "");
		if (end < NPU_USE_CONTEXTS_SHOWN)
			append_context(text, use, &contexts[end]);
	}
	if (end > NPU_USE_CONTEXTS_SHOWN)
		text_append_format(text, "; %zu more", end - NPU_USE_CONTEXTS_SHOWN);
	return end;
}

/* A note for each process: the core adds up those of the same name and process. */
static int emit_contexts(const struct npu_use *use, struct text *text, struct record_batch *batch, uint64_t time)
{
	size_t count = use->contexts.count;
	struct npu_context *contexts CLEANUP_FREE = calloc(count + 1, sizeof *contexts);
	int result = contexts ? 0 : -ENOMEM;

	if (contexts && count) {
		memcpy(contexts, use->contexts.items, count * sizeof *contexts);
		qsort(contexts, count, sizeof *contexts, compare_contexts);
	}
	for (size_t i = 0; i < count && !result;) {
		uint32_t pid = contexts[i].key.pid;
		size_t its = append_contexts(text, use, &contexts[i], count - i);
		result = note_emit(text, batch, "npu-context", its, pid, time);
		i += its;
	}
	return result;
}

int npu_use_emit(const struct npu_use *use, struct record_batch *batch, const struct ivpu_statistics *statistics,
		 uint64_t time)
{
	struct text text = { 0 };
	int result = emit_phases(use, &text, batch, statistics, time);

	for (size_t i = 0; i < use->processes.count && !result; i++)
		if (use->processes.items[i].is_user)
			result = emit_process(&use->processes.items[i], &text, batch, time);
	if (!result)
		result = emit_contexts(use, &text, batch, time);
	if (use->dropped)
		batch->host->lost(batch->host, "NPU use: too many processes or contexts", time, use->dropped, 0, 0);
	text_free(&text);
	return result;
}
