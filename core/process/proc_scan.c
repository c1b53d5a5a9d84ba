/* SPDX-License-Identifier: Apache-2.0 */
/* A look through /proc: see proc_scan.h. */
#include "process/proc_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "process/proc_text.h"

/* Room for a line of maps with the longest path, each byte of it a newline that is written with four. */
#define MAPS_BUFFER_SIZE 65536u
/* The longest /proc/PID/stat: 52 numbers of at most 20 digits, and the name. */
#define STATUS_SIZE 2048u

/*
 * Time for the memory maps of one user's processes beyond what each usually takes (1,000 mappings), and for those of
 * all users who are not trusted.
 */
#define MAPS_TIME_USUAL (NANOSECONDS_PER_SECOND / 1000)
#define MAPS_TIME_USER (NANOSECONDS_PER_SECOND / 4)
#define MAPS_TIME_OTHERS NANOSECONDS_PER_SECOND

struct scan {
	struct sideband_writer *writer;
	struct live_processes *live;
	struct user_accounts *users; /* refused: memory maps that were not read to the end */
	struct run_delay delay;
	uint64_t begin;
	uint64_t unreadable; /* processes whose mappings may not be read */
	uint64_t malformed;  /* lines of maps that are none */
	char root[PATH_MAX]; /* of the process at hand, when that is a chroot; else empty */
	char maps[MAPS_BUFFER_SIZE];
};

static int proc_open(uint32_t pid, const char *file)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%u/%s", pid, file);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	return descriptor < 0 ? -errno : descriptor;
}

/* Reads and parses /proc/PID/stat into text, STATUS_SIZE bytes. Returns 0 or a negative errno. */
static int status_read(uint32_t pid, char *text, struct proc_status *status)
{
	CLEANUP_CLOSE int descriptor = proc_open(pid, "stat");
	if (descriptor < 0)
		return descriptor;
	ssize_t size = read(descriptor, text, STATUS_SIZE);
	return size < 0 ? -errno : proc_status_parse(text, (size_t)size, status);
}

static bool status_has_ended(const struct proc_status *status)
{
	/* One that is exiting may have told so already. */
	bool ended = status->state == 'Z' || status->state == 'X' || status->flags & PROC_STATUS_EXITING;
	return ended && status->threads <= 1;
}

bool proc_user(uint32_t pid, uint32_t *user)
{
	char path[64], line[128];
	snprintf(path, sizeof path, "/proc/%u/status", pid);
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "Uid: %*u %" SCNu32, user) == 1)
			return true;
	return false;
}

bool proc_has_ended(uint32_t pid)
{
	char text[STATUS_SIZE];
	struct proc_status status;
	int result = status_read(pid, text, &status);
	return result == -ENOENT || result == -ESRCH || (!result && status_has_ended(&status));
}

/*
 * /proc/PID/maps has paths as seen from our root, events have them as seen from the process's: for a chroot the
 * difference is the path of its root, which is taken off.
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

static void mapping_write(struct scan *scan, uint32_t pid, uint64_t time, const struct proc_mapping *mapping)
{
	struct sideband_event event = {
		.kind = SIDEBAND_MAPPING,
		.pid = pid,
		.time = time,
		.text = mapping->path,
		.text_length = mapping->path_length,
		.start = mapping->start,
		.size = mapping->end - mapping->start,
		.file_offset = mapping->file_offset,
		.inode = mapping->inode,
		.device_major = mapping->device_major,
		.device_minor = mapping->device_minor,
	};
	size_t root = strlen(scan->root);
	if (root && event.text_length > root && event.text[root] == '/' && !memcmp(event.text, scan->root, root)) {
		event.text += root;
		event.text_length -= root;
	}
	sideband_write_mapping(scan->writer, &event, IAPROF_MAPPING_EXISTING);
}

/* The reading of a memory map that a user is charged for. */
struct reading {
	struct user_account *account; /* NULL: the user is trusted */
	struct deadline since;
	bool too_long;
};

static struct reading reading_begin(struct scan *scan, uint32_t pid)
{
	uint32_t user;
	if (!proc_user(pid, &user) || user_accounts_trust(scan->users, user))
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

/* Writes the mappings of the whole lines among the bytes that were read, and keeps the rest. */
static void lines_write(struct scan *scan, uint32_t pid, uint64_t time, size_t *filled)
{
	char *text = scan->maps;
	struct proc_mapping mapping;
	for (int result; (result = proc_maps_next(&text, filled, &mapping));)
		if (result < 0)
			scan->malformed++;
		else if (mapping.executable)
			mapping_write(scan, pid, time, &mapping);
	if (*filled == sizeof scan->maps) { /* a line that cannot be */
		scan->malformed++;
		*filled = 0;
	}
	memmove(scan->maps, text, *filled);
}

static void mappings_scan(struct scan *scan, uint32_t pid)
{
	/* Before the file is opened: that fixes which program's memory it shows, were there an exec from here on. */
	uint64_t time = clock_monotonic();
	CLEANUP_CLOSE int descriptor = proc_open(pid, "maps");
	struct reading reading = reading_begin(scan, pid);
	size_t filled = 0;
	bool first = true;
	ssize_t size = 0;
	while (descriptor >= 0 && !reading_is_too_long(scan, &reading) &&
	       (size = read(descriptor, scan->maps + filled, sizeof scan->maps - filled)) > 0) {
		if (first)
			root_read(scan, pid);
		first = false;
		filled += (size_t)size;
		lines_write(scan, pid, time, &filled);
	}
	reading_end(&reading);
	int failure = descriptor < 0 ? descriptor : size < 0 ? -errno : 0;
	if (failure && failure != -ENOENT && failure != -ESRCH)
		scan->unreadable++;
}

/* One process; one that is not there any more is left out, as the events tell of its end. */
static int process_scan(struct scan *scan, uint32_t pid)
{
	char text[STATUS_SIZE];
	struct proc_status status;
	uint64_t time = clock_monotonic();
	int result = status_read(pid, text, &status);
	if (result == -EACCES || result == -EPERM)
		scan->unreadable++;
	if (result || status_has_ended(&status))
		return 0;
	struct live_process *process = live_process_add(scan->live, pid);
	if (!process)
		return -ENOMEM;
	process->threaded |= status.threads > 1;
	sideband_write_process(scan->writer, time, IAPROF_PROCESS_EXISTING, pid, status.parent_pid, status.name,
			       status.name_length);
	if (status.state == 'Z' || status.state == 'X')
		scan->unreadable++; /* its first thread ended, and took its view of the memory along */
	else if (!(status.flags & PROC_STATUS_KERNEL_THREAD))
		mappings_scan(scan, pid);
	process->looked = clock_monotonic();
	return 0;
}

static int all_scan(struct scan *scan, struct error *error)
{
	DIR *folder = opendir("/proc");
	if (!folder)
		return error_set(error, errno, "look through /proc: %s", strerror(errno));
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

/* Reports memory maps that were not read to the end, by user. */
static void tell_refused(const struct sideband_output *output, struct scan *scan)
{
	for (size_t i = 0; i < scan->users->count; i++) {
		struct user_account *account = &scan->users->items[i];
		char reason[128];
		snprintf(reason, sizeof reason,
			 "mappings of processes of user %" PRIu32 ", which take too long to read", account->user);
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
		return error_set(error, ENOMEM, "look through /proc: out of memory");
	scan->writer = writer;
	scan->live = live;
	scan->users = users;
	run_delay_follow(&scan->delay);
	scan->begin = clock_monotonic();
	int result = pid_count ? 0 : all_scan(scan, error);
	for (uint32_t i = 0; i < pid_count && !result; i++)
		result = process_scan(scan, pids[i]);
	if (result == -ENOMEM)
		error_set(error, ENOMEM, "look through /proc: out of memory");
	const struct sideband_output *output = &writer->output;
	if (scan->unreadable)
		output->lost(output->context, "mappings of processes that may not be read", scan->begin,
			     scan->unreadable);
	tell_refused(output, scan);
	if (scan->malformed)
		output->lost(output->context, "malformed lines in /proc/PID/maps", scan->begin, scan->malformed);
	run_delay_release(&scan->delay);
	return result;
}
