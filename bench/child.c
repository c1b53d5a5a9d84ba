/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that a benchmark runs and measures: see child.h. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"

extern char **environ;

static void give_up(const char *what, int code)
{
	fprintf(stderr, "%s: %s\n", what, strerror(code));
	exit(EXIT_FAILURE);
}

pid_t child_spawn(char *const *arguments, const char *output)
{
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output ? output : "/dev/null",
					 O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	pid_t pid;
	int code = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (code)
		give_up(arguments[0], code);
	return pid;
}

double child_cpu_seconds(pid_t pid)
{
	clockid_t clock;
	int code = clock_getcpuclockid(pid, &clock);
	if (code)
		give_up("CPU time of a program", code);
	return (double)clock_read(clock) / (double)NANOSECONDS_PER_SECOND;
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

struct child_usage child_end(pid_t pid, int signal)
{
	struct rusage usage;
	int status;
	if (signal)
		kill(pid, signal);
	while (wait4(pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			give_up("wait for a program", errno);
	return (struct child_usage){ .cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
				     .peak_memory = (uint64_t)usage.ru_maxrss * 1024,
				     .status = status };
}

bool child_exists(const char *program)
{
	const char *path = getenv("PATH");
	for (const char *folder = path ? path : ""; *folder;) {
		size_t length = strcspn(folder, ":");
		char file[4096];
		snprintf(file, sizeof file, "%.*s/%s", (int)length, folder, program);
		if (access(file, X_OK) == 0)
			return true;
		folder += length + (folder[length] == ':');
	}
	return false;
}

char *child_make_folder(void)
{
	const char *parent = getenv("TMPDIR");
	char *folder = NULL;
	if (asprintf(&folder, "%s/iaprof-bench-XXXXXX", parent ? parent : "/tmp") < 0 || !mkdtemp(folder))
		give_up("make a folder", errno);
	return folder;
}

void child_remove_folder(char *folder)
{
	char *arguments[] = { (char *)"rm", (char *)"-rf", (char *)"--", folder, NULL };
	child_end(child_spawn(arguments, NULL), 0);
	free(folder);
}

void sleep_seconds(double seconds)
{
	struct timespec time = { .tv_sec = (time_t)seconds,
				 .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };
	while (nanosleep(&time, &time) && errno == EINTR)
		;
}
