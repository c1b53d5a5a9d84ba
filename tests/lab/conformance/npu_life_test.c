// SPDX-License-Identifier: Apache-2.0
/* Buffers made while interrupts arrive, and a device that is unbound while it is open. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "npu_tests.h"

#define SLOT "0000:00:11.0"
#define PROCESSES 2
#define BUFFERS 1500

/* Uses trees that call ivpu_gem_bo_free, which the kernel calls too, and lets a job hang. */
#define HANGS                                                                                                          \
	"open\n ivpu_open\nclose\n ivpu_postclose\n  power\n  ivpu_file_priv_put\n   ivpu_gem_bo_free\n"               \
	"free\n ivpu_gem_bo_free\n  ivpu_bo_unbind_locked\nioctl SUBMIT\n ivpu_submit_ioctl\n  job submit\n"           \
	"  start tick every 1ms times 4000\ninterrupt tick\n ivpu_hw_irq_handler\nthread tick\n"                       \
	" ivpu_irq_thread_handler\n"

/* The driver's file `bind` or `unbind`. */
static int driver_write(const char *name)
{
	char path[64];
	int file, result;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/intel_vpu/%s", name);
	file = open(path, O_WRONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	result = write(file, SLOT, sizeof(SLOT) - 1) == sizeof(SLOT) - 1 ? 0 : -1;
	close(file);
	return result;
}

static int make_and_close_buffers(void)
{
	int file = npu_open(), bad = 0;

	for (int i = 0; i < BUFFERS; i++) {
		struct npu_gem_close argument = { .handle = npu_buffer(file, 4096) };

		bad += !argument.handle || npu_call(file, NPU_IOCTL_GEM_CLOSE, &argument);
	}
	close(file);
	return !!bad;
}

/* Both take the double's lock: an interrupt must not meet the process that holds it on the same processor. */
static void buffers_are_made_while_interrupts_arrive(void)
{
	REQUIRE(npu_scenario_when_idle("interrupt tick\n ivpu_hw_irq_handler\n  ivpu_ipc_irq_handler\n"
				       "open\n ivpu_open\n  start tick every 1ms times 2000\n") == 0);
	for (int i = 0; i < PROCESSES; i++)
		if (!fork())
			_exit(make_and_close_buffers());
	for (int i = 0; i < PROCESSES; i++) {
		int status = -1;

		CHECK(wait(&status) > 0 && status == 0);
	}
	CHECK_EQUAL(npu_truth("buffers_created"), PROCESSES * BUFFERS);
	CHECK_EQUAL(npu_truth("buffers_freed"), PROCESSES * BUFFERS);
	CHECK(npu_truth("interrupts") > 0);
	CHECK_EQUAL(npu_truth("events_lost"), 0);
}

static void an_open_device_can_be_unbound(void)
{
	uint32_t command, status = 99;
	int file;

	REQUIRE(npu_scenario_when_idle(HANGS) == 0);
	file = npu_open();
	command = npu_buffer(file, 4096);
	CHECK(npu_buffer(file, 8192) != 0);
	CHECK(npu_submit(file, command, 0) == 0);
	CHECK(driver_write("unbind") == 0);
	CHECK_EQUAL(npu_truth("buffers"), -1);
	CHECK_FAILS(npu_wait(file, command, 1000, &status), ENODEV);
	CHECK_FAILS(npu_submit(file, command, 0), ENODEV);
	close(file);
	REQUIRE(driver_write("bind") == 0);
	CHECK_EQUAL(npu_truth("buffers"), 0);
	file = npu_open();
	CHECK(npu_buffer(file, 4096) != 0);
	close(file);
}

/* The old device and the new one, at the same time. */
static void it_can_be_bound_again_while_it_is_open(void)
{
	int file;

	REQUIRE(npu_scenario_when_idle(HANGS) == 0);
	file = npu_open();
	CHECK(npu_submit(file, npu_buffer(file, 4096), 0) == 0);
	CHECK(driver_write("unbind") == 0);
	REQUIRE(driver_write("bind") == 0);
	CHECK(npu_scenario_when_idle(HANGS) == 0);
	CHECK_EQUAL(npu_truth("contexts"), 0);
	close(file);
	CHECK_EQUAL(npu_truth("buffers"), 0);
	/* The new one has another number, as the old one had its own until now. */
	REQUIRE(driver_write("unbind") == 0 && driver_write("bind") == 0);
	file = npu_open();
	CHECK(npu_buffer(file, 4096) != 0);
	close(file);
}

void npu_life_tests(void)
{
	TAP_RUN(buffers_are_made_while_interrupts_arrive);
	TAP_RUN(an_open_device_can_be_unbound);
	TAP_RUN(it_can_be_bound_again_while_it_is_open);
}
