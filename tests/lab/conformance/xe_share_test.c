// SPDX-License-Identifier: Apache-2.0
/* Who gets which rows: threads that read one stream, and the streams of two GTs. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"
#include "xe_tests.h"

struct reader {
	int fd;
	size_t size;
	uint8_t *bytes;
	const atomic_bool *stop;
};

static void *read_in_thread(void *argument)
{
	struct reader *reader = argument;

	while (!*reader->stop) {
		ssize_t got;

		reader->bytes = realloc(reader->bytes, reader->size + 100 * ROW_SIZE);
		if (!reader->bytes)
			abort();
		got = read(reader->fd, reader->bytes + reader->size, 100 * ROW_SIZE);
		if (got > 0)
			reader->size += (size_t)got;
	}
	return NULL;
}

/* Every row reaches exactly one of the threads. The last rows wake those that still sleep. */
static void threads_share_the_rows(void)
{
	enum { READERS = 4, ROWS = 20000 };
	struct reader readers[READERS] = { 0 };
	pthread_t threads[READERS];
	struct row_sums got = { 0 }, truth = { 0 };
	atomic_bool stop = false;
	int fd;

	REQUIRE(scenario_write("platform bmg\nloop 2500\npace lossless\nrow gt 0 core 0-3 address 0x80 active 1\n"
			       "row gt 0 core 7-10 address 0x100 send 2\nend\n") == 0);
	fd = stream_start(1);
	REQUIRE(fd >= 0);
	fcntl(fd, F_SETFL, 0);
	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ .fd = fd, .stop = &stop };
		REQUIRE(pthread_create(&threads[i], NULL, read_in_thread, &readers[i]) == 0);
	}
	CHECK(play());
	for (int i = 0; i < 500 && truth_number("gt 0 totals", "read") < ROWS; i++)
		usleep(10000);
	CHECK_EQUAL(truth_number("gt 0 totals", "read"), ROWS);
	stop = true;
	for (int i = 0; i < READERS; i++) {
		/* More rows, until nobody sleeps any more; they may well fill the rings. */
		while (pthread_tryjoin_np(threads[i], NULL) == EBUSY) {
			CHECK_EQUAL(command_write("start"), 0);
			usleep(5000);
		}
		row_sums_add(&got, LAYOUT_XE2, readers[i].bytes, readers[i].size);
		free(readers[i].bytes);
	}
	CHECK_EQUAL(command_write("stop"), 0);
	truth_sums(&truth, 0, "read");
	CHECK(row_sums_equal(&got, &truth));
	row_sums_free(&got);
	row_sums_free(&truth);
	close(fd);
}

/* Two tiles, two streams: each has its own rows, and each is busy for itself. */
static void each_gt_has_its_own_rows(void)
{
	uint8_t bytes[8 * ROW_SIZE];
	int first, second;

	REQUIRE(scenario_write(
			"platform pvc\nrow gt 0 core 0 address 0x8 active 1\nrow gt 1 core 63 address 0x10 send 1\n"
			"row gt 1 core 8 address 0x18 send 1\nend\n") == 0);
	device.gt = 0;
	first = stream_start(1);
	device.gt = 1;
	second = stream_start(2);
	REQUIRE(first >= 0 && second >= 0);
	CHECK_FAILS(stream_open(1), EBUSY);
	device.gt = 0;
	CHECK_FAILS(stream_open(1), EBUSY);
	CHECK(play() && is_readable(first, 10000) && is_readable(second, 10000));
	CHECK_EQUAL(read(first, bytes, sizeof(bytes)), ROW_SIZE);
	CHECK_EQUAL(row_decode(LAYOUT_PVC, bytes).address, 0x8);
	CHECK_EQUAL(read(second, bytes, sizeof(bytes)), 2 * ROW_SIZE);
	CHECK_EQUAL(row_decode(LAYOUT_PVC, bytes).address, 0x18);
	CHECK_EQUAL(row_decode(LAYOUT_PVC, bytes + ROW_SIZE).address, 0x10);
	CHECK_EQUAL(truth_number("gt 1 totals", "read"), 2);
	close(first);
	close(second);
}

void test_sharing_of_the_double(void)
{
	TAP_RUN(threads_share_the_rows);
	TAP_RUN(each_gt_has_its_own_rows);
}
