/* SPDX-License-Identifier: Apache-2.0 */
/* See count_areas.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "count_areas.h"
#include "process/rights.h"

/* Limit on areas of up to 700 KB; launches of further processes fire the probe. */
#define AREAS_MAX 128u

/* Limit on attempts per turn, because a process can announce any number of areas. */
#define ATTEMPTS_MAX (2 * AREAS_MAX)

/* Without a reader for that long, launches fire the probe. Readings are at most a second apart. */
#define VALID UINT64_C(2000000000) /* ns */

/* Limit on launches between two readings, far above what a program can make. */
#define COUNT_MAX (UINT64_C(1) << 32)

/*
 * Number of readings after which an unknown launch is lost. It is known at the next one, except at the end, when two
 * readings follow without a turn.
 */
#define UNKNOWN_MAX 3u

/* An area is kept for that many turns after the process announced another one. */
#define TURNS_OVER_MAX UNKNOWN_MAX

#define F_SEAL_EXEC_LINUX 0x20 /* include/uapi/linux/fcntl.h, since Linux 6.3 */

/* Times of another time namespace have an offset. */
static bool clock_is_ours(uint32_t process)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/ns/time", process);
	if (stat("/proc/self/ns/time", &ours) != 0)
		return errno == ENOENT; /* before Linux 5.6 */
	return stat(path, &theirs) == 0 && theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

/*
 * Returns whether an open file, or an O_PATH descriptor, is on the file system of files in memory (memfd_create(2)).
 * Does not ask the file system, which can be one that never answers.
 */
static bool is_in_memory(int file)
{
	CLEANUP_CLOSE int ours = memfd_create("iaprof-device", MFD_CLOEXEC);
	struct statx known, status;

	return ours >= 0 && statx(ours, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &known) == 0 &&
	       statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &status) == 0 &&
	       S_ISREG(status.stx_mode) && status.stx_dev_major == known.stx_dev_major &&
	       status.stx_dev_minor == known.stx_dev_minor;
}

/*
 * Returns a descriptor of the file that the process mapped at the address, if it has the tracer's name: nobody else has
 * such a file open, so that writing to it changes nothing but the process's own memory. Otherwise a negative errno.
 */
static int file_open(struct broker *broker, uint32_t process, uint64_t address)
{
	static const char name[] = "/memfd:" ZE_COUNT_FILE " (deleted)";
	char path[64], target[sizeof name + 1];

	CLEANUP_CLOSE int found = broker_open_mapped_path(broker, process, address, ZE_COUNT_SIZE);
	if (found < 0)
		return found;
	/* Opens the file that was found, even if another is mapped there by now. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", found);
	ssize_t length = readlink(path, target, sizeof target);
	if (length != (ssize_t)(sizeof name - 1) || memcmp(target, name, sizeof name - 1) != 0 || !is_in_memory(found))
		return -EINVAL;
	int file = open(path, O_RDWR | O_CLOEXEC);
	return file < 0 ? -errno : file;
}

/* Returns whether reading and writing the file never fails: it keeps its size, and is in memory. */
static bool file_is_safe(int file)
{
	struct stat status;

	return is_in_memory(file) && fstat(file, &status) == 0 && status.st_size == (off_t)ZE_COUNT_SIZE &&
	       (fcntl(file, F_GET_SEALS) & ~F_SEAL_EXEC_LINUX) == ZE_COUNT_SEALS;
}

static void area_free(struct count_area *area)
{
	munmap(area->shared, ZE_COUNT_SIZE);
	free(area->cells);
	free(area);
}

/*
 * Makes the first reading: earlier counts belong to the previous profiler, except those that it had not read when it
 * stopped, because a thread can be preempted between its check of valid_until and the count.
 */
static void cells_begin(struct count_area *area)
{
	const struct ze_count_area *shared = area->shared;
	bool was_left = __atomic_load_n(&shared->read_turn, __ATOMIC_ACQUIRE) == shared->turn && shared->turn;

	for (uint32_t i = 0; i < ZE_COUNT_CELLS; i++) {
		uint64_t count = __atomic_load_n(&shared->cells[i].count, __ATOMIC_RELAXED);
		if (!count)
			continue;
		uint32_t unread = was_left ? (uint32_t)count - shared->cells[i].read : 0;
		area->cells[i].count = count - unread;
	}
}

int count_areas_add(struct count_areas *areas, const struct ze_process *process, uint64_t address, int opened)
{
	CLEANUP_CLOSE int file = opened;

	if (!file_is_safe(file))
		return -EINVAL;
	if (!array_reserve(&areas->items, areas->items.count + 1))
		return -ENOMEM;
	void *shared = mmap(NULL, ZE_COUNT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shared == MAP_FAILED)
		return -errno;
	struct count_area *area = calloc(1, sizeof *area);
	struct counted_cell *cells = calloc(ZE_COUNT_CELLS, sizeof *cells);
	if (!area || !cells) {
		munmap(shared, ZE_COUNT_SIZE);
		free(area);
		free(cells);
		return -ENOMEM;
	}
	*area = (struct count_area){ .process = *process, .address = address, .shared = shared, .cells = cells };
	cells_begin(area);
	areas->items.items[areas->items.count++] = area;
	return 0;
}

/* From now on, launches of the process fire the probe. Each such time differs, by which the tracer recognizes it. */
static void area_end(struct count_area *area, uint64_t now)
{
	if (__atomic_load_n(&area->shared->valid_until, __ATOMIC_RELAXED) > now)
		__atomic_store_n(&area->shared->valid_until, now, __ATOMIC_SEQ_CST);
}

static void area_renew(const struct count_areas *areas, struct count_area *area, uint64_t now)
{
	bool is_valid = !areas->closed && !area->turns_over && !area->is_damaged &&
			areas->is_countable(areas->context, &area->process);

	__atomic_fetch_add(&area->shared->turn, 1, __ATOMIC_SEQ_CST);
	if (is_valid)
		__atomic_store_n(&area->shared->valid_until, now + VALID, __ATOMIC_RELEASE);
	else
		area_end(area, now);
}

void count_areas_open(struct count_areas *areas, const struct ze_event *event)
{
	const struct ze_process *process = &event->process;

	if (areas->closed || areas->attempts++ >= ATTEMPTS_MAX || event->area % (uint64_t)sysconf(_SC_PAGESIZE) ||
	    event->area > UINT64_MAX - ZE_COUNT_SIZE)
		return;
	for (uint32_t i = 0; i < areas->items.count; i++) {
		struct count_area *area = areas->items.items[i];
		if (area->process.id != process->id)
			continue;
		if (area->process.program == process->program && area->address == event->area)
			return;
		area->turns_over = 1;
	}
	/*
	 * With vm.overcommit_memory=2, memory can be missing for a part of the file that its process has deallocated.
	 */
	if (areas->items.count >= AREAS_MAX || !clock_is_ours(process->id) ||
	    rights_setting("vm/overcommit_memory") == 2)
		return;
	int file = file_open(areas->broker, process->id, event->area);
	int result = file < 0 ? file : count_areas_add(areas, process, event->area, file);
	if (result)
		return;
	areas->opened++;
	area_renew(areas, areas->items.items[areas->items.count - 1], areas->host->clock(areas->host));
}

/* The process wrote something that the tracer never does. */
static void area_damage(const struct count_areas *areas, struct count_area *area, uint64_t now)
{
	area->is_damaged = true;
	area_end(area, now);
	areas->host->lost(areas->host, "launches counted in memory that the process overwrote", now,
			  IAPROF_COUNT_UNKNOWN, 0, 0);
}

/* Reads the tag and the launches since the last reading. Returns false if there are none, or the cell is changing. */
static bool cell_read(const struct count_areas *areas, struct count_area *area, uint32_t position, uint64_t now,
		      uint32_t *tag, struct counted *counted)
{
	const struct ze_count_cell *shared = &area->shared->cells[position];
	struct counted_cell *cell = &area->cells[position];

	*tag = __atomic_load_n(&shared->tag, __ATOMIC_ACQUIRE);
	uint64_t count = __atomic_load_n(&shared->count, __ATOMIC_ACQUIRE) - cell->count;
	if (!count) {
		if (cell->last_time)
			cell->last_time = now; /* those that follow are later */
		return false;
	}
	uint64_t last_time = __atomic_load_n(&shared->last_time, __ATOMIC_ACQUIRE);
	/* The tracer changes the tag before the count. */
	if (__atomic_load_n(&shared->tag, __ATOMIC_ACQUIRE) != *tag)
		return false;
	if (count > COUNT_MAX) {
		area_damage(areas, area, now);
		return false;
	}
	if (last_time > now)
		last_time = now;
	*counted = (struct counted){ count, cell->last_time, last_time };
	return true;
}

/* The launches that were read belong to the profile. */
static void cell_accept(struct count_areas *areas, struct count_area *area, uint32_t position, struct counted *counted)
{
	struct counted_cell *cell = &area->cells[position];

	if (counted->last_time < counted->first_time)
		counted->last_time = counted->first_time;
	cell->count += counted->count;
	cell->last_time = counted->last_time;
	cell->unknown = 0;
	areas->launches += counted->count;
}

static struct count_area *area_find(const struct count_areas *areas, const struct ze_process *process)
{
	/* Takes the latest: an earlier area of the program is no longer used. */
	for (uint32_t i = areas->items.count; i-- > 0;) {
		struct count_area *area = areas->items.items[i];
		if (area->process.id == process->id && area->process.program == process->program)
			return area;
	}
	return NULL;
}

bool count_areas_take(struct count_areas *areas, const struct known_launch *launch, uint64_t now,
		      struct counted *counted)
{
	struct count_area *area = area_find(areas, &launch->key.process);
	uint32_t position = launch->key.cell % ZE_COUNT_CELLS, tag;

	*counted = (struct counted){ 0 };
	if (!area || area->is_damaged)
		return false;
	bool is_read = cell_read(areas, area, position, now, &tag, counted);
	if (tag != launch->key.cell) {
		*counted = (struct counted){ 0 };
		return false;
	}
	struct counted_cell *cell = &area->cells[position];
	bool is_new = cell->launch.key.cell != tag;
	cell->launch = *launch;
	if (is_read) {
		/*
		 * Some can be from before the probe was fired, but after the last reading. Times of what the cell
		 * counted before, with another tag, are of no launch of this kernel.
		 */
		uint64_t fired = __atomic_load_n(&area->shared->cells[position].fired_count, __ATOMIC_RELAXED);
		if (is_new || fired == cell->count || cell->last_time > launch->time)
			counted->first_time = launch->time;
		cell_accept(areas, area, position, counted);
	} else {
		cell->last_time = launch->time;
	}
	return true;
}

/* Counts launches as lost whose kernel and stack are still unknown, although they should be known by now. */
static void cell_lose(struct count_areas *areas, struct count_area *area, uint32_t position, struct counted *counted)
{
	cell_accept(areas, area, position, counted);
	areas->lost += counted->count;
	areas->host->lost(areas->host, "launch counted in memory, but not known", counted->last_time, counted->count, 0,
			  0);
}

int count_areas_sweep(struct count_areas *areas, uint64_t now, bool is_last,
		      int (*late)(void *context, const struct known_launch *launch, const struct counted *counted),
		      void *context)
{
	struct counted counted;
	uint32_t tag;
	int result = 0;

	for (uint32_t i = 0; i < areas->items.count; i++) {
		struct count_area *area = areas->items.items[i];
		for (uint32_t j = 0; j < ZE_COUNT_CELLS && !area->is_damaged; j++) {
			struct counted_cell *cell = &area->cells[j];
			if (!cell_read(areas, area, j, now, &tag, &counted))
				continue;
			if (tag == cell->launch.key.cell && tag) {
				cell_accept(areas, area, j, &counted);
				int error = late(context, &cell->launch, &counted);
				result = result ? result : error;
			} else if (++cell->unknown >= UNKNOWN_MAX || is_last) {
				cell_lose(areas, area, j, &counted);
			}
		}
	}
	return result;
}

/* Removes the areas for which is_removed() returns true. */
static void areas_remove(struct count_areas *areas,
			 bool (*is_removed)(const struct count_area *area, const void *context), const void *context)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < areas->items.count; i++) {
		struct count_area *area = areas->items.items[i];
		if (is_removed(area, context))
			area_free(area);
		else
			areas->items.items[kept++] = area;
	}
	areas->items.count = kept;
}

static bool is_over(const struct count_area *area, const void *context)
{
	(void)context;
	return area->turns_over > TURNS_OVER_MAX;
}

void count_areas_renew(struct count_areas *areas, uint64_t now)
{
	areas->attempts = 0;
	for (uint32_t i = 0; i < areas->items.count; i++) {
		struct count_area *area = areas->items.items[i];
		area->turns_over += area->turns_over > 0;
		area_renew(areas, area, now);
	}
	areas_remove(areas, is_over, NULL);
}

void count_areas_hand_over(struct count_areas *areas)
{
	for (uint32_t i = 0; i < areas->items.count; i++) {
		const struct count_area *area = areas->items.items[i];
		struct ze_count_area *shared = area->shared;
		if (area->is_damaged)
			continue;
		for (uint32_t j = 0; j < ZE_COUNT_CELLS; j++)
			if (area->cells[j].count)
				shared->cells[j].read = (uint32_t)area->cells[j].count;
		__atomic_store_n(&shared->read_turn, shared->turn, __ATOMIC_RELEASE);
	}
}

void count_areas_close(struct count_areas *areas, uint64_t now)
{
	areas->closed = true;
	for (uint32_t i = 0; i < areas->items.count; i++)
		area_end(areas->items.items[i], now);
}

static bool has_ended(const struct count_area *area, const void *context)
{
	const struct ze_process *ended = context;
	return ze_process_is_over(&area->process, ended);
}

void count_areas_forget_process(struct count_areas *areas, const struct ze_process *ended)
{
	areas_remove(areas, has_ended, ended);
}

void count_areas_free(struct count_areas *areas)
{
	for (uint32_t i = 0; i < areas->items.count; i++)
		area_free(areas->items.items[i]);
	array_free(&areas->items);
}
