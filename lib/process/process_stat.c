/* SPDX-License-Identifier: Apache-2.0 */
/* See process_stat.h. */
#include "process/process_stat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "process/small_file.h"

char *process_stat_fields(uint32_t pid, char **text)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
	char *end = small_file_read(path, text) ? strrchr(*text, ')') : NULL;
	return end && end[1] ? end + 2 : NULL;
}

uint64_t process_ended_children_time(uint32_t pid)
{
	CLEANUP_FREE char *text = NULL;
	const char *fields = process_stat_fields(pid, &text);
	uint64_t user, system;
	if (!fields || sscanf(fields, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &user,
			      &system) != 2)
		return 0;
	return (user + system) * (NANOSECONDS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

bool process_user(uint32_t pid, uint32_t *user)
{
	char path[32];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%" PRIu32, pid);
	if (stat(path, &status))
		return false;
	*user = status.st_uid;
	return true;
}
