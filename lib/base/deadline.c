/* SPDX-License-Identifier: Apache-2.0 */
/* See deadline.h. */
#include "base/deadline.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/saturating.h"

/*
 * Reads the time that a thread ran and the time that it was runnable without a CPU (sched-stats.rst), ns; 0: unknown.
 */
struct schedule_times {
	uint64_t run, delay;
};

static int open_times(pid_t process, pid_t thread)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", process, thread);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static struct schedule_times read_times(int file)
{
	char text[64], *end;
	ssize_t size = file < 0 ? 0 : pread(file, text, sizeof text - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	struct schedule_times times = { .run = strtoull(text, &end, 10) };
	times.delay = strtoull(end, NULL, 10);
	return times;
}

uint64_t thread_busy_time(pid_t thread)
{
	CLEANUP_CLOSE int file = open_times(getpid(), thread);
	struct schedule_times times = read_times(file);
	return times.run + times.delay;
}

static uint64_t run_delay_now(struct run_delay *delay)
{
	/* The file stays open, because it is read for each file and compilation unit. */
	return delay ? read_times(atomic_load(&delay->file) - 1).delay + atomic_load(&delay->of_helpers) : 0;
}

void run_delay_follow(struct run_delay *delay)
{
	if (!atomic_load(&delay->file))
		atomic_store(&delay->file, open_times(getpid(), gettid()) + 1);
}

void run_delay_release(struct run_delay *delay)
{
	int file = atomic_exchange(&delay->file, 0) - 1;
	if (file >= 0)
		close(file);
}

struct deadline deadline_make(struct run_delay *delay, uint64_t duration)
{
	uint64_t now = clock_monotonic();
	uint64_t stretched = !delay                                         ? duration
			     : duration > UINT64_MAX / DEADLINE_STRETCH_MAX ? UINT64_MAX
									    : DEADLINE_STRETCH_MAX * duration;
	return (struct deadline){ .begin = now,
				  .time = saturating_add(now, duration),
				  .latest = saturating_add(now, stretched),
				  .delayed = run_delay_now(delay),
				  .delay = delay };
}

struct deadline deadline_earlier(const struct deadline *a, const struct deadline *b)
{
	const struct deadline *newer = a->begin > b->begin ? a : b, *older = newer == a ? b : a;
	struct deadline earlier = *newer;
	/* Counts only run delay that the older deadline has not counted. */
	uint64_t time = saturating_add(older->time, newer->delay ? newer->delayed - older->delayed : 0);
	if (time < earlier.time)
		earlier.time = time;
	if (older->latest < earlier.latest)
		earlier.latest = older->latest;
	return earlier;
}

/* Returns the run delay since the deadline was made, ns. */
static uint64_t delay_since(const struct deadline *deadline)
{
	if (!deadline->delay)
		return 0;
	deadline_note_helper(deadline);
	uint64_t delayed = run_delay_now(deadline->delay);
	return delayed > deadline->delayed ? delayed - deadline->delayed : 0;
}

uint64_t deadline_left(const struct deadline *deadline)
{
	uint64_t now = clock_monotonic(), time = deadline->time;
	if (deadline->latest == UINT64_MAX && time == UINT64_MAX)
		return UINT64_MAX;
	if (now >= deadline->latest)
		return 0;
	if (now >= time)
		time = saturating_add(time, delay_since(deadline));
	if (time > deadline->latest)
		time = deadline->latest;
	return time > now ? time - now : 0;
}

bool deadline_has_passed(const struct deadline *deadline)
{
	return !deadline_left(deadline);
}

uint64_t deadline_spent(const struct deadline *deadline)
{
	uint64_t elapsed = clock_monotonic() - deadline->begin, delay = delay_since(deadline);
	uint64_t least = elapsed / DEADLINE_STRETCH_MAX;
	return delay < elapsed - least ? elapsed - delay : least;
}

void deadline_note_helper(const struct deadline *deadline)
{
	struct delayed_process *helper = deadline->helper;
	if (!deadline->delay || !helper || helper->pid <= 0)
		return;
	CLEANUP_CLOSE int file = open_times(helper->pid, helper->pid);
	uint64_t delay = read_times(file).delay;
	if (delay > helper->seen) {
		atomic_fetch_add(&deadline->delay->of_helpers, delay - helper->seen);
		helper->seen = delay;
	}
}

struct deadline deadline_make_with(struct run_delay *delay, struct delayed_process *helper, uint64_t duration)
{
	const struct deadline so_far = { .delay = delay, .helper = helper };
	run_delay_follow(delay);
	deadline_note_helper(&so_far);
	struct deadline deadline = deadline_make(delay, duration);
	deadline.helper = helper;
	return deadline;
}
