/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, checking and keeping perf maps: see perf_map_cache.h. */
#include "symbolizer/perf_map_cache.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/channel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "symbolizer/perf_map.h"
#include "symbolizer/regular_file.h"
#include "symbolizer/worker/worker_message.h"

/* Processes with generated code that are sampled at the same time; more only cost another look. */
#define SLOT_COUNT 64
/* Maps that are kept read; more only cost reading one again. */
#define MAP_COUNT 16
/* A map that took longer to read than this in all, in ns, is read again after so many times as long as it took last. */
#define READ_FREELY UINT64_C(50000000)
#define READ_SHARE 20
/* A function is found in some 20 us; what takes longer than this, in ns, is charged. */
#define FIND_QUICK UINT64_C(1000000)
/* /proc/PID/stat counts in ticks of 10 ms, file systems stamp in ticks of up to 10 ms. */
#define CLOCK_SLACK (20 * INT64_C(1000000))

/* A file, which several processes may have under different names. */
struct map {
	struct file_identity identity; /* as it was when it was read last */
	struct worker_child child;     /* socket -1: the place is free */
	uint64_t memory;               /* of its child, taken from the budget */
	uint64_t used;                 /* CLOCK_MONOTONIC ns */
	uint64_t spent;                /* ns of reading it */
	uint64_t read_again;           /* not before; CLOCK_MONOTONIC ns */
};

struct slot {
	uint32_t process;          /* serial number, 0 none */
	struct file_identity file; /* inode 0: none */
	bool refused;
};

struct perf_map_cache {
	struct broker *broker;
	struct worker_pool *pool;
	struct budget *budget;
	struct slot slots[SLOT_COUNT];
	struct map maps[MAP_COUNT];
	uint64_t failed;
	char name[IAPROF_STRING_LENGTH_MAX + 1]; /* of the function that was found last */
};

/* What /proc says about a process, for as long as it runs. */
struct process_facts {
	uint32_t user, group;   /* effective ids */
	uint32_t namespace_pid; /* its pid in its own PID namespace */
	int64_t begin;          /* CLOCK_REALTIME ns */
};

struct perf_map_cache *perf_map_cache_new(struct broker *broker, struct worker_pool *pool, struct budget *budget)
{
	struct perf_map_cache *cache = calloc(1, sizeof *cache);
	if (!cache)
		return NULL;
	cache->broker = broker;
	cache->pool = pool;
	cache->budget = budget;
	for (size_t i = 0; i < MAP_COUNT; i++)
		cache->maps[i].child = WORKER_CHILD_NONE;
	return cache;
}

static void end_map(struct perf_map_cache *cache, struct map *map)
{
	worker_child_end(cache->pool, &map->child);
	budget_give_back(cache->budget, &map->identity, map->memory);
	*map = (struct map){ .child = WORKER_CHILD_NONE };
}

void perf_map_cache_free(struct perf_map_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < MAP_COUNT; i++)
		end_map(cache, &cache->maps[i]);
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
		if (sscanf(line, "Gid: %*u %u", &facts->group) == 1)
			continue;
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

/*
 * Whose rights count for a process's map. A process that ended has those of the user that it was seen with; without
 * them (root's, and what hides itself) only in our own file system, where nobody else makes a file that is root's.
 */
static bool choose_user(const struct process *process, bool running, struct process_facts *facts)
{
	if (running)
		return true;
	facts->user = process->user;
	facts->group = process->user ? 65534 : 0;
	return process->user || process->root == PROCESS_ROOT_OWN;
}

/* Opens the map. Returns a descriptor or a negative errno; -ENOENT when the process has none. */
static int open_map(struct perf_map_cache *cache, const struct process *process, struct file_identity *identity,
		    char path[64])
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
	if (!choose_user(process, running, &facts))
		return -EACCES;
	snprintf(path, 64, "/tmp/perf-%u.map", facts.namespace_pid);
	CLEANUP_CLOSE int own_root = process->root < 0 && running ? process_root_open(process->pid) : -1;
	if (process->root == PROCESS_ROOT_UNREACHABLE && own_root < 0)
		return -ENOENT; /* our own /tmp is not the process's */
	/* /tmp is open to everybody: no symbolic link at the end, and a trustworthy owner. */
	struct file_request request = { .path = path,
					.root = process->root >= 0 ? process->root : own_root,
					.user = facts.user,
					.group = facts.group,
					.user_mounts = process->user_mounts };
	struct file_identity who = { .owner = facts.user, .mode = BUDGET_NEVER_TRUSTED };
	if (budget_is_spent(cache->budget, &who))
		return -ETIMEDOUT;
	struct deadline deadline = budget_deadline(cache->budget, &who, BUDGET_FULL);
	CLEANUP_CLOSE int descriptor = broker_open(cache->broker, &request, &deadline, identity);
	if (descriptor == -ETIMEDOUT)
		budget_charge(cache->budget, &who, deadline_spent(&deadline));
	if (descriptor < 0)
		return descriptor;
	if (identity->owner != 0 && identity->owner != geteuid() && identity->owner != facts.user)
		return -EACCES;
	/* Process numbers are used again and nobody removes the maps: an older one is another process's. */
	if (identity->modified < facts.begin - CLOCK_SLACK)
		return -ESTALE;
	return STEAL_DESCRIPTOR(descriptor);
}

/* Inode numbers are used again: who owns the file and when it was made tell it from the next one. */
static bool is_same_file(const struct file_identity *a, const struct file_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->owner == b->owner && a->mode == b->mode &&
	       a->born == b->born;
}

/* The map of a file; NULL: it is not read. */
static struct map *find_map(struct perf_map_cache *cache, const struct file_identity *file)
{
	for (size_t i = 0; i < MAP_COUNT; i++)
		if (cache->maps[i].child.socket >= 0 && is_same_file(&cache->maps[i].identity, file))
			return &cache->maps[i];
	return NULL;
}

static size_t count_of_owner(const struct perf_map_use *uses, size_t count, uint32_t owner)
{
	size_t found = 0;
	for (size_t i = 0; i < count; i++)
		found += uses[i].owner == owner;
	return found;
}

size_t perf_map_replaced(const struct perf_map_use *uses, size_t count, uint32_t owner)
{
	size_t replaced = 0, most = 0;
	for (size_t i = 0; i < count; i++) {
		bool is_own = uses[i].owner == owner;
		size_t found = count_of_owner(uses, count, uses[i].owner) + is_own;
		bool was_own = uses[replaced].owner == owner;
		bool is_older = is_own == was_own ? uses[i].used < uses[replaced].used : is_own;
		if (found > most || (found == most && is_older)) {
			most = found;
			replaced = i;
		}
	}
	return replaced;
}

/* A free place for a map of this owner, which another one leaves if there is none. */
static struct map *free_map(struct perf_map_cache *cache, uint32_t owner)
{
	struct perf_map_use uses[MAP_COUNT];
	for (size_t i = 0; i < MAP_COUNT; i++) {
		struct map *map = &cache->maps[i];
		if (map->child.socket < 0)
			return map;
		uses[i] = (struct perf_map_use){ .owner = map->identity.owner, .used = map->used };
	}
	struct map *replaced = &cache->maps[perf_map_replaced(uses, MAP_COUNT, owner)];
	end_map(cache, replaced);
	return replaced;
}

/* Has a child read what is in the file and not in the map. */
static int ask_to_read(struct perf_map_cache *cache, struct map *map, int descriptor, struct deadline *deadline)
{
	deadline->helper = &map->child.process;
	struct worker_perf_map answer;
	struct channel_answer expected = { .type = WORKER_PERF_MAP, .head = &answer, .head_size = sizeof answer };
	int code = channel_ask(map->child.socket, WORKER_ADD_PERF_MAP, NULL, 0, descriptor, &expected, deadline);
	if (!code && expected.rest)
		code = -EPROTO;
	if (!code)
		code = answer.code ? channel_error(answer.code) : 0;
	if (code)
		return code;
	uint64_t more = answer.memory > map->memory ? answer.memory - map->memory : 0;
	if (!budget_take(cache->budget, &map->identity, more))
		return -EDQUOT;
	map->memory += more;
	return 0;
}

/* Reads a file, or what was added to it. */
static int read_map(struct perf_map_cache *cache, const struct file_identity *identity, int descriptor,
		    const char *path)
{
	struct deadline deadline = budget_deadline(cache->budget, identity, BUDGET_FULL);
	int code = identity->size > PERF_MAP_SIZE_MAX ? -EFBIG : 0;
	struct map *map = find_map(cache, identity);
	if (map && map->identity.size == identity->size)
		return 0;
	if (map && map->identity.size > identity->size) {
		end_map(cache, map);
		map = NULL;
	}
	if (!map && !code) {
		map = free_map(cache, identity->owner);
		code = worker_child_start(cache->pool, &map->child,
					  budget_data_limit(cache->budget, identity, BUDGET_FULL));
	}
	/* A map that grows all the time is read a twentieth of the time: it would have all of the others' time else. */
	if (!code && deadline.begin < map->read_again)
		return 0;
	if (!code) {
		map->identity = *identity;
		map->used = deadline.begin;
		code = ask_to_read(cache, map, descriptor, &deadline);
		uint64_t spent = deadline_spent(&deadline);
		map->spent += spent;
		bool is_free = map->spent <= READ_FREELY || budget_trusts(cache->budget, identity);
		map->read_again = is_free ? 0 : clock_monotonic() + READ_SHARE * spent;
		if (!code && spent > BUDGET_TIME_USUAL)
			budget_charge(cache->budget, identity, spent - BUDGET_TIME_USUAL);
	}
	if (code) {
		if (map)
			end_map(cache, map);
		budget_refuse(cache->budget, identity, path, worker_reason(code), deadline_spent(&deadline));
	}
	return code;
}

static void refresh(struct perf_map_cache *cache, struct slot *slot, const struct process *process)
{
	struct file_identity identity;
	char path[64] = "";
	CLEANUP_CLOSE int descriptor = open_map(cache, process, &identity, path);
	int code = descriptor < 0 ? descriptor : read_map(cache, &identity, descriptor, path);
	if (!code)
		slot->file = identity;
	if (!code || code == -ENOENT || code == -ESTALE || slot->refused)
		return;
	if (descriptor < 0)
		budget_refuse(cache->budget, NULL, path, open_reason(cache->budget, code), 0);
	slot->refused = true;
	cache->failed++;
}

/* Asks a map's child. Returns the name, or NULL; a child that fails is ended. */
static const char *ask(struct perf_map_cache *cache, struct slot *slot, struct map *map, uint64_t address,
		       uint64_t *start)
{
	struct deadline deadline = budget_deadline(cache->budget, &map->identity, BUDGET_FULL);
	deadline.helper = &map->child.process;
	struct worker_find_function request = { .address = address };
	struct iovec part = { .iov_base = &request, .iov_len = sizeof request };
	struct worker_function answer;
	struct channel_answer expected = { .type = WORKER_FUNCTION, .head = &answer, .head_size = sizeof answer };
	int code = budget_is_spent(cache->budget, &map->identity)
			   ? -ETIME
			   : channel_ask(map->child.socket, WORKER_FIND_FUNCTION, &part, 1, -1, &expected, &deadline);
	if (!code && (answer.size > IAPROF_STRING_LENGTH_MAX || expected.rest != answer.size))
		code = -EPROTO;
	if (!code)
		code = channel_read(map->child.socket, cache->name, answer.size, &deadline);
	if (code) {
		budget_refuse(cache->budget, &map->identity, "perf map", worker_reason(code),
			      deadline_spent(&deadline));
		end_map(cache, map);
		slot->refused = true;
		return NULL;
	}
	cache->name[answer.size] = '\0';
	*start = answer.start;
	map->used = clock_monotonic();
	if (map->used - deadline.begin > FIND_QUICK)
		budget_charge(cache->budget, &map->identity, deadline_spent(&deadline));
	return answer.size ? cache->name : NULL;
}

static const char *find(struct perf_map_cache *cache, struct slot *slot, uint64_t address, uint64_t *start)
{
	struct map *map = slot->file.inode ? find_map(cache, &slot->file) : NULL;
	return map ? ask(cache, slot, map, address, start) : NULL;
}

const char *perf_map_cache_find(struct perf_map_cache *cache, const struct process *process, uint64_t address,
				uint64_t *start)
{
	struct slot *slot = &cache->slots[process->serial % SLOT_COUNT];
	if (slot->process != process->serial)
		*slot = (struct slot){ .process = process->serial };
	const char *name = find(cache, slot, address, start);
	if (name || slot->refused)
		return name;
	refresh(cache, slot, process);
	return find(cache, slot, address, start);
}
