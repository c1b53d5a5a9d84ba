// SPDX-License-Identifier: Apache-2.0
/* The device vanishes and comes back; the module cannot go while somebody holds it; other devices are left alone. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"
#include "xe_tests.h"

#define SLOT "0000:00:10.0"
#define OTHER_SLOT "0000:00:12.0"
#define DRIVER "/sys/bus/pci/drivers/xe/"

static void a_held_module_stays(void)
{
	int fd;

	REQUIRE(scenario_write("platform bmg\nend\n") == 0);
	fd = stream_open(1);
	REQUIRE(fd >= 0);
	close(device.fd);
	/* Only the stream holds it now. */
	CHECK_FAILS(syscall(SYS_delete_module, "xe", O_NONBLOCK), EWOULDBLOCK);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	close(fd);
	device.fd = device_open();
	CHECK(device.fd >= 0);
	CHECK_FAILS(syscall(SYS_delete_module, "xe", O_NONBLOCK), EWOULDBLOCK);
}

static void other_devices_are_refused(void)
{
	CHECK(access(DRIVER SLOT, F_OK) == 0);
	if (access("/sys/bus/pci/devices/" OTHER_SLOT, F_OK) != 0) {
		tap_skip("there is no other device");
		return;
	}
	CHECK(!file_write(DRIVER "bind", OTHER_SLOT) && errno == ENODEV);
	CHECK(access(DRIVER OTHER_SLOT, F_OK) != 0);
}

static void come_back(void)
{
	CHECK(file_write(DRIVER "unbind", SLOT));
	CHECK(file_write(DRIVER "bind", SLOT));
	device.fd = device_open();
	CHECK(device.fd >= 0);
}

static void a_vanished_device_says_so_on_its_node(void)
{
	struct xe_device_query query = { .query = XE_QUERY_CONFIG };
	uint8_t rows[ROW_SIZE];
	int fd;

	REQUIRE(scenario_write("platform bmg\nrow gt 0 core 0 address 8 active 1\nend\n") == 0);
	fd = stream_start(1);
	REQUIRE(fd >= 0 && play() && is_readable(fd, 10000));
	CHECK_EQUAL(command_write("unplug"), 0);
	/* The stream's file asks nobody whether the device is still there: what was sampled, then silence. */
	CHECK_EQUAL(read(fd, rows, sizeof(rows)), ROW_SIZE);
	CHECK(!is_readable(fd, 50));
	CHECK_FAILS(read(fd, rows, sizeof(rows)), EAGAIN);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_DISABLE, 0), 0);
	CHECK_FAILS(read(fd, rows, sizeof(rows)), EINVAL);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	CHECK_FAILS(read(fd, rows, sizeof(rows)), EAGAIN);
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_DEVICE_QUERY, &query), ENODEV);
	CHECK_FAILS(stream_open(1), ENODEV);
	CHECK_FAILS(open(device.node, O_RDWR | O_CLOEXEC), ENOENT);
	CHECK_FAILS(command_write("start"), ENODEV);
	CHECK_EQUAL(command_write("unplug"), 0);
	close(fd);
	close(device.fd);
	come_back();
	CHECK_EQUAL(scenario_write("platform bmg\nrow gt 0 core 0 address 8 active 1\nend\n"), 0);
	fd = stream_start(1);
	CHECK(fd >= 0 && play() && is_readable(fd, 10000));
	CHECK_EQUAL(read(fd, rows, sizeof(rows)), ROW_SIZE);
	close(fd);
}

/* The driver lets go while a stream and a control file are open: they outlive it. */
static void an_unbound_device_outlives_its_files(void)
{
	uint8_t rows[ROW_SIZE];
	int fd, control, old = device.fd;

	REQUIRE(scenario_write(
			"platform bmg\npace lossless\nloop forever\nrow gt 0 core 0 address 8 active 1\nend\n") == 0);
	fd = stream_start(1);
	control = open("/sys/kernel/debug/xe-double/scenario", O_WRONLY | O_CLOEXEC);
	REQUIRE(fd >= 0 && control >= 0);
	CHECK_EQUAL(write(control, "platform pvc\n", 13), 13);
	CHECK_EQUAL(command_write("start"), 0);
	CHECK(is_readable(fd, 10000));
	come_back();
	while (read(fd, rows, sizeof(rows)) > 0)
		;
	CHECK_FAILS(read(fd, rows, sizeof(rows)), EAGAIN);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_DISABLE, 0), 0);
	CHECK_FAILS(ioctl(old, XE_STREAM_ENABLE, 0), ENODEV);
	close(control);
	close(fd);
	close(old);
	CHECK_EQUAL(scenario_write("platform bmg\nend\n"), 0);
	fd = stream_start(1);
	CHECK(fd >= 0);
	close(fd);
}

static void *open_and_read(void *rounds)
{
	uint8_t rows[100 * ROW_SIZE];

	for (intptr_t round = 0; round < (intptr_t)rounds; round++) {
		int fd;

		device.fd = device_open();
		fd = stream_start(1);
		is_readable(fd, 10);
		if (read(fd, rows, sizeof(rows)) > 0 && round % 3)
			ioctl(fd, XE_STREAM_DISABLE, 0);
		close(fd);
		close(device.fd);
	}
	return NULL;
}

static void *control(void *rounds)
{
	static const char *const commands[] = { "start", "overflow 0 1", "reset 0", "pause", "start", "stop" };

	for (intptr_t round = 0; round < (intptr_t)rounds; round++) {
		if (round % 6 == 0)
			scenario_write("platform %s\npace 100000\nplay %s\nloop forever\nrow gt 0 core 0-6 address 8 "
				       "active 1\nend\n",
				       round % 4 ? "bmg" : "pvc", round % 8 ? "always" : "enabled");
		command_write(commands[round % 6]);
	}
	return NULL;
}

static void *watch(void *rounds)
{
	char text[8192];

	for (intptr_t round = 0; round < (intptr_t)rounds; round++) {
		state_has("playing");
		file_read("/sys/kernel/debug/xe-double/truth", text, sizeof(text));
		error_read();
	}
	return NULL;
}

/* Users, commands, readers of the truth, and a device that comes and goes: what matters is that the kernel lives. */
static void everything_at_once_is_survived(void)
{
	pthread_t threads[3];
	uint8_t row[ROW_SIZE];
	int fd;

	close(device.fd);
	REQUIRE(pthread_create(&threads[0], NULL, open_and_read, (void *)300) == 0);
	REQUIRE(pthread_create(&threads[1], NULL, control, (void *)900) == 0);
	REQUIRE(pthread_create(&threads[2], NULL, watch, (void *)300) == 0);
	for (int i = 0; i < 15; i++) {
		usleep(50000);
		if (i % 3 == 0)
			command_write("unplug");
		CHECK(file_write(DRIVER "unbind", SLOT));
		CHECK(file_write(DRIVER "bind", SLOT));
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	device.fd = device_open();
	REQUIRE(device.fd >= 0);
	REQUIRE(scenario_write("platform bmg\nrow gt 0 core 0 address 8 active 1\nend\n") == 0);
	fd = stream_start(1);
	CHECK(fd >= 0 && play() && is_readable(fd, 10000));
	CHECK_EQUAL(read(fd, row, sizeof(row)), ROW_SIZE);
	close(fd);
}

void test_life_of_the_double(void)
{
	TAP_RUN(a_held_module_stays);
	TAP_RUN(other_devices_are_refused);
	TAP_RUN(a_vanished_device_says_so_on_its_node);
	TAP_RUN(an_unbound_device_outlives_its_files);
	TAP_RUN(everything_at_once_is_survived);
}
