// SPDX-License-Identifier: Apache-2.0
/*
 * Does what the processes of a scenario do: opens the NPU and makes its ioctls, each from a function of its own, so
 * that a profiler has user stacks to show.
 *
 *     npu_player [--load] [--times N | --seconds N] [--rate N] [--process NAME] SCENARIO
 *
 * --load gives the scenario to the double first. Prints a line for each process: name, id, rounds, jobs, aborted jobs.
 * Status 0: everything went as the scenario expects.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "npu_steps.h"
#include "npu_uapi.h"
#include "../../../lib/base/clock.h"

#define DEVICE "/dev/accel/accel0"
#define SCENARIO_FILE "/sys/kernel/debug/intel_vpu_double/scenario"

struct player {
	const struct process *process;
	int files[NAMES_MAX];
	uint32_t handles[NAMES_MAX];
	uint64_t left[STEPS_MAX];
	uint64_t due[STEPS_MAX];
	unsigned long jobs, aborted;
};

static void sleep_until(uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

static int control(int file, unsigned long number, void *argument)
{
	int result;

	do
		result = ioctl(file, number, argument);
	while (result < 0 && (errno == EINTR || errno == EAGAIN));
	return result < 0 ? errno : 0;
}

__attribute__((noinline)) static int npu_open_device(int *file)
{
	*file = open(DEVICE, O_RDWR | O_CLOEXEC);
	return *file < 0 ? errno : 0;
}

__attribute__((noinline)) static int npu_close_device(int *file)
{
	int result = close(*file);

	*file = -1;
	return result < 0 ? errno : 0;
}

__attribute__((noinline)) static int npu_query_parameter(int file, uint64_t parameter, uint64_t index)
{
	struct npu_param argument = { .param = (uint32_t)parameter, .index = (uint32_t)index };

	return control(file, NPU_IOCTL_GET_PARAM, &argument);
}

__attribute__((noinline)) static int npu_set_parameter(int file, uint64_t parameter, uint64_t value)
{
	struct npu_param argument = { .param = (uint32_t)parameter, .value = value };

	return control(file, NPU_IOCTL_SET_PARAM, &argument);
}

__attribute__((noinline)) static int npu_create_buffer(int file, uint64_t size, uint64_t flags, uint32_t *handle)
{
	struct npu_bo_create argument = { .size = size, .flags = (uint32_t)flags };
	int error = control(file, NPU_IOCTL_BO_CREATE, &argument);

	if (!error)
		*handle = argument.handle;
	return error;
}

__attribute__((noinline)) static int npu_release_buffer(int file, uint32_t *handle)
{
	struct npu_gem_close argument = { .handle = *handle };

	*handle = 0;
	return control(file, NPU_IOCTL_GEM_CLOSE, &argument);
}

__attribute__((noinline)) static int npu_describe_buffer(int file, uint32_t handle)
{
	struct npu_bo_info argument = { .handle = handle };

	return control(file, NPU_IOCTL_BO_INFO, &argument);
}

__attribute__((noinline)) static int npu_submit_inference(int file, uint32_t *handles, uint32_t count)
{
	struct npu_submit argument = { .buffers_ptr = (uintptr_t)handles, .buffer_count = count };

	return control(file, NPU_IOCTL_SUBMIT, &argument);
}

__attribute__((noinline)) static int npu_create_queue(int file, uint32_t *queue)
{
	struct npu_queue_create argument = { .priority = 0 };
	int error = control(file, NPU_IOCTL_QUEUE_CREATE, &argument);

	if (!error)
		*queue = argument.cmdq_id;
	return error;
}

__attribute__((noinline)) static int npu_destroy_queue(int file, uint32_t queue)
{
	struct npu_queue_destroy argument = { .cmdq_id = queue };

	return control(file, NPU_IOCTL_QUEUE_DESTROY, &argument);
}

__attribute__((noinline)) static int npu_submit_to_queue(int file, uint32_t queue, uint32_t *handles, uint32_t count)
{
	struct npu_queue_submit argument = { .buffers_ptr = (uintptr_t)handles,
					     .buffer_count = count,
					     .cmdq_id = queue };

	return control(file, NPU_IOCTL_QUEUE_SUBMIT, &argument);
}

__attribute__((noinline)) static int npu_wait_for_inference(int file, uint32_t handle, uint64_t timeout_ns,
							    uint32_t *status)
{
	struct npu_bo_wait argument = { .handle = handle, .timeout_ns = (int64_t)(clock_monotonic() + timeout_ns) };
	int error = control(file, NPU_IOCTL_BO_WAIT, &argument);

	*status = argument.job_status;
	return error;
}

/* errno of the step */
static int step_do(struct player *player, const struct step *step)
{
	int *file = &player->files[step->file];
	uint32_t handles[NAMES_MAX], status, *handle = &player->handles[step->name];
	int error;

	for (unsigned int i = 0; i < step->names_count; i++)
		handles[i] = player->handles[step->names[i]];
	switch (step->kind) {
	case STEP_OPEN:
		return npu_open_device(file);
	case STEP_CLOSE:
		return npu_close_device(file);
	case STEP_GET_PARAM:
		return npu_query_parameter(*file, step->value, step->index);
	case STEP_SET_PARAM:
		return npu_set_parameter(*file, step->index, step->value);
	case STEP_BO_CREATE:
		return npu_create_buffer(*file, step->value, step->index, handle);
	case STEP_BO_DESTROY:
		return npu_release_buffer(*file, handle);
	case STEP_BO_INFO:
		return npu_describe_buffer(*file, *handle);
	case STEP_SUBMIT:
		return npu_submit_inference(*file, handles, step->names_count);
	case STEP_QUEUE_CREATE:
		return npu_create_queue(*file, handle);
	case STEP_QUEUE_DESTROY:
		return npu_destroy_queue(*file, *handle);
	case STEP_QUEUE_SUBMIT:
		return npu_submit_to_queue(*file, *handle, handles, step->names_count);
	case STEP_WAIT:
		error = npu_wait_for_inference(*file, *handle, step->duration_ns, &status);
		if (!error) {
			player->jobs++;
			player->aborted += status == 256;
			if (step->status >= 0 && status != step->status) {
				fprintf(stderr, "line %u: the job's status is %" PRIu32 ", not %" PRId64 "\n",
					step->line, status, step->status);
				return EPROTO;
			}
		}
		return error;
	case STEP_SLEEP:
		sleep_until(clock_monotonic() + step->duration_ns);
		return 0;
	case STEP_REPEAT:
	case STEP_END:
		return 0;
	}
	return ENOSYS;
}

static bool round_play(struct player *player)
{
	const struct process *process = player->process;

	for (unsigned int i = 0; i < process->count; i++) {
		const struct step *step = &process->steps[i], *begin = &process->steps[step->partner];
		int error;

		if (step->kind == STEP_REPEAT) {
			player->left[i] = step->value;
			player->due[i] = clock_monotonic();
			if (!step->value)
				i = step->partner;
			continue;
		}
		if (step->kind == STEP_END) {
			if (begin->rate > 0) {
				player->due[step->partner] += (uint64_t)(1e9 / begin->rate);
				sleep_until(player->due[step->partner]);
			}
			if (--player->left[step->partner])
				i = step->partner;
			continue;
		}
		error = step_do(player, step);
		if (error != step->expected) {
			fprintf(stderr, "%s, line %u: %s, where %s is expected\n", process->name, step->line,
				strerror(error), step->expected ? strerror(step->expected) : "success");
			return false;
		}
	}
	return true;
}

static int process_play(const struct process *process, unsigned long times, double seconds, double rate)
{
	static struct player player;
	uint64_t begin = clock_monotonic(), due = begin;
	unsigned long rounds = 0;
	bool good = true;

	player.process = process;
	prctl(PR_SET_NAME, process->name);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* who ends the player ends its processes */
	while (good && (seconds > 0 ? (double)(clock_monotonic() - begin) < seconds * 1e9 : rounds < times)) {
		good = round_play(&player);
		rounds++;
		if (rate > 0) {
			due += (uint64_t)(1e9 / rate);
			sleep_until(due);
		}
	}
	printf("%s pid %d rounds %lu jobs %lu aborted %lu\n", process->name, (int)getpid(), rounds, player.jobs,
	       player.aborted);
	fflush(stdout);
	return good ? 0 : 1;
}

/* Whole, and with the double's answer when it is refused. */
static int scenario_load(const char *path)
{
	int in = open(path, O_RDONLY | O_CLOEXEC), out = open(SCENARIO_FILE, O_RDWR | O_CLOEXEC), error;
	char buffer[65536];
	ssize_t size = 0;

	if (in < 0 || out < 0) {
		fprintf(stderr, "%s: %s\n", in < 0 ? path : SCENARIO_FILE, strerror(errno));
		return -1;
	}
	while ((size = read(in, buffer, sizeof(buffer))) > 0) {
		for (ssize_t done = 0, step; done < size; done += step) {
			step = write(out, buffer + done, (size_t)(size - done));
			if (step <= 0) {
				fprintf(stderr, "%s: %s\n", SCENARIO_FILE, strerror(errno));
				return -1;
			}
		}
	}
	close(in);
	if (close(out) == 0)
		return 0;
	error = errno;
	out = open(SCENARIO_FILE, O_RDONLY | O_CLOEXEC);
	size = out < 0 ? 0 : read(out, buffer, sizeof(buffer) - 1);
	buffer[size > 0 ? size : 0] = '\0';
	fprintf(stderr, "%s: %s: %s", path, strerror(error), buffer);
	return -1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "load", no_argument, NULL, 'l' },          { "times", required_argument, NULL, 't' },
		{ "seconds", required_argument, NULL, 's' }, { "rate", required_argument, NULL, 'r' },
		{ "process", required_argument, NULL, 'p' }, { NULL, 0, NULL, 0 },
	};
	static struct process processes[PROCESSES_MAX];
	const char *only = NULL;
	unsigned long times = 1;
	double seconds = 0, rate = 0;
	bool load = false;
	int option, count, children = 0, result = 0;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 'l')
			load = true;
		else if (option == 't')
			times = strtoul(optarg, NULL, 10);
		else if (option == 's')
			seconds = strtod(optarg, NULL);
		else if (option == 'r')
			rate = strtod(optarg, NULL);
		else if (option == 'p')
			only = optarg;
		else
			return 2;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "npu_player: one scenario is needed\n");
		return 2;
	}
	count = steps_read(argv[optind], processes);
	if (count < 0 || (load && scenario_load(argv[optind])))
		return 2;
	for (int i = 0; i < count; i++) {
		pid_t child;

		if (only && strcmp(only, processes[i].name))
			continue;
		child = fork();
		if (child < 0) {
			perror("npu_player: fork");
			return 2;
		}
		if (!child)
			_exit(process_play(&processes[i], times, seconds, rate));
		children++;
	}
	if (!children) {
		fprintf(stderr, "npu_player: the scenario has no such process\n");
		return 2;
	}
	for (int status; wait(&status) > 0;)
		if (status)
			result = 1;
	return result;
}
