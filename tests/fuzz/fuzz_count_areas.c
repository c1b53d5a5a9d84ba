/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: memory in which a process counts launches, with any contents at any time. Each launch that is read
 * belongs to a launch that is known, or is lost, and times are in order.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ze-usdt/count_areas.h"

#define NOW 1000000u

/* Each step of the input: an action, the position of a cell, and a value. */
enum action { WRITE_TAG, WRITE_COUNT, WRITE_TIME, ADD_COUNT, TAKE, SWEEP, RENEW, WRITE_TURN, ACTION_COUNT };
#define STEP_SIZE (2 + sizeof(uint64_t))

static uint64_t lost, unknown_losses;

static void lost_count(const struct iaprof_host *host, const char *reason, uint64_t begin, uint64_t count,
		       uint32_t value_type, uint64_t value)
{
	if (count == IAPROF_COUNT_UNKNOWN)
		unknown_losses++;
	else
		lost += count;
}

static bool is_countable(void *context, const struct ze_process *process)
{
	return true;
}

static void counted_check(const struct counted *counted)
{
	if (!counted->count || counted->last_time > NOW || counted->first_time > counted->last_time)
		abort();
}

static int found_late(void *context, const struct known_launch *launch, const struct counted *counted)
{
	uint64_t *found = context;

	if (!launch->key.cell)
		abort();
	counted_check(counted);
	*found += counted->count;
	return 0;
}

static uint64_t step_take(struct count_areas *areas, const struct ze_process *process, uint32_t tag)
{
	struct known_launch launch = { .key = { .process = *process, .cell = tag }, .time = tag % NOW };
	struct counted counted;

	if (!tag || !count_areas_take(areas, &launch, NOW, &counted) || !counted.count)
		return 0;
	counted_check(&counted);
	return counted.count;
}

static uint64_t step_do(struct count_areas *areas, const struct ze_process *process, struct ze_count_area *shared,
			const uint8_t *step)
{
	struct ze_count_cell *cell = &shared->cells[step[1]];
	uint64_t value, found = 0;

	memcpy(&value, step + 2, sizeof value);
	switch (step[0] % ACTION_COUNT) {
	case WRITE_TAG:
		cell->tag = (uint32_t)value;
		break;
	case WRITE_COUNT:
		cell->count = value;
		break;
	case WRITE_TIME:
		cell->last_time = value;
		break;
	case ADD_COUNT:
		cell->count += value % 100;
		break;
	case TAKE:
		found = step_take(areas, process, (uint32_t)value);
		break;
	case SWEEP:
		count_areas_sweep(areas, NOW, value % 2, found_late, &found);
		break;
	case RENEW:
		count_areas_renew(areas, NOW);
		break;
	default:
		shared->turn = value;
	}
	return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ze_process process = { .id = 1, .program = 1 };
	const struct iaprof_host host = { .size = sizeof host, .lost = lost_count };
	struct count_areas areas = { .host = &host, .is_countable = is_countable };
	int file = memfd_create(ZE_COUNT_FILE, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint64_t found = 0;

	if (file < 0 || ftruncate(file, (off_t)ZE_COUNT_SIZE) || fcntl(file, F_ADD_SEALS, ZE_COUNT_SEALS))
		return 0;
	struct ze_count_area *shared = mmap(NULL, ZE_COUNT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shared == MAP_FAILED || count_areas_add(&areas, &process, 0, file))
		abort();
	lost = unknown_losses = 0;
	for (; size >= STEP_SIZE; data += STEP_SIZE, size -= STEP_SIZE)
		found += step_do(&areas, &process, shared, data);
	if (found + lost != areas.launches || lost != areas.lost || unknown_losses > 1)
		abort();
	count_areas_free(&areas);
	munmap(shared, ZE_COUNT_SIZE);
	return 0;
}
