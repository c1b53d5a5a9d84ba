/* SPDX-License-Identifier: Apache-2.0 */
/* See process_rank.h. */
#include "process/process_rank.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/small_file.h"
#include "text/text_span.h"

/* The most specific launcher first: torchrun may run below mpirun, and both below srun. */
static const struct launcher {
	const char *rank, *size;
	bool needs_size; /* the name of the rank alone is too common */
} launchers[] = {
	{ "RANK", "WORLD_SIZE", true },       { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false },
	{ "PMIX_RANK", NULL, false },         { "PMI_RANK", "PMI_SIZE", false },
	{ "LOCAL_RANK", "WORLD_SIZE", true }, { "SLURM_PROCID", "SLURM_NTASKS", false },
};

/* Returns whether the environment has the variable, with a decimal number below 2^31. */
static bool number_find(const char *environment, size_t length, const char *name, uint32_t *number)
{
	struct text_span rest = { environment, length }, variable;

	while (name && rest.length && span_take_field(&rest, '\0', &variable)) {
		uint64_t value;
		if (!span_take(&variable, name) || !span_take(&variable, "="))
			continue;
		if (!span_take_decimal(&variable, &value) || variable.length || value > INT32_MAX)
			return false;
		*number = (uint32_t)value;
		return true;
	}
	return false;
}

bool process_rank_find(const char *environment, size_t length, uint32_t *rank)
{
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		const struct launcher *launcher = &launchers[i];
		uint32_t size;
		if (!number_find(environment, length, launcher->rank, rank))
			continue;
		bool has_size = number_find(environment, length, launcher->size, &size);
		if (has_size ? size > 1 && *rank < size : !launcher->needs_size)
			return true;
	}
	return false;
}

enum process_rank_state process_rank_read(pid_t pid, uint32_t *rank)
{
	char path[32];
	CLEANUP_FREE char *environment = NULL;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	size_t length = small_file_read(path, &environment);
	if (!length)
		return environment ? PROCESS_RANK_UNKNOWN : PROCESS_RANK_NONE;
	return process_rank_find(environment, length, rank) ? PROCESS_RANK_FOUND : PROCESS_RANK_NONE;
}

void process_rank_name(char *text, size_t size, const char *name, size_t length, uint32_t rank)
{
	snprintf(text, size, "%.*s (rank %" PRIu32 ")", (int)length, name, rank);
}

const char *process_rank_suffix(const char *name)
{
	const char *suffix = strrchr(name, '(');
	struct text_span text = span_of(suffix ? suffix : "");
	uint64_t rank;

	return suffix && suffix > name && suffix[-1] == ' ' && span_take(&text, "(rank ") &&
			       span_take_decimal(&text, &rank) && rank <= INT32_MAX && span_is(text, ")")
		       ? suffix - 1
		       : NULL;
}
