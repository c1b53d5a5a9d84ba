/* SPDX-License-Identifier: Apache-2.0 */
/* Renames itself COUNT times, RATE times a second, with 40,000 names that are ordinary or collide: thread_names.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "thread_names.h"

#define NAME_COUNT 40000u
#define TICK 1000000L /* ns */
#define TICKS_PER_SECOND 1000u

static void tick_wait(struct timespec *next)
{
	next->tv_nsec += TICK;
	if (next->tv_nsec >= 1000000000L) {
		next->tv_nsec -= 1000000000L;
		next->tv_sec++;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	static char names[NAME_COUNT][THREAD_NAME_LENGTH + 1];
	bool colliding = argc == 4 && strcmp(argv[1], "colliding") == 0;
	uint64_t count = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t rate = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
	struct timespec next;

	if (!count || rate < TICKS_PER_SECOND || (!colliding && strcmp(argv[1], "ordinary") != 0)) {
		fprintf(stderr, "usage: rename_storm colliding|ordinary COUNT RATE (at least %u a second)\n",
			TICKS_PER_SECOND);
		return 2;
	}
	thread_names_make(colliding, NAME_COUNT, names);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (uint64_t done = 0; done < count; tick_wait(&next))
		for (uint64_t left = rate / TICKS_PER_SECOND; left && done < count; left--, done++)
			if (prctl(PR_SET_NAME, names[done % NAME_COUNT], 0, 0, 0)) {
				perror("prctl");
				return 1;
			}
	return 0;
}
