/* SPDX-License-Identifier: Apache-2.0 */
/* See perf_map_cache.h. */
#include "symbolizer/perf_map_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/regular_file.h"
#include "child/channel.h"
#include "process/proc_reader.h"
#include "symbolizer/perf_map.h"
#include "symbolizer/worker/worker_message.h"

/* Number of sampled processes with generated code that are remembered; further ones are only searched again. */
#define SLOT_COUNT 64
/* Number of maps that are kept; further ones are only read again. */
#define MAP_COUNT 16
/*
 * After this much total reading time, in ns, a map is read again only after READ_SHARE times the duration of the last
 * reading.
 */
#define READ_FREELY UINT64_C(50000000)
#define READ_SHARE 20
/* Interval of searches for a map to keep, in ns: most runtimes write none. */
#define KEEP_PERIOD UINT64_C(500000000)
/* Time of a lookup, in ns, above which it is charged; 20 us is typical. */
#define FIND_QUICK UINT64_C(1000000)
/* /proc/PID/stat has ticks of 10 ms, and file systems have timestamps in ticks of up to 10 ms. */
#define CLOCK_SLACK (20 * INT64_C(1000000))

/* One file, which may be the map of several processes under different names. */
struct map {
	struct file_identity identity; /* when it was last read */
	struct worker_child child;     /* socket -1: the slot is free */
	uint64_t memory;               /* memory of its child, charged to the budget */
	uint64_t used;                 /* CLOCK_MONOTONIC ns */
	uint64_t spent;                /* total time of reading it, in ns */
	uint64_t read_again;           /* earliest time of the next reading; CLOCK_MONOTONIC ns */
};

struct slot {
	uint32_t process;          /* serial number, 0 if none */
	struct file_identity file; /* inode 0: none */
	bool refused;
	/* File of a process in a container: its /tmp ends with it. */
	int kept; /* descriptor, -1: none */
	struct file_identity kept_file;
	uint64_t keep_again; /* earliest time of the next search for it; CLOCK_MONOTONIC ns */
};

struct perf_map_cache {
	struct broker *broker;
	struct worker_pool *pool;
	struct budget *budget;
	struct slot slots[SLOT_COUNT];
	struct map maps[MAP_COUNT];
	uint64_t failed;
	int64_t begin;                           /* time when this was made; CLOCK_REALTIME ns */
	char name[IAPROF_STRING_LENGTH_MAX + 1]; /* name of the last function found */
};

struct perf_map_cache *perf_map_cache_new(struct broker *broker, struct worker_pool *pool, struct budget *budget)
{
	struct perf_map_cache *cache = calloc(1, sizeof *cache);
	if (!cache)
		return NULL;
	cache->begin = (int64_t)clock_read(CLOCK_REALTIME) + CLOCK_SLACK;
	cache->broker = broker;
	cache->pool = pool;
	cache->budget = budget;
	for (size_t i = 0; i < MAP_COUNT; i++)
		cache->maps[i].child = WORKER_CHILD_NONE;
	for (size_t i = 0; i < SLOT_COUNT; i++)
		cache->slots[i].kept = -1;
	return cache;
}

static void end_map(struct perf_map_cache *cache, struct map *map)
{
	worker_child_end(cache->pool, &map->child);
	budget_give_back(cache->budget, &map->identity, map->memory);
	*map = (struct map){ .child = WORKER_CHILD_NONE };
}

static void release_kept(struct slot *slot)
{
	if (slot->kept >= 0)
		close(STEAL_DESCRIPTOR(slot->kept));
}

void perf_map_cache_free(struct perf_map_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < SLOT_COUNT; i++)
		release_kept(&cache->slots[i]);
	for (size_t i = 0; i < MAP_COUNT; i++)
		end_map(cache, &cache->maps[i]);
	free(cache);
}

uint64_t perf_map_cache_failed(const struct perf_map_cache *cache)
{
	return cache->failed;
}

/* Returns CLOCK_REALTIME minus another clock. */
static int64_t clock_difference(clockid_t from)
{
	return (int64_t)(clock_read(CLOCK_REALTIME) - clock_read(from));
}

/* Finds when the process was forked, in ns of CLOCK_REALTIME. */
static bool read_begin(uint32_t pid, int64_t *begin)
{
	char text[PROC_STATUS_SIZE];
	struct proc_status status;
	if (proc_status_read(pid, text, &status))
		return false;
	*begin = (int64_t)proc_ticks_to_ns(status.start_ticks) + clock_difference(CLOCK_BOOTTIME);
	return true;
}

/*
 * Chooses the user whose permissions apply. A process that has ended has the last known user; without one (root, or a
 * process that is not dumpable), only maps in iaprof's own file system are read, where nobody else can create files
 * owned by root.
 */
static bool choose_user(const struct process *process, bool running, struct proc_identity *who)
{
	if (running)
		return true;
	who->user = process->user;
	who->group = process->user ? 65534 : 0;
	return process->user || process->root == PROCESS_ROOT_OWN;
}

/*
 * Opens the map: a jitdump, or the perf map for NULL, whose path it writes. Returns a descriptor or a negative errno;
 * -ENOENT if the process has none.
 */
static int open_map(struct perf_map_cache *cache, const struct process *process, const char *jit_dump,
		    struct file_identity *identity, char path[64])
{
	struct proc_identity who = { 0 };
	int64_t begin = 0;
	bool running = process->end == UINT64_MAX && proc_identity_read(process->pid, &who) &&
		       read_begin(process->pid, &begin);
	/* The program image began later than the process when it was executed. */
	if (process->begin) {
		int64_t image_begin = (int64_t)process->begin + clock_difference(CLOCK_MONOTONIC);
		if (!running || image_begin > begin)
			begin = image_begin;
	} else if (!running) {
		/* It existed when the run began: an older map with this pid may belong to an older process. */
		begin = cache->begin;
	}
	snprintf(path, 64, "/tmp/perf-%u.map", who.namespace_pid ? who.namespace_pid : process->pid);
	if (!choose_user(process, running, &who))
		return -EACCES;
	CLEANUP_CLOSE int own_root = process->root < 0 && running ? process_root_open(process->pid) : -1;
	if (process->root == PROCESS_ROOT_UNREACHABLE && own_root < 0)
		return -ENOENT; /* iaprof's /tmp is not that of the process */
	/* /tmp is world-writable: refuse a symbolic link at the end, and untrustworthy owners. */
	struct file_request request = { .path = jit_dump ? jit_dump : path,
					.root = process->root >= 0 ? process->root : own_root,
					.user = who.user,
					.group = who.group,
					.user_mounts = process->user_mounts };
	struct file_identity charged = { .owner = who.user, .mode = BUDGET_NEVER_TRUSTED };
	if (budget_is_spent(cache->budget, &charged))
		return -ETIMEDOUT;
	struct deadline deadline = budget_deadline(cache->budget, &charged, BUDGET_FULL);
	CLEANUP_CLOSE int descriptor = broker_open(cache->broker, &request, &deadline, identity);
	if (descriptor == -ETIMEDOUT)
		budget_charge(cache->budget, &charged, deadline_spent(&deadline));
	if (descriptor < 0)
		return descriptor;
	if (identity->owner != 0 && identity->owner != geteuid() && identity->owner != who.user)
		return -EACCES;
	/* Pids are reused and nobody removes the maps: an older file belongs to another process. */
	if (identity->modified < begin - CLOCK_SLACK)
		return -ESTALE;
	return STEAL_DESCRIPTOR(descriptor);
}

/* Inode numbers are reused: owner and creation time distinguish files. */
static bool is_same_file(const struct file_identity *a, const struct file_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->owner == b->owner && a->mode == b->mode &&
	       a->born == b->born;
}

/* Returns the map of a file, or NULL. */
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

/* Returns a free slot for a map of this owner, ending another map if necessary. */
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

/* Lets the child read what was appended to the file. */
static int ask_to_read(struct perf_map_cache *cache, struct map *map, int descriptor, struct deadline *deadline)
{
	deadline->helper = &map->child.process;
	struct worker_perf_map answer;
	struct channel_answer expected = { .type = WORKER_PERF_MAP, .head = &answer, .head_size = sizeof answer };
	int code = channel_ask(map->child.socket, WORKER_ADD_PERF_MAP, NULL, 0, descriptor, &expected, deadline);
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

/* Reads a file, or what was appended to it. */
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
	/*
	 * A map that grows continuously is read for a twentieth of the time; otherwise, it would use up the time for
	 * all others.
	 */
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
		if (!code)
			budget_charge_excess(cache->budget, identity, &deadline);
	}
	if (code) {
		if (map)
			end_map(cache, map);
		budget_refuse(cache->budget, identity, path, worker_reason(code), deadline_spent(&deadline));
	}
	return code;
}

/* Opens the jitdump of a process, otherwise its perf map. *used: the path, in path or owned by the process. */
static int open_any(struct perf_map_cache *cache, const struct process *process, struct file_identity *identity,
		    char path[64], const char **used)
{
	*used = process->jit_dump;
	int descriptor = *used ? open_map(cache, process, *used, identity, path) : -ENOENT;
	if (descriptor != -ENOENT)
		return descriptor;
	*used = path;
	return open_map(cache, process, NULL, identity, path);
}

/* Returns a copy of the descriptor that was kept of a process that has ended, and the size of the file now. */
static int copy_kept(const struct slot *slot, const struct process *process, struct file_identity *identity)
{
	struct stat status;
	if (slot->kept < 0 || process->end == UINT64_MAX || fstat(slot->kept, &status))
		return -ENOENT;
	*identity = slot->kept_file;
	identity->size = (uint64_t)status.st_size;
	int descriptor = fcntl(slot->kept, F_DUPFD_CLOEXEC, 3);
	return descriptor < 0 ? -errno : descriptor;
}

static void refresh(struct perf_map_cache *cache, struct slot *slot, const struct process *process)
{
	struct file_identity identity;
	char path[64] = "";
	const char *used = "perf map";
	CLEANUP_CLOSE int descriptor = copy_kept(slot, process, &identity);
	if (descriptor < 0)
		descriptor = open_any(cache, process, &identity, path, &used);
	int code = descriptor < 0 ? descriptor : read_map(cache, &identity, descriptor, used);
	if (!code)
		slot->file = identity;
	if (!code || code == -ENOENT || code == -ESTALE || slot->refused)
		return;
	if (descriptor < 0)
		budget_refuse(cache->budget, NULL, used, open_reason(cache->budget, code), 0);
	slot->refused = true;
	cache->failed++;
}

/* Sends a lookup to the child of a map. Returns the name, or NULL; ends a child that fails. */
static const char *request_name(struct perf_map_cache *cache, struct slot *slot, struct map *map, uint64_t address,
				uint64_t *start)
{
	struct deadline deadline = budget_deadline(cache->budget, &map->identity, BUDGET_FULL);
	deadline.helper = &map->child.process;
	struct worker_find_function request = { .address = address };
	struct worker_function answer;
	struct channel_answer expected = { .type = WORKER_FUNCTION,
					   .head = &answer,
					   .head_size = sizeof answer,
					   .rest_max = IAPROF_STRING_LENGTH_MAX };
	int code = budget_is_spent(cache->budget, &map->identity)
			   ? -ETIME
			   : channel_ask(map->child.socket, WORKER_FIND_FUNCTION, &request, sizeof request, -1,
					 &expected, &deadline);
	if (!code && expected.rest != answer.size)
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

static const char *find_name(struct perf_map_cache *cache, struct slot *slot, uint64_t address, uint64_t *start)
{
	struct map *map = slot->file.inode ? find_map(cache, &slot->file) : NULL;
	return map ? request_name(cache, slot, map, address, start) : NULL;
}

static struct slot *get_slot(struct perf_map_cache *cache, const struct process *process)
{
	struct slot *slot = &cache->slots[process->serial % SLOT_COUNT];
	if (slot->process != process->serial) {
		release_kept(slot);
		*slot = (struct slot){ .process = process->serial, .kept = -1 };
	}
	return slot;
}

void perf_map_cache_keep(struct perf_map_cache *cache, const struct process *process)
{
	bool has_own_root = process->root >= 0 || process->root == PROCESS_ROOT_UNREACHABLE;
	if (!has_own_root || process->end != UINT64_MAX)
		return;
	struct slot *slot = get_slot(cache, process);
	char path[64];
	const char *used;
	struct stat status;
	uint64_t now = clock_monotonic();
	if (slot->refused || now < slot->keep_again)
		return;
	slot->keep_again = now + KEEP_PERIOD;
	if (slot->kept >= 0 && !fstat(slot->kept, &status) && status.st_nlink)
		return;
	struct file_identity identity;
	int descriptor = open_any(cache, process, &identity, path, &used);
	if (descriptor < 0)
		return;
	release_kept(slot);
	slot->kept = descriptor;
	slot->kept_file = identity;
}

const char *perf_map_cache_find(struct perf_map_cache *cache, const struct process *process, uint64_t address,
				uint64_t *start)
{
	struct slot *slot = get_slot(cache, process);
	const char *name = find_name(cache, slot, address, start);
	if (name || slot->refused)
		return name;
	refresh(cache, slot, process);
	return find_name(cache, slot, address, start);
}
