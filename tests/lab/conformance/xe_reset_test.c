// SPDX-License-Identifier: Apache-2.0
/* Resets, as kernels after 7.0 tell of them, and as kernels up to 7.0 do not. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"
#include "xe_tests.h"

#define HUNDRED_ROWS "pace lossless\nloop 100\nrow gt 0 core 3 address 0x80 active 1\nend\n"

static void a_new_kernel_tells_of_a_reset(void)
{
	uint8_t rows[200 * ROW_SIZE];
	int fd;

	REQUIRE(scenario_write("platform bmg\nkernel 7.2\n" HUNDRED_ROWS) == 0);
	fd = stream_start(1);
	REQUIRE(fd >= 0 && play());
	CHECK(is_readable(fd, 10000));
	CHECK_EQUAL(command_write("reset"), 0);
	for (int i = 0; i < 2000 && (read(fd, rows, ROW_SIZE) > 0 || errno == EAGAIN); i++)
		is_readable(fd, 5);
	CHECK_EQUAL(errno, ENODEV);
	for (int i = 0; i < 3; i++) {
		CHECK(is_readable(fd, 0));
		CHECK_FAILS(read(fd, rows, sizeof(rows)), ENODEV);
	}
	/* ENABLE alone does nothing, as it is enabled. */
	CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	CHECK_FAILS(read(fd, rows, sizeof(rows)), ENODEV);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_DISABLE, 0), 0);
	CHECK_FAILS(read(fd, rows, sizeof(rows)), EINVAL);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	CHECK_FAILS(read(fd, rows, sizeof(rows)), EAGAIN);
	CHECK_EQUAL(truth_number("gt 0 totals", "waiting"), 0);
	CHECK(play());
	for (int i = 0; i < 2000 && read(fd, rows, sizeof(rows)) < 0 && errno == EAGAIN; i++)
		is_readable(fd, 5);
	CHECK(truth_number("gt 0 totals", "read") > 0);
	CHECK_EQUAL(truth_number("gt 0 totals", "stale"), 0);
	close(fd);
}

/*
 * The registers are 0, the pointers that the driver kept are not: once more it gives the rest of the ring from the read
 * pointer on, then a whole ring, then the pointers are equal and nothing comes any more, whatever the GPU does.
 */
static void an_old_kernel_gives_old_rows_and_goes_dead(void)
{
	uint8_t *bytes = NULL;
	size_t size = 0;
	int fd;

	REQUIRE(scenario_write("platform bmg\nkernel 7.0\n" HUNDRED_ROWS) == 0);
	fd = stream_start(1);
	REQUIRE(fd >= 0 && play());
	CHECK_EQUAL(stream_drain(fd, &bytes, &size, 100 * ROW_SIZE), 100 * ROW_SIZE);
	CHECK_EQUAL(command_write("reset 0"), 0);
	size = 0;
	CHECK_EQUAL(stream_drain(fd, &bytes, &size, (2 * RING_ROWS - 100) * ROW_SIZE),
		    (2 * RING_ROWS - 100) * ROW_SIZE);
	CHECK_EQUAL(truth_number("gt 0 totals", "stale"), 2 * RING_ROWS - 100);
	CHECK(play());
	CHECK(!is_readable(fd, 100));
	CHECK_FAILS(read(fd, bytes, RING_SIZE), EAGAIN);
	CHECK_EQUAL(truth_number("gt 0 totals", "unsampled"), 100);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_DISABLE, 0), 0);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	CHECK(play());
	size = 0;
	CHECK_EQUAL(stream_drain(fd, &bytes, &size, 100 * ROW_SIZE), 100 * ROW_SIZE);
	CHECK_EQUAL(truth_number("gt 0 totals", "read"), 200);
	free(bytes);
	close(fd);
}

/* A stream that never had a row has pointers of 0: nothing old comes, it is dead at once and says nothing. */
static void an_old_kernel_goes_silently_dead(void)
{
	uint8_t rows[ROW_SIZE];
	int fd;

	/* Xe-core 3 starts where it ended: install it anew, which sets its registers to 0. */
	REQUIRE(scenario_write("platform bmg\nkernel 6.17\n" HUNDRED_ROWS) == 0);
	fd = stream_start(1);
	REQUIRE(fd >= 0);
	CHECK_EQUAL(command_write("reset"), 0);
	CHECK(play());
	CHECK(!is_readable(fd, 100));
	CHECK_FAILS(read(fd, rows, sizeof(rows)), EAGAIN);
	CHECK_EQUAL(truth_number("gt 0 totals", "unsampled"), 100);
	close(fd);
}

/* A latch that comes while DISABLE is on its way must not take what it sees for a reset. */
static void disabling_is_no_reset(void)
{
	int fd, told = 0;

	REQUIRE(scenario_write("platform bmg\nkernel 7.2\n" HUNDRED_ROWS) == 0);
	fd = stream_start(1);
	REQUIRE(fd >= 0);
	for (int i = 0; i < 200; i++) {
		/* Around the latch's period of 5 ms. */
		usleep(4000 + (unsigned)i * 10);
		CHECK_EQUAL(ioctl(fd, XE_STREAM_DISABLE, 0), 0);
		told += is_readable(fd, 0);
		CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	}
	CHECK_EQUAL(told, 0);
	close(fd);
}

void test_resets_of_the_double(void)
{
	TAP_RUN(disabling_is_no_reset);
	TAP_RUN(a_new_kernel_tells_of_a_reset);
	TAP_RUN(an_old_kernel_gives_old_rows_and_goes_dead);
	TAP_RUN(an_old_kernel_goes_silently_dead);
}
