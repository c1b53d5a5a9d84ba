// SPDX-License-Identifier: Apache-2.0
/* Does the NPU's double keep the rules of the real driver's interface? Prints TAP. An argument chooses tests by name.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "npu_tests.h"

#define DONE                                                                                                           \
	"interrupt done\n ivpu_hw_irq_handler\n"                                                                       \
	"thread done\n ivpu_irq_thread_handler\n  ivpu_job_done_callback\n   job done\n"

const char npu_jobs_of_20_ms[] =
	DONE "ioctl SUBMIT\n ivpu_submit_ioctl\n  job submit\n  start done after 20ms\n"
	     "ioctl CMDQ_SUBMIT\n ivpu_cmdq_submit_ioctl\n  job submit\n  start done after 20ms\n";
const char npu_jobs_that_hang[] = "ioctl SUBMIT\n ivpu_submit_ioctl\n";

int npu_open(void)
{
	int file = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);

	if (file < 0) {
		perror("Bail out! /dev/accel/accel0");
		exit(1);
	}
	return file;
}

int npu_call(int file, unsigned long number, void *argument)
{
	return ioctl(file, number, argument);
}

uint32_t npu_buffer(int file, uint64_t size)
{
	struct npu_bo_create argument = { .size = size };

	return npu_call(file, NPU_IOCTL_BO_CREATE, &argument) ? 0 : argument.handle;
}

int npu_submit(int file, uint32_t command, uint32_t second)
{
	uint32_t handles[] = { command, second };
	struct npu_submit argument = { .buffers_ptr = (uintptr_t)handles, .buffer_count = second ? 2 : 1 };

	return npu_call(file, NPU_IOCTL_SUBMIT, &argument);
}

int npu_wait(int file, uint32_t command, int ms, uint32_t *status)
{
	struct timespec now;
	struct npu_bo_wait argument = { .handle = command };
	int result;

	clock_gettime(CLOCK_MONOTONIC, &now);
	argument.timeout_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec + ms * INT64_C(1000000);
	result = npu_call(file, NPU_IOCTL_BO_WAIT, &argument);
	if (status)
		*status = argument.job_status;
	return result;
}

int64_t npu_param(int file, uint32_t param, uint32_t index)
{
	struct npu_param argument = { .param = param, .index = index };

	return npu_call(file, NPU_IOCTL_GET_PARAM, &argument) ? -1 : (int64_t)argument.value;
}

int npu_scenario(const char *text)
{
	int file = open(NPU_DOUBLE "scenario", O_WRONLY | O_CLOEXEC);
	size_t size = strlen(text);

	if (file < 0 || write(file, text, size) != (ssize_t)size)
		return errno;
	return close(file) ? errno : 0;
}

int npu_scenario_when_idle(const char *text)
{
	int error = npu_scenario(text);

	for (int i = 0; i < 200 && error == EBUSY; i++) {
		usleep(20000);
		error = npu_scenario(text);
	}
	return error;
}

int64_t npu_truth(const char *name)
{
	FILE *file = fopen(NPU_DOUBLE "truth", "re");
	size_t length = strlen(name);
	int64_t value = -1;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && line[length] == ' ')
			value = strtoll(line + length, NULL, 10);
	if (file)
		fclose(file);
	return value;
}

int npu_abort_jobs(void)
{
	int file = open(NPU_DOUBLE "command", O_WRONLY | O_CLOEXEC), result = -1;

	if (file < 0)
		return -1;
	if (write(file, "abort", 5) == 5)
		result = 0;
	close(file);
	return result;
}

int main(int argc, char **argv)
{
	tap_choose(argc > 1 ? argv[1] : NULL);
	npu_ioctl_tests();
	npu_job_tests();
	npu_life_tests();
	npu_scenario_tests();
	return tap_finish();
}
