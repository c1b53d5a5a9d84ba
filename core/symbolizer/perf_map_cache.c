/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, checking and keeping perf maps: see perf_map_cache.h. */
#include "symbolizer/perf_map_cache.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "symbolizer/perf_map.h"
#include "symbolizer/regular_file.h"

/* Processes with generated code that are sampled at the same time; more only cost reading a map again. */
#define SLOT_COUNT 64
/* /proc/PID/stat counts in ticks of 10 ms, file systems stamp in ticks of up to 10 ms. */
#define CLOCK_SLACK (20 * INT64_C(1000000))
#define CHUNK_SIZE ((size_t)1 << 20)

struct slot {
	uint32_t process; /* serial number, 0 none */
	struct perf_map map;
	ino_t inode;
	off_t taken; /* bytes of the file that are in map */
	off_t size;  /* of the file when it was read last */
	bool refused;
};

struct perf_map_cache {
	struct slot slots[SLOT_COUNT];
	uint64_t failed;
};

/* What /proc says about a process, for as long as it runs. */
struct process_facts {
	uint32_t user;          /* effective user id */
	uint32_t namespace_pid; /* its pid in its own PID namespace */
	int64_t begin;          /* CLOCK_REALTIME ns */
};

struct perf_map_cache *perf_map_cache_new(void)
{
	return calloc(1, sizeof(struct perf_map_cache));
}

void perf_map_cache_free(struct perf_map_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < SLOT_COUNT; i++)
		perf_map_free(&cache->slots[i].map);
	free(cache);
}

uint64_t perf_map_cache_failed(const struct perf_map_cache *cache)
{
	return cache->failed;
}

/* CLOCK_REALTIME minus another clock. */
static int64_t clock_difference(clockid_t from)
{
	return (int64_t)(clock_read(CLOCK_REALTIME) - clock_read(from));
}

static bool read_status(uint32_t pid, struct process_facts *facts)
{
	char path[64], line[512];
	snprintf(path, sizeof path, "/proc/%u/status", pid);
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	bool has_user = false;
	while (file && fgets(line, sizeof line, file)) {
		if (sscanf(line, "Uid: %*u %u", &facts->user) == 1)
			has_user = true;
		/* "NSpid:	4711	12	1": the last one is what the process itself sees. */
		if (strncmp(line, "NSpid:", 6) == 0) {
			size_t length = strlen(line);
			while (length && isspace((unsigned char)line[length - 1]))
				line[--length] = '\0';
			while (length && isdigit((unsigned char)line[length - 1]))
				length--;
			facts->namespace_pid = (uint32_t)strtoul(line + length, NULL, 10);
		}
	}
	return has_user;
}

/* When the process was forked: the 22nd number of /proc/PID/stat; the 2nd is its name, which may hold anything. */
static bool read_begin(uint32_t pid, struct process_facts *facts)
{
	char path[64], text[1024];
	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
	text[length] = '\0';
	const char *next = strrchr(text, ')');
	unsigned long long ticks;
	if (!next ||
	    sscanf(next + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &ticks) != 1)
		return false;
	facts->begin = (int64_t)(ticks * (NANOSECONDS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK))) +
		       clock_difference(CLOCK_BOOTTIME);
	return true;
}

/* Opens the map. Returns a descriptor or a negative errno; -ENOENT when the process has none. */
static int open_map(const struct process *process, struct stat *status)
{
	struct process_facts facts = { .namespace_pid = process->pid };
	bool running =
		process->end == UINT64_MAX && read_status(process->pid, &facts) && read_begin(process->pid, &facts);
	/* The program image began later than the process when it was executed. */
	if (process->begin) {
		int64_t begin = (int64_t)process->begin + clock_difference(CLOCK_MONOTONIC);
		if (!running || begin > facts.begin)
			facts.begin = begin;
	} else if (!running) {
		return -ESTALE; /* nothing says that a map with this number is not an older process's */
	}
	char path[64];
	snprintf(path, sizeof path, "/tmp/perf-%u.map", facts.namespace_pid);
	CLEANUP_CLOSE int own_root = process->root < 0 && running ? process_root_open(process->pid) : -1;
	if (process->root == PROCESS_ROOT_UNREACHABLE && own_root < 0)
		return -ENOENT; /* our own /tmp is not the process's */
	/* /tmp is open to everybody: no symbolic link at the end, and a trustworthy owner. */
	CLEANUP_CLOSE int descriptor =
		regular_file_open(process->root >= 0 ? process->root : own_root, path, O_NOFOLLOW);
	if (descriptor < 0)
		return descriptor;
	if (fstat(descriptor, status))
		return -errno;
	if (status->st_uid != 0 && status->st_uid != geteuid() && (!running || status->st_uid != facts.user))
		return -EACCES;
	/* Process numbers are used again and nobody removes the maps: an older one is another process's. */
	if (status->st_mtim.tv_sec * (int64_t)NANOSECONDS_PER_SECOND + status->st_mtim.tv_nsec <
	    facts.begin - CLOCK_SLACK)
		return -ESTALE;
	if ((uint64_t)status->st_size > PERF_MAP_SIZE_MAX)
		return -EFBIG;
	return STEAL_DESCRIPTOR(descriptor);
}

/* Adds what is in the file after what was taken. */
static int read_more(struct slot *slot, int descriptor)
{
	CLEANUP_FREE char *chunk = malloc(CHUNK_SIZE);
	if (!chunk)
		return -ENOMEM;
	while (slot->taken < slot->size) {
		ssize_t length = pread(descriptor, chunk, CHUNK_SIZE, slot->taken);
		if (length < 0)
			return -errno;
		long taken = perf_map_add(&slot->map, chunk, (size_t)length);
		if (taken < 0)
			return (int)taken;
		if (taken == 0) {
			/* The last line is still being written; one that fills the buffer is no line of a perf map. */
			if ((size_t)length < CHUNK_SIZE)
				break;
			return -EINVAL;
		}
		slot->taken += taken;
	}
	return perf_map_index(&slot->map);
}

static void refresh(struct perf_map_cache *cache, struct slot *slot, const struct process *process)
{
	struct stat status;
	CLEANUP_CLOSE int descriptor = open_map(process, &status);
	int code = descriptor < 0 ? descriptor : 0;
	if (!code) {
		if (slot->inode && (status.st_ino != slot->inode || status.st_size < slot->size)) {
			perf_map_free(&slot->map);
			*slot = (struct slot){ .process = slot->process };
		}
		if (status.st_size == slot->size)
			return;
		slot->inode = status.st_ino;
		slot->size = status.st_size;
		code = read_more(slot, descriptor);
	}
	if (code && code != -ENOENT && code != -ESTALE && !slot->refused) {
		slot->refused = true;
		cache->failed++;
	}
}

const char *perf_map_cache_find(struct perf_map_cache *cache, const struct process *process, uint64_t address,
				uint64_t *start)
{
	struct slot *slot = &cache->slots[process->serial % SLOT_COUNT];
	if (slot->process != process->serial) {
		perf_map_free(&slot->map);
		*slot = (struct slot){ .process = process->serial };
	}
	const char *name = perf_map_find(&slot->map, address, start);
	if (name || slot->refused)
		return name;
	refresh(cache, slot, process);
	return perf_map_find(&slot->map, address, start);
}
