/* SPDX-License-Identifier: Apache-2.0 */
/* A Level Zero program whose launches are known: the order in which it waits, forks, launches and executes itself. */
#include "truth.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Nothing of Level Zero was called yet, so that a profiler can attach before anything happens. */
static void wait_at_start(const struct options *options, const sigset_t *signals)
{
	int number;

	printf("pid %d\n", getpid());
	fflush(stdout);
	while (options->wait_file && access(options->wait_file, F_OK) != 0)
		usleep(10000);
	if (options->wait_signal)
		sigwait(signals, &number);
}

/* Tells what is done, and waits for a line, or for the end of the input. */
static void step(const struct options *options, const char *what, unsigned number)
{
	int byte;

	if (!options->steps)
		return;
	printf("step %s %u\n", what, number);
	fflush(stdout);
	do
		byte = getchar();
	while (byte != '\n' && byte != EOF);
}

static void run(const struct options *options)
{
	static uint64_t addresses[RELOADS_MAX + 1][MODULE_COUNT];
	static struct worker workers[THREADS_MAX];
	struct device device;
	static struct load loads[RELOADS_MAX + 1];

	device_open(&device);
	for (unsigned number = 0; number <= options->reloads; number++) {
		struct load *load = &loads[number];

		modules_load(&device, options, number, load);
		for (unsigned i = 0; i < MODULE_COUNT; i++)
			addresses[number][i] = load->modules[i].address;
		step(options, "loaded", number);
		workers_run(&device, options, load, workers);
		truth_print(options, number, load, addresses, workers);
		step(options, "launched", number);
		if (options->keep)
			continue;
		modules_unload(&device, load);
		step(options, "unloaded", number);
	}
	for (unsigned number = 0; options->keep && number <= options->reloads; number++)
		modules_unload(&device, &loads[number]);
	device_close(&device);
}

static void child_wait(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail("the child process %d failed: its own line says why", child);
}

/* The same command line without what would repeat for ever or wait again: the last of an option counts. */
static _Noreturn void execute_itself(int argc, char **argv)
{
	char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
	int count = 0;

	if (!arguments)
		fail("no memory for %d arguments", argc);
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "--wait-signal") != 0)
			arguments[count++] = argv[i];
	arguments[count++] = "--child";
	arguments[count] = "none";
	execv("/proc/self/exe", arguments);
	fail("/proc/self/exe: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	struct options options;
	sigset_t signals;
	pid_t child = 0;

	options_read(&options, argc, argv);
	if (options.wait_signal) {
		sigemptyset(&signals);
		sigaddset(&signals, SIGUSR1);
		sigprocmask(SIG_BLOCK, &signals, NULL);
	}
	wait_at_start(&options, &signals);
	if (options.child == CHILD_FORK) {
		child = fork();
		if (child < 0)
			fail("fork: %s", strerror(errno));
		if (child > 0)
			child_wait(child);
	}
	run(&options);
	if (options.child == CHILD_EXEC)
		execute_itself(argc, argv);
	return 0;
}
