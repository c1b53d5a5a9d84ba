/* SPDX-License-Identifier: Apache-2.0 */
/* See job_events.h. */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include "job_events.h"

/* Larger than any tracepoint record: perf's limit is 8 KiB (PERF_MAX_TRACE_SIZE, include/linux/trace_events.h). */
#define FIELD_OFFSET_MAX 8192u

/* A line: "\tfield:u32 ctx_id;\toffset:16;\tsize:4;\tsigned:0;". The name ends the declaration. */
static bool field_parse(const char *line, const char *name, uint32_t size, uint32_t *offset)
{
	char declaration[128];
	unsigned int at, bytes;

	if (sscanf(line, " field:%127[^;]; offset:%u; size:%u;", declaration, &at, &bytes) != 3)
		return false;
	const char *last = strrchr(declaration, ' ');
	if (!last || strcmp(last + 1, name) || bytes != size || at > FIELD_OFFSET_MAX)
		return false;
	*offset = at;
	return true;
}

bool job_format_parse(struct job_format *format, const char *text)
{
	const struct {
		const char *name;
		uint32_t size;
		uint32_t *offset;
	} fields[] = { { "event", sizeof(void *), &format->event },
		       { "ctx_id", 4, &format->context },
		       { "engine_id", 4, &format->engine },
		       { "job_id", 4, &format->id } };
	unsigned int found = 0;

	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		for (unsigned int i = 0; i < 4; i++)
			found |= (unsigned int)field_parse(line, fields[i].name, fields[i].size, fields[i].offset) << i;
	return found == 0xf;
}

bool job_format_read(struct job_format *format)
{
	static const char *const paths[] = { "/sys/kernel/tracing/events/vpu/job/format",
					     "/sys/kernel/debug/tracing/events/vpu/job/format" };
	char text[4096] = "";

	for (unsigned int i = 0; i < 2 && !*text; i++) {
		FILE *file = fopen(paths[i], "re");
		if (!file)
			continue;
		text[fread(text, 1, sizeof text - 1, file)] = '\0';
		fclose(file);
	}
	return job_format_parse(format, text);
}

bool job_name_is_unique(void)
{
	static const char *const patterns[] = { "/sys/kernel/tracing/events/*/job",
						"/sys/kernel/debug/tracing/events/*/job" };
	size_t count = 0;

	for (unsigned int i = 0; i < 2 && !count; i++) {
		glob_t found = { 0 };
		if (glob(patterns[i], 0, NULL, &found) == 0)
			count = found.gl_pathc;
		globfree(&found);
	}
	return count == 1;
}

static void job_complete(struct job_event *job, const struct job_event *submit, const struct job_event *end)
{
	*job = *submit;
	job->type = JOB_EVENT_JOB;
	job->flags |= end->flags;
	job->id = end->id;
	job->context = end->context;
	job->status = end->status;
	job->ended = end->ended;
}

static void early_remove(struct job_queue *queue, uint32_t index)
{
	queue->early_count--;
	memmove(&queue->early[index], &queue->early[index + 1], (queue->early_count - index) * sizeof *queue->early);
}

enum job_queue_result job_queue_submit(struct job_queue *queue, const struct job_event *submit, struct job_event *job)
{
	for (uint32_t i = 0; i < queue->early_count; i++) {
		if (queue->early[i].ended < submit->submitted || queue->early[i].ended > submit->queued)
			continue;
		job_complete(job, submit, &queue->early[i]);
		early_remove(queue, i);
		return JOB_QUEUE_JOB;
	}
	if (queue->count == JOBS_MAX)
		return JOB_QUEUE_FULL;
	queue->waiting[(queue->first + queue->count++) % JOBS_MAX] = *submit;
	return JOB_QUEUE_NOTHING;
}

static struct job_event *waiting_at(struct job_queue *queue, uint32_t index)
{
	return &queue->waiting[(queue->first + index) % JOBS_MAX];
}

static void waiting_remove(struct job_queue *queue, uint32_t index, struct job_event *job)
{
	*job = *waiting_at(queue, index);
	for (; index; index--)
		*waiting_at(queue, index) = *waiting_at(queue, index - 1);
	queue->first = (queue->first + 1) % JOBS_MAX;
	queue->count--;
}

bool job_queue_take(struct job_queue *queue, struct job_event *job)
{
	if (!queue->count)
		return false;
	waiting_remove(queue, 0, job);
	return true;
}

/* Returns the oldest job of a context, or of all contexts if the owner is unknown. The queue is not empty. */
static uint32_t waiting_find(struct job_queue *queue, uint32_t context)
{
	uint32_t oldest = waiting_at(queue, 0)->pid, others = 0, own = queue->count;

	if (!context || context >= JOB_QUEUE_CONTEXTS)
		return 0;
	for (uint32_t i = 0; i < queue->count; i++) {
		uint32_t pid = waiting_at(queue, i)->pid;
		others += pid != oldest;
		if (own == queue->count && pid == queue->owners[context])
			own = i;
	}
	if (!others)
		queue->owners[context] = oldest;
	return own < queue->count ? own : 0;
}

enum job_queue_result job_queue_end(struct job_queue *queue, const struct job_event *end, struct job_event *job)
{
	struct job_event submit;

	if (queue->count) {
		waiting_remove(queue, waiting_find(queue, end->context), &submit);
		job_complete(job, &submit, end);
		return JOB_QUEUE_JOB;
	}
	if (queue->early_count == JOB_QUEUE_EARLY)
		early_remove(queue, 0);
	queue->early[queue->early_count++] = *end;
	return JOB_QUEUE_NOTHING;
}
