/* SPDX-License-Identifier: Apache-2.0 */
/* See use.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "npu/use.h"

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

/* Returns the sums of a context, or NULL if there are too many. */
static struct npu_context *context_get(struct npu_use *use, uint32_t pid, uint32_t context)
{
	const struct npu_context added = { .key = { .pid = pid, .context = context } };
	uint32_t position = use->contexts.count < NPU_USE_PROCESSES_MAX ? keyed_array_add(&use->contexts, &added)
									: keyed_array_find(&use->contexts, &added.key);

	return position == POSITION_NONE ? NULL : &use->contexts.items[position];
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
	process->buffers_freed += event == IVPU_EVENT_BUFFER_FREE ? calls->count : 0;
	process->mappings += event == IVPU_EVENT_MAPPING ? calls->count : 0;
	process->pages += pages;
	process->phases[calls->place.phase].calls += calls->count;
	process->phases[calls->place.phase].driver_time += calls->driver_time;
	struct npu_context *context = calls->context ? context_get(use, calls->pid, calls->context) : NULL;
	if (!context) {
		use->dropped += calls->context ? calls->count : 0;
		return;
	}
	context->calls += calls->count;
	context->pages += pages;
	context->phases[calls->place.phase].calls += calls->count;
	context->phases[calls->place.phase].driver_time += calls->driver_time;
}

void npu_use_spend(struct npu_use *use, enum ivpu_phase phase, uint32_t pid, uint64_t driver_time)
{
	struct npu_process *process = process_get(use, pid, "");

	use->phases[phase].driver_time += driver_time;
	if (process)
		process->phases[phase].driver_time += driver_time;
}

void npu_use_name(struct npu_use *use, uint32_t pid, const char *comm)
{
	struct npu_process *process = process_get(use, pid, comm);

	if (process && !process->comm[0])
		snprintf(process->comm, sizeof process->comm, "%s", comm);
}

/* The process of a call, and the context if it is known; each may be NULL. */
struct caller {
	struct npu_process *process;
	struct npu_context *context;
};

static struct caller caller_get(struct npu_use *use, uint32_t pid, uint32_t context)
{
	struct npu_process *process = process_get(use, pid, "");

	return (struct caller){ process, process && context ? context_get(use, pid, context) : NULL };
}

void npu_use_add_boot_time(struct npu_use *use, uint32_t pid, uint32_t context, uint64_t time)
{
	struct caller caller = caller_get(use, pid, context);

	if (caller.process)
		caller.process->boot_time += time;
	if (caller.context)
		caller.context->boot_time += time;
}

static void longest_keep(struct npu_use *use, const struct iaprof_record_job *job)
{
	uint64_t duration = job->submitted && job->header.time > job->submitted ? job->header.time - job->submitted : 0;

	if (duration <= use->longest.duration)
		return;
	use->longest.duration = duration;
	use->longest.id = job->id;
	use->longest.pid = job->pid;
	use->longest.context = job->context;
}

void npu_use_add_job(struct npu_use *use, const struct iaprof_record_job *job, uint64_t run_time)
{
	longest_keep(use, job);
	if (job->state == IAPROF_JOB_IN_FLIGHT)
		return;
	uint64_t end = job->header.time, waited = end - run_time;
	struct npu_context *context = context_get(use, job->pid, job->context);

	if (!context) {
		use->dropped++;
		return;
	}
	context->jobs++;
	context->timed += job->queued && end >= job->queued;
	context->aborted += job->state == IAPROF_JOB_ABORTED;
	context->run_time += run_time;
	context->queue_time += job->submitted && waited > job->submitted ? waited - job->submitted : 0;
	use->run_time += run_time;
}

void npu_use_add_allocated(struct npu_use *use, uint32_t pid, uint32_t context, uint64_t bytes)
{
	struct caller caller = caller_get(use, pid, context);

	if (caller.process)
		caller.process->allocated += bytes;
	if (caller.context)
		caller.context->allocated += bytes;
}

void npu_use_set_memory(struct npu_use *use, uint32_t pid, uint64_t bytes)
{
	struct npu_process *process = keyed_array_get(&use->processes, &pid);

	if (process && bytes > process->memory)
		process->memory = bytes;
}

void npu_use_user_text(const struct npu_use *use, uint32_t pid, char *text, size_t size)
{
	const struct npu_process *process = keyed_array_get(&use->processes, &pid);

	if (!pid)
		*text = '\0';
	else if (process && process->comm[0])
		snprintf(text, size, "%s (%" PRIu32 ")", process->comm, pid);
	else
		snprintf(text, size, "process %" PRIu32, pid);
}

static uint64_t boots_of(const struct npu_process *process)
{
	return process->phases[IVPU_PHASE_BOOT].calls;
}

static uint64_t jobs_of(const struct npu_process *process)
{
	return process->jobs;
}

static uint64_t buffers_of(const struct npu_process *process)
{
	return process->buffers > process->buffers_freed ? process->buffers - process->buffers_freed : 0;
}

static uint64_t mappings_of(const struct npu_process *process)
{
	return process->mappings ? process->mappings : process->pages;
}

/* Writes the user with the largest number; nothing if all have 0. */
static void largest_text(const struct npu_use *use, uint64_t (*number)(const struct npu_process *process), char *text,
			 size_t size)
{
	const struct npu_process *largest = NULL;

	for (size_t i = 0; i < use->processes.count; i++) {
		const struct npu_process *process = &use->processes.items[i];
		if (process->is_user && number(process) && (!largest || number(process) > number(largest)))
			largest = process;
	}
	npu_use_user_text(use, largest ? largest->key : 0, text, size);
}

/* The two contexts with most jobs. */
static void turns_name(const struct npu_use *use, struct ivpu_names *names)
{
	const struct npu_context *most[2] = { NULL, NULL };
	uint64_t queue_time = 0, jobs = 0;

	for (size_t i = 0; i < use->contexts.count; i++) {
		const struct npu_context *context = &use->contexts.items[i];
		jobs += context->timed;
		queue_time += context->queue_time;
		if (!most[0] || context->jobs > most[0]->jobs) {
			most[1] = most[0];
			most[0] = context;
		} else if (!most[1] || context->jobs > most[1]->jobs) {
			most[1] = context;
		}
	}
	names->turns_queue = jobs ? (double)queue_time / 1e9 / (double)jobs : 0;
	for (uint32_t i = 0; i < 2 && most[1]; i++) {
		char user[NPU_USE_COMM_SIZE];
		npu_use_user_text(use, most[i]->key.pid, user, sizeof user);
		if (!most[i]->key.pid || most[0]->key.pid == most[1]->key.pid)
			snprintf(names->turns[i], sizeof names->turns[i], "%s%scontext %" PRIu32, user,
				 *user ? ", " : "", most[i]->key.context);
		else
			snprintf(names->turns[i], sizeof names->turns[i], "%s", user);
	}
}

void npu_use_describe(const struct npu_use *use, struct ivpu_statistics *statistics)
{
	struct ivpu_names *names = &statistics->names;
	char user[NPU_USE_COMM_SIZE], context[32] = "", id[24] = "a job";

	statistics->mappings.seconds = (double)use->phases[IVPU_PHASE_MAP].elapsed / 1e9;
	statistics->jobs.seconds = (double)use->phases[IVPU_PHASE_RUN].elapsed / 1e9;
	largest_text(use, boots_of, names->boots, sizeof names->boots);
	largest_text(use, jobs_of, names->jobs, sizeof names->jobs);
	largest_text(use, buffers_of, names->buffers, sizeof names->buffers);
	largest_text(use, mappings_of, names->mappings, sizeof names->mappings);
	turns_name(use, names);
	npu_use_user_text(use, use->longest.pid, user, sizeof user);
	if (use->longest.id)
		snprintf(id, sizeof id, "job %" PRIu32, use->longest.id);
	if (use->longest.context)
		snprintf(context, sizeof context, ", context %" PRIu32, use->longest.context);
	if (*user)
		snprintf(names->longest_job, sizeof names->longest_job, "%s of %s%s", id, user, context);
}

static void oldest_sum(struct busy_times *times)
{
	times->summed += times->intervals[0].end - times->intervals[0].begin;
	times->summed_until = times->intervals[0].end;
	times->count--;
	memmove(times->intervals, times->intervals + 1, times->count * sizeof *times->intervals);
}

uint64_t busy_times_add(struct busy_times *times, uint64_t begin, uint64_t end)
{
	uint64_t covered = 0;
	uint32_t at = times->count, overlapping;

	/* When jobs ran before the oldest interval is not known any more. */
	begin = begin < times->summed_until ? times->summed_until : begin;
	if (end <= begin)
		return 0;
	uint64_t from = begin, to = end;
	/* Nearly always, the last interval ends before this one begins, or overlaps it. */
	while (at && times->intervals[at - 1].begin > end)
		at--;
	for (overlapping = at; overlapping && times->intervals[overlapping - 1].end >= begin; overlapping--) {
		uint64_t its_begin = times->intervals[overlapping - 1].begin,
			 its_end = times->intervals[overlapping - 1].end;
		covered += (its_end < end ? its_end : end) - (its_begin > begin ? its_begin : begin);
		from = its_begin < from ? its_begin : from;
		to = its_end > to ? its_end : to;
	}
	/* One interval takes the place of those that overlap. */
	if (overlapping == at) {
		if (times->count == BUSY_INTERVALS && at == 0) {
			/* It precedes all that are kept. */
			times->summed += end - begin;
			times->summed_until = end;
			return end - begin;
		}
		if (times->count == BUSY_INTERVALS) {
			oldest_sum(times);
			at--;
		}
		memmove(times->intervals + at + 1, times->intervals + at,
			(times->count - at) * sizeof *times->intervals);
		times->count++;
		overlapping = at;
	} else {
		memmove(times->intervals + overlapping + 1, times->intervals + at,
			(times->count - at) * sizeof *times->intervals);
		times->count -= at - overlapping - 1;
	}
	times->intervals[overlapping].begin = from;
	times->intervals[overlapping].end = to;
	return end - begin - covered;
}

uint64_t busy_engines_add(struct busy_times engines[static BUSY_ENGINES], uint32_t engine, uint64_t queued,
			  uint64_t ended)
{
	if (!queued || ended <= queued)
		return 0;
	return engine < BUSY_ENGINES ? busy_times_add(&engines[engine], queued, ended) : ended - queued;
}

uint64_t busy_times_total(const struct busy_times *times)
{
	uint64_t total = times->summed;

	for (uint32_t i = 0; i < times->count; i++)
		total += times->intervals[i].end - times->intervals[i].begin;
	return total;
}

static struct command_queue *queue_get(struct command_queues *queues, const struct command_queue_key *key)
{
	struct command_queue *oldest = queues->queues;

	for (uint32_t i = 0; i < queues->count; i++) {
		struct command_queue *queue = &queues->queues[i];
		if (!memcmp(&queue->key, key, sizeof *key))
			return queue;
		if (queue->submitted < oldest->submitted)
			oldest = queue;
	}
	if (queues->count < COMMAND_QUEUES_MAX)
		oldest = &queues->queues[queues->count++];
	*oldest = (struct command_queue){ .key = *key };
	return oldest;
}

void command_queues_submit(struct command_queues *queues, const struct command_queue_key *key, uint64_t queued)
{
	struct command_queue *queue = queue_get(queues, key);

	if (queued > queue->submitted)
		queue->submitted = queued;
}

/* Returns whether another queue of the engine had a job after a time. */
static bool others_had_jobs(const struct command_queues *queues, const struct command_queue_key *key, uint64_t begin)
{
	for (uint32_t i = 0; i < queues->count; i++) {
		const struct command_queue *other = &queues->queues[i];
		if (other->key.engine == key->engine && memcmp(&other->key, key, sizeof *key) != 0 &&
		    (other->submitted > other->queued || other->ended > begin))
			return true;
	}
	return false;
}

uint64_t command_queues_end(struct command_queues *queues, const struct command_queue_key *key, uint64_t queued,
			    uint64_t ended)
{
	if (!queued || !ended)
		return 0;
	command_queues_submit(queues, key, queued);
	struct command_queue *queue = queue_get(queues, key);
	/* A job that was queued later did not precede it: the jobs are of queues that have the same key. */
	bool is_overtaken = queue->queued > queued;
	uint64_t begin = queue->ended > queued && !is_overtaken ? queue->ended : queued;
	bool is_known = !is_overtaken && !others_had_jobs(queues, key, begin);

	queues->jobs++;
	queues->unknown += !is_known;
	if (!is_overtaken)
		queue->queued = queued;
	queue->ended = ended;
	/* The device may have ended it before the driver reported it as queued. */
	return !is_known ? 0 : begin < ended ? begin : ended;
}
