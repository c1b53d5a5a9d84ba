/* SPDX-License-Identifier: Apache-2.0 */
/* See activity.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "activity.h"
#include "busy_history.h"
#include "client_usage.h"
#include "client_watch.h"
#include "activity_source.h"
#include "records/record_batch.h"
#if ACTIVITY_HAS_BPF
#include "job_records.h"
#include "scheduler.h"
#include "scheduler_event.h"
#endif

#define GTS_MAX 64u
/* Pairs of device and process that are busy in one interval; further ones are counted as lost. */
#define SUMS_MAX 1024u
/* Clients whose statistics contradict the scheduler; per device, one is enough. */
#define DOUBTS_MAX 64u

struct gt {
	uint32_t device;  /* id of its DEVICE record */
	uint32_t address; /* index into addresses */
};

struct doubt {
	uint64_t client;
	uint32_t device;
};

struct activity {
	const struct iaprof_host *host;
	char addresses[GTS_MAX][PCI_ADDRESS_SIZE]; /* PCI devices; busy_piece refers to them by index */
	uint32_t address_count;
	struct gt gts[GTS_MAX];
	uint32_t gt_count;
	struct scheduler *scheduler;  /* NULL: only statistics are available */
	bool reports_job_ends;        /* the scheduler reports the end of all jobs */
	bool doubted;                 /* the statistics contradicted the scheduler, and a warning was printed */
	uint64_t jobs_lost;           /* losses of the scheduler reported so far */
	uint64_t jobs_unsent;         /* jobs without a record, reported so far */
	bool jobs_ignored[GTS_MAX];   /* by address: not all jobs are known, so none are recorded */
	uint64_t stopped;             /* end of the run, while running jobs are emitted */
	struct client_watch *clients; /* NULL: not available */
	struct client_news news;
	uint64_t used[GTS_MAX]; /* ns of client activity, by address */
	struct doubt doubts[DOUBTS_MAX];
	size_t doubt_count;
	bool idle; /* no samples were read lately */
	struct busy_history history;
	uint64_t forgotten; /* losses of the history reported so far */
	uint64_t left_out;  /* clients left out, reported so far */
	uint64_t newest;    /* end of the newest interval, the start of the next loss report */
	struct busy_piece sums[SUMS_MAX];
	struct busy_piece window[SUMS_MAX]; /* the last ACTIVITY_SOURCE_WINDOW before the clients were last read */
	size_t window_count;
	struct record_batch batch;
};

static void warn_without_scheduler(const struct activity *activity, const char *reason)
{
	activity->host->log(activity->host, IAPROF_LOG_WARNING,
			    "%s: GPU use by process is known from usage statistics only, read ten times per second",
			    reason);
}

static void scheduler_open(struct activity *activity, bool record_jobs)
{
	const char *reason = "iaprof was built without BPF";

	(void)record_jobs;
#if ACTIVITY_HAS_BPF
	activity->scheduler = scheduler_new(activity->host, record_jobs, &reason);
#endif
	if (!activity->scheduler)
		warn_without_scheduler(activity, reason);
}

struct activity *activity_new(const struct iaprof_host *host, bool record_jobs)
{
	struct activity *activity = calloc(1, sizeof *activity);

	if (!activity || record_batch_init(&activity->batch, host)) {
		free(activity);
		return NULL;
	}
	struct utsname kernel = { 0 };
	uname(&kernel);
	activity->reports_job_ends = activity_source_reports_job_ends(kernel.release);
	activity->host = host;
	scheduler_open(activity, record_jobs);
	activity->clients = client_watch_new("/proc");
	if (!activity->clients)
		host->log(host, IAPROF_LOG_WARNING,
			  "/proc: %s: GPU use by process is unknown, so samples of addresses that several processes "
			  "use are ambiguous",
			  strerror(errno));
	return activity;
}

void activity_free(struct activity *activity)
{
	if (!activity)
		return;
	client_watch_free(activity->clients);
	client_news_free(&activity->news);
	busy_history_free(&activity->history);
	record_batch_free(&activity->batch);
#if ACTIVITY_HAS_BPF
	struct scheduler_totals totals = { 0 };
	if (activity->scheduler)
		scheduler_totals_read(activity->scheduler, &totals);
	if (totals.jobs)
		activity->host->log(
			activity->host, IAPROF_LOG_INFO,
			"%" PRIu64 " GPU jobs, %" PRIu64 " ns overhead per job, %" PRIu64 " missed scheduler events",
			(uint64_t)totals.jobs, (uint64_t)(totals.handler_time / totals.jobs), (uint64_t)totals.missed);
	scheduler_free(activity->scheduler);
#endif
	free(activity);
}

int activity_add_device(struct activity *activity, const char *pci_address, uint32_t device)
{
	uint32_t index = 0;

	if (!*pci_address || strlen(pci_address) >= PCI_ADDRESS_SIZE)
		return -EINVAL;
	if (activity->gt_count == GTS_MAX)
		return -E2BIG;
	while (index < activity->address_count && strcmp(activity->addresses[index], pci_address) != 0)
		index++;
	if (index == activity->address_count) {
		strcpy(activity->addresses[activity->address_count++], pci_address);
		if (activity->clients && client_watch_add_device(activity->clients, pci_address) < 0)
			return -E2BIG;
#if ACTIVITY_HAS_BPF
		int error = activity->scheduler ? scheduler_add_device(activity->scheduler, pci_address, index) : 0;
		if (error)
			return error;
#endif
	}
	activity->gts[activity->gt_count++] = (struct gt){ .device = device, .address = index };
	return 0;
}

/* If some jobs are missing, the others would show times as idle in which the device is busy. */
static void jobs_ignore(struct activity *activity, uint32_t address, const char *reason)
{
	char key[PCI_ADDRESS_SIZE + 16];

	if (activity->jobs_ignored[address])
		return;
	activity->jobs_ignored[address] = true;
#if ACTIVITY_HAS_BPF
	scheduler_ignore_jobs(activity->scheduler, address);
#endif
	snprintf(key, sizeof key, "jobs of %s", activity->addresses[address]);
	activity->host->metadata(activity->host, key, "not recorded: %s", reason);
}

#if ACTIVITY_HAS_BPF
static int process_was_busy(void *context, uint32_t device, uint32_t pid, uint64_t begin, uint64_t now, uint64_t busy)
{
	struct activity *activity = context;
	struct busy_piece piece = { .begin = begin,
				    .end = now,
				    .busy = busy,
				    .device = device,
				    .pid = pid,
				    .kind = IAPROF_ACTIVITY_SCHEDULER };

	return busy_history_add(&activity->history, &piece);
}

static int job_emit(void *context, const struct scheduler_job *job)
{
	struct activity *activity = context;
	uint32_t address = job->process.device, i = 0;

	if (address >= activity->address_count || activity->jobs_ignored[address])
		return 0;
	if (!job->ended && !activity->stopped) {
		jobs_ignore(activity, address, "the Linux kernel does not report the end of compute jobs before 6.18");
		return 0;
	}
	while (i < activity->gt_count && activity->gts[i].address != address)
		i++;
	return i < activity->gt_count ? job_records_append(&activity->batch, job, activity->gts[i].device,
							   job->ended ? 0 : activity->stopped)
				      : 0;
}
#endif

static void client_doubt(struct activity *activity, const struct client_state *client)
{
	for (size_t i = 0; i < activity->doubt_count; i++)
		if (activity->doubts[i].client == client->client && activity->doubts[i].device == client->device)
			return;
	if (activity->doubt_count < DOUBTS_MAX)
		activity->doubts[activity->doubt_count++] =
			(struct doubt){ .client = client->client, .device = client->device };
}

/*
 * Marks the clients of a process whose statistics show activity that the scheduler did not report, for their lifetime.
 */
static void process_doubt(struct activity *activity, const struct busy_piece *statistics)
{
	for (size_t i = 0; i < activity->news.clients.count; i++) {
		const struct client_state *client = &activity->news.clients.items[i];
		if (client->pid == statistics->pid && client->device == statistics->device)
			client_doubt(activity, client);
	}
	if (!activity->doubted)
		activity->host->log(activity->host, IAPROF_LOG_WARNING,
				    "%s: the Linux kernel's GPU scheduler does not report jobs of process %" PRIu32
				    ": using usage statistics, read ten times per second",
				    activity->addresses[statistics->device], statistics->pid);
	activity->doubted = true;
	jobs_ignore(activity, statistics->device, "the GPU scheduler does not report the jobs of a process");
}

static bool doubt_lives(const struct activity *activity, const struct doubt *doubt)
{
	for (size_t i = 0; i < activity->news.clients.count; i++)
		if (activity->news.clients.items[i].client == doubt->client &&
		    activity->news.clients.items[i].device == doubt->device)
			return true;
	return false;
}

static void scheduler_check(struct activity *activity)
{
	uint64_t end = activity->news.reading;
	size_t kept = 0;

	for (size_t i = 0; i < activity->doubt_count; i++)
		if (doubt_lives(activity, &activity->doubts[i]))
			activity->doubts[kept++] = activity->doubts[i];
	activity->doubt_count = kept;
	activity->window_count =
		busy_history_collect(&activity->history, end - ACTIVITY_SOURCE_WINDOW, end, activity->window, SUMS_MAX);
	for (size_t i = 0; i < activity->window_count; i++)
		if (activity_source_contradicts(activity->window, activity->window_count, &activity->window[i]))
			process_doubt(activity, &activity->window[i]);
}

/* Adds the statistics of clients to the history. */
static int news_take(struct activity *activity)
{
	int result = 0;

	if (!activity->clients || !client_watch_take(activity->clients, &activity->news))
		return 0;
	for (size_t i = 0; i < activity->news.pieces.count && result == 0; i++) {
		const struct busy_piece *piece = &activity->news.pieces.items[i];
		activity->used[piece->device] += piece->busy;
		result = busy_history_add(&activity->history, piece);
	}
	activity->history.forgotten += activity->news.forgotten;
	activity->history.goes_on = activity->news.reading;
	if (result == 0 && activity->scheduler && activity->news.reading > ACTIVITY_SOURCE_WINDOW)
		scheduler_check(activity);
	return result;
}

static int activity_read(struct activity *activity)
{
	int result = 0;

#if ACTIVITY_HAS_BPF
	if (activity->scheduler)
		result = scheduler_read(activity->scheduler, process_was_busy, activity);
	if (activity->scheduler && result == 0)
		result = scheduler_read_jobs(activity->scheduler, job_emit, activity);
#endif
	return result ? result : news_take(activity);
}

static int read_failed(const struct activity *activity, int error)
{
	return activity->host->fail(activity->host, error, "cannot read GPU use by process: %s", strerror(-error));
}

int activity_start(struct activity *activity)
{
	const struct iaprof_host *host = activity->host;
	int result = 0;

#if ACTIVITY_HAS_BPF
	if (activity->scheduler)
		result = scheduler_start(activity->scheduler);
	if (result) {
		char reason[160];
		snprintf(reason, sizeof reason, "cannot attach to the GPU scheduler's tracepoints: %s",
			 strerror(-result));
		warn_without_scheduler(activity, reason);
		scheduler_free(activity->scheduler);
		activity->scheduler = NULL;
		result = 0;
	}
#endif
	host->metadata(host, "device activity from", "%s",
		       activity->scheduler ? "the GPU scheduler's tracepoints" : "usage statistics");
	if (activity->clients)
		result = client_watch_start(activity->clients);
	if (result == 0)
		result = activity_read(activity);
	activity->newest = host->clock(host);
	return result ? read_failed(activity, result) : 0;
}

static uint32_t label_intern(struct activity *activity, uint32_t pid, uint64_t now)
{
	enum code_label label = activity->clients ? client_watch_label(activity->clients, pid, now) : CODE_LABEL_NONE;

	return record_batch_text(&activity->batch, code_label_text(label));
}

static int sums_emit(struct activity *activity, size_t sum_count)
{
	uint64_t now = activity->host->clock(activity->host);
	int result = 0;

	for (size_t i = 0; i < sum_count; i++) {
		const struct busy_piece *sum = &activity->sums[i];
		uint32_t label = label_intern(activity, sum->pid, now);
		for (uint32_t j = 0; j < activity->gt_count && result == 0; j++) {
			if (activity->gts[j].address != sum->device)
				continue;
			struct iaprof_record_device_activity record = {
				.header = { .size = sizeof record,
					    .type = IAPROF_RECORD_DEVICE_ACTIVITY,
					    .time = sum->end },
				.begin = sum->begin,
				.busy = sum->busy,
				.device = activity->gts[j].device,
				.pid = sum->pid,
				.kind = sum->kind,
				.label = label,
			};
			result = record_batch_append(&activity->batch, &record.header);
		}
	}
	return result ? result : record_batch_flush(&activity->batch);
}

static uint32_t device_kind(const struct activity *activity, uint32_t address)
{
	size_t doubts = 0, unread = 0;

	for (size_t i = 0; i < activity->doubt_count; i++)
		doubts += activity->doubts[i].device == address;
	for (size_t i = 0; i < activity->news.clients.count; i++)
		unread += activity->news.clients.items[i].device == address && !activity->news.clients.items[i].read;
	return activity_source_kind(activity->reports_job_ends, doubts, unread);
}

static size_t kinds_choose(struct activity *activity, size_t count)
{
	uint32_t kinds[GTS_MAX];

	for (uint32_t i = 0; i < activity->address_count; i++)
		kinds[i] = device_kind(activity, i);
	return activity_source_choose(activity->sums, count, kinds, activity->window, activity->window_count);
}

static int processes_count(const struct busy_piece *sums, size_t count)
{
	int processes = 0;

	for (size_t i = 0; i < count; i++) {
		size_t earlier = 0;
		while (earlier < i && sums[earlier].pid != sums[i].pid)
			earlier++;
		processes += earlier == i;
	}
	return processes;
}

static void losses_report(struct activity *activity, size_t sum_count, uint64_t end)
{
	const struct iaprof_host *host = activity->host;
	uint64_t forgotten = activity->history.forgotten - activity->forgotten;
	uint64_t left_out = activity->news.left_out - activity->left_out;
	uint64_t jobs_lost = activity->jobs_lost, jobs_unsent = activity->jobs_unsent;

#if ACTIVITY_HAS_BPF
	struct scheduler_totals totals;
	if (activity->scheduler) {
		scheduler_totals_read(activity->scheduler, &totals);
		jobs_lost = totals.lost;
		jobs_unsent = totals.jobs_lost;
	}
#endif
	if (jobs_lost != activity->jobs_lost)
		host->lost(host, "device activity: a job's beginning or end not noted", activity->newest,
			   jobs_lost - activity->jobs_lost, 0, 0);
	if (jobs_unsent != activity->jobs_unsent)
		host->lost(host, "GPU jobs: submission not seen, or no room", activity->newest,
			   jobs_unsent - activity->jobs_unsent, 0, 0);
	activity->jobs_lost = jobs_lost;
	activity->jobs_unsent = jobs_unsent;
	if (forgotten || sum_count == SUMS_MAX)
		host->lost(host, "device activity: too many busy processes", activity->newest,
			   forgotten ? forgotten : IAPROF_COUNT_UNKNOWN, 0, 0);
	if (left_out)
		host->lost(host, "device activity: too many DRM clients", activity->newest, left_out, 0, 0);
	activity->forgotten = activity->history.forgotten;
	activity->left_out = activity->news.left_out;
	activity->newest = end;
}

int activity_emit(struct activity *activity, uint64_t begin, uint64_t end)
{
	int result = activity_read(activity);

	if (result)
		return read_failed(activity, result);
	size_t found = busy_history_collect(&activity->history, begin, end, activity->sums, SUMS_MAX);
	size_t count = kinds_choose(activity, found);
	if (activity->clients && (count == 0 || activity->idle))
		client_watch_search(activity->clients, activity->idle);
	activity->idle = false;
	result = sums_emit(activity, count);
	if (result)
		return result;
	losses_report(activity, found, end);
	busy_history_expire(&activity->history, end > BUSY_HISTORY_TIME ? end - BUSY_HISTORY_TIME : 0);
	return processes_count(activity->sums, count);
}

int activity_record_idle(struct activity *activity)
{
	uint64_t now = activity->host->clock(activity->host);
	int result = activity_read(activity);

	activity->idle = true;
	busy_history_expire(&activity->history, now > BUSY_HISTORY_TIME ? now - BUSY_HISTORY_TIME : 0);
	if (result == 0)
		result = record_batch_flush(&activity->batch);
	return result ? read_failed(activity, result) : 0;
}

uint64_t activity_polled(const struct activity *activity, uint32_t streams)
{
#if ACTIVITY_HAS_BPF
	if (activity->scheduler)
		return scheduler_polled(activity->scheduler, streams);
#endif
	return 0;
}

void activity_forget_polls(struct activity *activity)
{
#if ACTIVITY_HAS_BPF
	if (activity->scheduler)
		scheduler_forget_polls(activity->scheduler);
#endif
}

int activity_stop(struct activity *activity)
{
	int result = 0;

#if ACTIVITY_HAS_BPF
	if (activity->scheduler)
		result = scheduler_read_jobs(activity->scheduler, job_emit, activity);
	activity->stopped = activity->host->clock(activity->host);
	if (activity->scheduler && result == 0)
		result = scheduler_read_running_jobs(activity->scheduler, job_emit, activity);
#endif
	if (result == 0)
		result = record_batch_flush(&activity->batch);
	losses_report(activity, 0, activity->host->clock(activity->host));
	return result ? read_failed(activity, result) : 0;
}

uint64_t activity_used(const struct activity *activity, const char *pci_address)
{
	for (uint32_t i = 0; i < activity->address_count; i++)
		if (strcmp(activity->addresses[i], pci_address) == 0)
			return activity->used[i];
	return 0;
}
