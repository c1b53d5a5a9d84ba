/* SPDX-License-Identifier: Apache-2.0 */
/* See proc_scan.h. */
#include "process/proc_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <iaprof/host.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/log.h"
#include "process/proc_reader.h"
#include "process/process.h"
#include "process/process_stat.h"

/*
 * Limits on the time for reading memory maps, beyond the usual time for each (1,000 mappings): for the processes of one
 * untrusted user, and for those of all of them.
 */
#define MAPS_TIME_USUAL (NANOSECONDS_PER_SECOND / 1000)
#define MAPS_TIME_USER (NANOSECONDS_PER_SECOND / 4)
#define MAPS_TIME_OTHERS NANOSECONDS_PER_SECOND

/* A mapping of a file, continued to the end of what follows it. */
struct neighbour {
	struct sideband_event event; /* size 0: none */
	char path[PATH_MAX];
};

struct scan {
	struct sideband_writer *writer;
	struct live_processes *live;
	struct user_accounts *users; /* refused: memory maps that were not read to the end */
	struct run_delay delay;
	uint64_t begin;
	uint64_t malformed;              /* malformed lines of maps */
	char root[PATH_MAX];             /* root folder of the current process if it is a chroot, else empty */
	struct neighbour file;           /* the file mapped up to the current mapping */
	struct sideband_event anonymous; /* executable, up to the current mapping, not written yet; size 0: none */
	struct proc_maps maps;
};

static void write_unreadable(struct scan *scan, uint32_t pid, const char *reason)
{
	sideband_write_process(scan->writer, clock_monotonic(), IAPROF_PROCESS_UNREADABLE, pid, 0, NULL, 0);
	log_message(IAPROF_LOG_INFO, "cannot read the memory map of process %" PRIu32 ": %s", pid, reason);
}

/*
 * /proc/PID/maps has paths as seen from iaprof's root, events as seen from that of the process: in a chroot, the path
 * of its root is removed.
 */
static void root_read(struct scan *scan, uint32_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%u/root", pid);
	ssize_t length = readlink(path, scan->root, sizeof scan->root - 1);
	if (length == 1 || length < 0)
		length = 0;
	scan->root[length] = 0;
}

static void event_write(struct scan *scan, struct sideband_event event, uint32_t flags)
{
	size_t root = strlen(scan->root);
	if (root && event.text_length > root && event.text[root] == '/' && !memcmp(event.text, scan->root, root)) {
		event.text += root;
		event.text_length -= root;
	}
	sideband_write_mapping(scan->writer, &event, IAPROF_MAPPING_EXISTING | flags);
}

/* Writes an anonymous mapping as a copy of the file of its neighbour: see IAPROF_MAPPING_COPIED. */
static void copy_write(struct scan *scan, const struct sideband_event *anonymous, const struct sideband_event *file,
		       uint64_t file_offset)
{
	struct sideband_event event = *file;
	event.start = anonymous->start;
	event.size = anonymous->size;
	event.file_offset = file_offset;
	event_write(scan, event, IAPROF_MAPPING_COPIED);
}

/* Writes the anonymous mapping before the current one. file: that of the current mapping, NULL if it has none. */
static void anonymous_flush(struct scan *scan, const struct sideband_event *file)
{
	const struct sideband_event *anonymous = &scan->anonymous;
	if (!anonymous->size)
		return;
	if (file && file->start == anonymous->start + anonymous->size && file->file_offset >= anonymous->size)
		copy_write(scan, anonymous, file, file->file_offset - anonymous->size);
	else
		event_write(scan, *anonymous, 0);
	scan->anonymous.size = 0;
}

static void file_note(struct neighbour *file, const struct sideband_event *event)
{
	file->event = *event;
	if (event->text_length >= sizeof file->path)
		file->event.size = 0;
	else
		memcpy(file->path, event->text, event->text_length);
	file->event.text = file->path;
}

/* Writes a mapping if it is executable. Anonymous memory waits for the next mapping. */
static void mapping_take(struct scan *scan, const struct sideband_event *event)
{
	struct sideband_event *before = &scan->file.event;
	bool is_file = event->inode && event->text_length && event->text[0] == '/' &&
		       !mapping_is_anonymous(event->text) && !mapping_path_is_in_memory(event->text);
	anonymous_flush(scan, is_file ? event : NULL);
	if (is_file) {
		file_note(&scan->file, event);
		if (event->executable)
			event_write(scan, *event, 0);
	} else if (event->executable && before->size && before->start + before->size == event->start &&
		   mapping_is_anonymous(event->text_length ? event->text : "")) {
		copy_write(scan, event, before, before->file_offset + before->size);
		before->size += event->size;
	} else if (event->executable && mapping_is_anonymous(event->text_length ? event->text : "")) {
		scan->anonymous = *event;
		scan->anonymous.text = NULL;
		scan->anonymous.text_length = 0;
	} else if (event->executable) {
		event_write(scan, *event, 0);
	}
}

/* Accounts for reading one memory map. */
struct reading {
	struct user_account *account; /* NULL: the user is trusted */
	struct deadline since;
	bool too_long;
};

static struct reading reading_begin(struct scan *scan, uint32_t pid)
{
	uint32_t user;
	if (!process_user(pid, &user) || user_accounts_trust(scan->users, user))
		return (struct reading){ 0 };
	return (struct reading){ .account = user_accounts_find(scan->users, user),
				 .since = deadline_make(&scan->delay, UINT64_MAX) };
}

static bool reading_is_too_long(const struct scan *scan, struct reading *reading)
{
	uint64_t spent = reading->account ? deadline_spent(&reading->since) : 0, all = spent;
	if (spent < MAPS_TIME_USUAL)
		return false;
	for (size_t i = 0; i < scan->users->count; i++)
		all += scan->users->items[i].time_lost;
	reading->too_long = reading->account->time_lost + spent > MAPS_TIME_USER || all > MAPS_TIME_OTHERS;
	return reading->too_long;
}

static void reading_end(struct reading *reading)
{
	if (!reading->account)
		return;
	uint64_t spent = deadline_spent(&reading->since);
	reading->account->time_lost += spent > MAPS_TIME_USUAL ? spent - MAPS_TIME_USUAL : 0;
	reading->account->refused += reading->too_long;
}

/* Writes the mappings of all complete lines. */
static void lines_write(struct scan *scan, uint32_t pid, uint64_t time)
{
	struct process_mapping mapping;
	for (int result; (result = proc_maps_take(&scan->maps, &mapping));) {
		const struct sideband_event event = sideband_event_of_mapping(pid, time, &mapping);
		if (result < 0)
			scan->malformed++;
		else
			mapping_take(scan, &event);
	}
}

/* Returns 0, also if the process has ended, or a negative errno. */
static int mappings_scan(struct scan *scan, uint32_t pid)
{
	/*
	 * Taken before the file is opened: opening determines the program whose memory map is read, even if the process
	 * calls exec afterwards.
	 */
	uint64_t time = clock_monotonic();
	proc_maps_begin(&scan->maps, scan->writer->output.broker, pid);
	struct reading reading = reading_begin(scan, pid);
	bool first = true;
	int result = 1;
	while (result > 0 && !reading_is_too_long(scan, &reading) && (result = proc_maps_read(&scan->maps)) > 0) {
		if (first)
			root_read(scan, pid);
		first = false;
		lines_write(scan, pid, time);
	}
	anonymous_flush(scan, NULL);
	scan->file.event.size = 0;
	if (reading.account && (result == -ETIMEDOUT || result == -EDQUOT)) {
		reading.too_long = true;
		result = 0;
	}
	reading_end(&reading);
	return result < 0 && result != -ENOENT && result != -ESRCH ? result : 0;
}

/* Scans one process. A process that has ended is skipped: events report its end. */
static int process_scan(struct scan *scan, uint32_t pid)
{
	char text[PROC_STATUS_SIZE];
	struct proc_status status;
	uint64_t time = clock_monotonic();
	int result = proc_status_read(pid, text, &status);
	if (result == -EACCES || result == -EPERM)
		write_unreadable(scan, pid, strerror(-result));
	if (result || proc_status_has_ended(&status))
		return 0;
	struct live_process *process = live_process_add(scan->live, pid);
	if (!process)
		return -ENOMEM;
	process->threaded |= status.threads > 1;
	sideband_write_named(scan->writer, time, IAPROF_PROCESS_EXISTING, pid, status.parent_pid, status.name,
			     status.name_length, &process->ranked);
	const char *unreadable = NULL;
	if (status.state == 'Z' || status.state == 'X')
		unreadable = "its first thread has ended";
	else if (!(status.flags & PROC_STATUS_KERNEL_THREAD) && (result = mappings_scan(scan, pid)))
		unreadable = strerror(-result);
	if (unreadable && !process->scanned) /* reported once, by the first scan */
		write_unreadable(scan, pid, unreadable);
	process->scanned = clock_monotonic();
	process->start = status.start_ticks;
	return 0;
}

static int all_scan(struct scan *scan, struct error *error)
{
	DIR *folder = opendir("/proc");
	if (!folder)
		return error_set(error, errno, "cannot scan /proc: %s", strerror(errno));
	int result = 0;
	for (struct dirent *entry; !result && (entry = readdir(folder));) {
		char *end;
		unsigned long pid = strtoul(entry->d_name, &end, 10);
		if (!*end && pid && pid <= UINT32_MAX)
			result = process_scan(scan, (uint32_t)pid);
	}
	closedir(folder);
	return result;
}

/* Reports memory maps that were not read completely, by user. */
static void report_refused(const struct sideband_output *output, struct scan *scan)
{
	for (size_t i = 0; i < scan->users->count; i++) {
		struct user_account *account = &scan->users->items[i];
		char reason[128];
		snprintf(reason, sizeof reason, "mappings of processes of user %" PRIu32 " (reading takes too long)",
			 account->user);
		if (account->refused)
			output->lost(output->context, reason, scan->begin, account->refused);
		account->refused = 0;
	}
}

int proc_scan(struct sideband_writer *writer, struct live_processes *live, struct user_accounts *users,
	      const uint32_t *pids, uint32_t pid_count, struct error *error)
{
	CLEANUP_FREE struct scan *scan = calloc(1, sizeof *scan);
	if (!scan)
		return error_set(error, ENOMEM, "cannot scan /proc: out of memory");
	scan->writer = writer;
	scan->live = live;
	scan->users = users;
	run_delay_follow(&scan->delay);
	scan->begin = clock_monotonic();
	int result = pid_count ? 0 : all_scan(scan, error);
	for (uint32_t i = 0; i < pid_count && !result; i++)
		result = process_scan(scan, pids[i]);
	if (result == -ENOMEM)
		error_set(error, ENOMEM, "cannot scan /proc: out of memory");
	const struct sideband_output *output = &writer->output;
	report_refused(output, scan);
	if (scan->malformed)
		output->lost(output->context, "malformed lines in /proc/PID/maps", scan->begin, scan->malformed);
	run_delay_release(&scan->delay);
	return result;
}
