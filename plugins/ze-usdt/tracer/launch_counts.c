/* SPDX-License-Identifier: Apache-2.0 */
/* See launch_counts.h. */
#include "launch_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../count_area.h"
#include "private_files.h"
#include "probe_sites.h"

/* linux/memfd.h, linux/fcntl.h, asm-generic/mman-common.h: newer than the oldest supported C library. */
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1U
#define MFD_ALLOW_SEALING 2U
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* Number of cells that are searched for a launch. */
#define SEARCH 8u

/* The launch that a cell counts. */
struct counted {
	struct counted_launch launch;
	uint32_t tag;
	uint64_t turn;    /* in which the probe was fired with the tag; 0: not at all */
	uint64_t retired; /* turn in which it was found not to be in use; 0: it is in use */
	uint64_t begin;   /* the cell's count when it got the tag */
};

struct count_block {
	struct count_block **_Atomic owner; /* where its thread keeps its address; NULL: it has none */
	unsigned first;                     /* position of its cells */
	volatile bool busy;                 /* a signal handler that launches has interrupted launch_counts_add() */
	struct counted counted[ZE_COUNT_BLOCK];
};

/* In memory that is zero in a forked child, which does not have the area either. */
struct count_state {
	struct ze_count_area *_Atomic area;
	_Atomic bool creating;
	_Atomic uint32_t announced_epoch;
	_Atomic uint64_t announced_time; /* valid_until at the last announcement */
	struct count_block blocks[ZE_COUNT_BLOCKS];
};

static uint64_t now(void)
{
	struct timespec time = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A filter of system calls may end the program for one that it does not know. */
static bool calls_are_filtered(void)
{
	static const char none[] = "\nSeccomp:\t0\n";
	char text[4096];
	int file = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return true;
	ssize_t size = read(file, text, sizeof text);
	close(file);
	return size <= 0 || !memmem(text, (size_t)size, none, sizeof none - 1);
}

static int file_create(void)
{
	long flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	/* Known since Linux 6.3; sysctl vm.memfd_noexec=2 requires it. */
	long file = syscall(SYS_memfd_create, ZE_COUNT_FILE, flags | MFD_NOEXEC_SEAL);

	return (int)(file >= 0 || errno != EINVAL ? file : syscall(SYS_memfd_create, ZE_COUNT_FILE, flags));
}

static struct ze_count_area *area_create(void)
{
	int file = calls_are_filtered() || !file_is_allowed(ZE_COUNT_SIZE) ? -1 : file_create();
	void *area = MAP_FAILED;

	if (file < 0)
		return NULL;
	/*
	 * Allocates now, because memory that is missing later would raise SIGBUS. fcntl() by number: in this build, it
	 * is newer than the oldest supported C library.
	 */
	if (fallocate(file, 0, 0, ZE_COUNT_SIZE) == 0 && syscall(SYS_fcntl, file, F_ADD_SEALS, ZE_COUNT_SEALS) == 0)
		area = mmap(NULL, ZE_COUNT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (area == MAP_FAILED)
		return NULL;
	if (madvise(area, ZE_COUNT_SIZE, MADV_DONTFORK) != 0) {
		munmap(area, ZE_COUNT_SIZE);
		return NULL;
	}
	return area;
}

static struct count_state *state_create(void)
{
	size_t size = sizeof(struct count_state);
	void *state = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (state == MAP_FAILED)
		return NULL;
	/* Linux 4.14 */
	if (madvise(state, size, MADV_WIPEONFORK) != 0) {
		munmap(state, size);
		return NULL;
	}
	return state;
}

/* Each step is attempted once. */
__attribute__((noinline)) static void area_prepare(struct launch_counts *counts)
{
	struct count_state *state = atomic_load(&counts->state);

	if (!state && !atomic_exchange(&counts->creating, true)) {
		state = state_create();
		atomic_store(&counts->state, state);
	}
	if (state && !atomic_exchange(&state->creating, true))
		atomic_store(&state->area, area_create());
}

/* Returns the area, or NULL if there is none. */
static struct ze_count_area *area_get(struct launch_counts *counts)
{
	struct count_state *state = atomic_load_explicit(&counts->state, memory_order_acquire);
	struct ze_count_area *area = state ? atomic_load_explicit(&state->area, memory_order_acquire) : NULL;
	int cancellation;

	if (area)
		return area;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
	area_prepare(counts);
	pthread_setcancelstate(cancellation, NULL);
	state = atomic_load(&counts->state);
	return state ? atomic_load(&state->area) : NULL;
}

/* Announces the area to a profiler that may not know it. */
static void area_announce(struct count_state *state, const struct ze_count_area *area, uint32_t epoch)
{
	uint64_t time = __atomic_load_n(&area->valid_until, __ATOMIC_RELAXED);
	bool is_behind = atomic_exchange(&state->announced_epoch, epoch) != epoch;

	if (atomic_exchange(&state->announced_time, time) != time || is_behind)
		probe_share_counts((uintptr_t)area);
}

/* Gives the thread a block, if there is one. */
static void block_take(struct count_state *state, struct count_block **owner)
{
	*owner = NULL;
	for (unsigned i = 0; i < ZE_COUNT_BLOCKS; i++) {
		struct count_block **none = NULL;

		if (!atomic_compare_exchange_strong(&state->blocks[i].owner, &none, owner))
			continue;
		state->blocks[i].first = i * ZE_COUNT_BLOCK;
		*owner = &state->blocks[i];
		return;
	}
}

/* Returns whether the thread has a block: not that of its parent, before fork(). */
static bool block_is_owned(struct count_block **owner)
{
	return *owner && atomic_load_explicit(&(*owner)->owner, memory_order_relaxed) == owner;
}

void launch_counts_release(struct count_block **owner)
{
	if (!block_is_owned(owner))
		return;
	struct count_block *block = *owner;
	/* Clears the launches, because those of the next thread differ. */
	for (unsigned i = 0; i < ZE_COUNT_BLOCK; i++)
		block->counted[i].launch.kernel = NULL;
	block->busy = false;
	atomic_store(&block->owner, NULL);
}

static bool is_same(const struct counted_launch *one, const struct counted_launch *other)
{
	return one->stack == other->stack && one->kernel == other->kernel && one->recording == other->recording &&
	       one->module == other->module && one->address == other->address;
}

/* The stack's identity is a hash already. */
static unsigned position_of(const struct counted_launch *launch)
{
	uint64_t hash = (launch->stack ^ (uintptr_t)launch->kernel >> 4) + launch->recording;

	return (unsigned)(hash * UINT64_C(0x9e3779b97f4a7c15) >> 57);
}
_Static_assert(ZE_COUNT_BLOCK == 1 << 7, "position_of() returns 7 bits");

static struct counted *counted_find(struct count_block *block, const struct counted_launch *launch)
{
	unsigned position = position_of(launch);

	for (unsigned i = 0; i < SEARCH; i++) {
		struct counted *counted = &block->counted[(position + i) % ZE_COUNT_BLOCK];

		if (is_same(&counted->launch, launch))
			return counted;
		if (!counted->tag)
			return NULL;
	}
	return NULL;
}

/*
 * Returns whether the cell, which was not used in this turn, can count something else: it has counted nothing, or the
 * profiler has read it. Launches that were counted before this thread reads the turn are read in one that starts later.
 */
static bool is_retired(struct counted *counted, const struct ze_count_cell *cell, uint64_t turn)
{
	if (cell->count == counted->begin)
		return true;
	if (counted->retired)
		return turn - counted->retired >= ZE_COUNT_RETIRE_TURNS;
	counted->turn = 0;
	counted->retired = turn;
	return false;
}

/* Returns a cell that counts nothing else any more, or NULL. */
static struct counted *counted_take(struct ze_count_area *area, struct count_block *block,
				    const struct counted_launch *launch)
{
	unsigned position = position_of(launch);
	struct counted *found = NULL;

	atomic_thread_fence(memory_order_seq_cst);
	uint64_t turn = __atomic_load_n(&area->turn, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < SEARCH; i++) {
		unsigned place = (position + i) % ZE_COUNT_BLOCK;
		struct counted *counted = &block->counted[place];

		if (!counted->tag) {
			if (!found) {
				found = counted;
				found->tag = block->first + place;
			}
			break;
		}
		/* All are examined: those that are not used now can be taken later. */
		const struct ze_count_cell *cell = &area->cells[block->first + place];
		if (counted->turn != turn && is_retired(counted, cell, turn) && !found)
			found = counted;
	}
	if (!found)
		return NULL;
	/* A number of its own, and not 0. */
	do
		found->tag += ZE_COUNT_CELLS;
	while (found->tag < ZE_COUNT_CELLS);
	struct ze_count_cell *cell = &area->cells[found->tag % ZE_COUNT_CELLS];
	found->launch = *launch;
	found->begin = cell->count;
	__atomic_store_n(&cell->tag, found->tag, __ATOMIC_RELEASE);
	return found;
}

/* Counts the launch in this turn's cell for it, or returns false with the tag of the cell for the next ones. */
static bool block_count(struct ze_count_area *area, struct count_block *block, const struct counted_launch *launch,
			uint64_t time, uint32_t *tag)
{
	uint64_t turn = __atomic_load_n(&area->turn, __ATOMIC_RELAXED);
	struct counted *counted = counted_find(block, launch);
	struct ze_count_cell *cell;

	if (counted && counted->turn == turn) {
		cell = &area->cells[counted->tag % ZE_COUNT_CELLS];
		__atomic_store_n(&cell->last_time, time, __ATOMIC_RELAXED);
		__atomic_store_n(&cell->count, cell->count + 1, __ATOMIC_RELEASE);
		return true;
	}
	if (!counted)
		counted = counted_take(area, block, launch);
	if (!counted)
		return false;
	cell = &area->cells[counted->tag % ZE_COUNT_CELLS];
	__atomic_store_n(&cell->fired_count, cell->count, __ATOMIC_RELAXED);
	counted->turn = turn;
	counted->retired = 0;
	*tag = counted->tag;
	return false;
}

bool launch_counts_add(struct launch_counts *counts, struct count_block **owner, const struct counted_launch *launch,
		       uint32_t epoch, uint32_t *tag)
{
	struct ze_count_area *area = area_get(counts);

	*tag = 0;
	if (!area || !owner || !launch->stack)
		return false;
	struct count_state *state = atomic_load_explicit(&counts->state, memory_order_relaxed);
	uint64_t time = now();
	if (time >= __atomic_load_n(&area->valid_until, __ATOMIC_RELAXED)) {
		area_announce(state, area, epoch);
		return false;
	}
	if (!block_is_owned(owner))
		block_take(state, owner);
	struct count_block *block = *owner;
	if (!block || block->busy)
		return false;
	block->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	bool is_counted = block_count(area, block, launch, time, tag);
	atomic_signal_fence(memory_order_seq_cst);
	block->busy = false;
	return is_counted;
}
