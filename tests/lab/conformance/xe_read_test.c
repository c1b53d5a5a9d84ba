// SPDX-License-Identifier: Apache-2.0
/* What read() and poll() do with rows that the test put there: order, small buffers, faults, overflow. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"
#include "xe_tests.h"

/* Ten rows on each of Xe-cores 0, 3 and 5, whose addresses say which. */
#define THREE_CORES                                                                                                    \
	"platform bmg\ngt 0 main cores 0-6\nloop 10\npace lossless\nrow gt 0 core 5 address 0x5000 active 1\n"         \
	"row gt 0 core 0 address 0x0000 active 1\nrow gt 0 core 3 address 0x3000 active 1\nend\n"

/* The address of the row that is number i in a buffer. */
static uint64_t address_at(const uint8_t *bytes, size_t i)
{
	return row_decode(LAYOUT_XE2, bytes + i * ROW_SIZE).address;
}

static int start_with(const char *scenario, unsigned wait)
{
	if (!CHECK_EQUAL(scenario_write("%s", scenario), 0)) {
		tap_comment("%s", error_read());
		return -1;
	}
	return stream_start(wait);
}

static void cores_come_in_order(void)
{
	uint8_t bytes[64 * ROW_SIZE];
	int fd = start_with(THREE_CORES, 30);

	REQUIRE(fd >= 0 && play());
	CHECK(is_readable(fd, 10000));
	CHECK_EQUAL(read(fd, bytes, sizeof(bytes)), 30 * ROW_SIZE);
	for (size_t i = 0; i < 30; i++)
		CHECK_EQUAL(address_at(bytes, i), i < 10 ? 0 : i < 20 ? 0x3000 : 0x5000);
	CHECK_FAILS(read(fd, bytes, sizeof(bytes)), EAGAIN);
	CHECK_EQUAL(truth_number("gt 0 totals", "read"), 30);
	close(fd);
}

static void a_small_buffer_starves_the_last_cores(void)
{
	uint8_t bytes[20 * ROW_SIZE];
	int fd = start_with(THREE_CORES, 30);

	REQUIRE(fd >= 0 && play());
	CHECK(is_readable(fd, 10000));
	/* Ten rows and 63 bytes: aligned down. */
	CHECK_EQUAL(read(fd, bytes, 10 * ROW_SIZE + 63), 10 * ROW_SIZE);
	for (size_t i = 0; i < 10; i++)
		CHECK_EQUAL(address_at(bytes, i), 0);
	CHECK(play());
	/* Twice ten more: at least those of core 0 that are latched come first; read until all are there. */
	size_t rows[3] = { 10, 0, 0 }, size = 0;
	uint8_t *all = NULL;
	CHECK_EQUAL(stream_drain(fd, &all, &size, 50 * ROW_SIZE), 50 * ROW_SIZE);
	for (size_t i = 0; i < size / ROW_SIZE; i++)
		rows[address_at(all, i) / 0x2000]++;
	CHECK_EQUAL(rows[0], 20);
	CHECK_EQUAL(rows[1], 20);
	CHECK_EQUAL(rows[2], 20);
	free(all);
	close(fd);
}

/* Rows that the hardware wrote are not there before the next latch: sooner or later a read comes in between. */
static void rows_come_with_a_latch(void)
{
	uint8_t bytes[64 * ROW_SIZE];
	bool too_early = false;
	int fd = start_with(THREE_CORES, 1);

	REQUIRE(fd >= 0);
	for (uint64_t round = 1; round <= 300 && !too_early; round++) {
		size_t size = 0;

		CHECK_EQUAL(command_write("start"), 0);
		while (truth_number("gt 0 totals", "written") < 30 * round)
			;
		while (size < 30 * ROW_SIZE) {
			ssize_t got = read(fd, bytes, sizeof(bytes));

			REQUIRE(got > 0 || errno == EAGAIN);
			too_early |= got < 0;
			size += got > 0 ? (size_t)got : 0;
		}
	}
	CHECK(too_early);
	close(fd);
}

/* What the command play lets happen is there when it returns, without waiting for a latch. */
static void played_rows_are_there_at_once(void)
{
	uint8_t bytes[64 * ROW_SIZE];
	int fd = start_with(THREE_CORES, 1);

	REQUIRE(fd >= 0);
	for (int round = 0; round < 30; round++) {
		CHECK_EQUAL(command_write("play 10"), 0);
		CHECK_EQUAL(read(fd, bytes, sizeof(bytes)), 10 * ROW_SIZE);
	}
	/* The scenario has 30 rows. */
	CHECK_FAILS(command_write("play 31"), EAGAIN);
	CHECK_EQUAL(read(fd, bytes, sizeof(bytes)), 30 * ROW_SIZE);
	close(fd);
}

/* After a read poll() is silent although rows are left, as long as they are fewer than were asked to wait for. */
static void a_read_silences_poll(void)
{
	uint8_t bytes[ROW_SIZE];
	int fd = start_with(THREE_CORES, 30);

	REQUIRE(fd >= 0 && play());
	CHECK(is_readable(fd, 10000));
	CHECK(is_readable(fd, 0));
	CHECK_EQUAL(read(fd, bytes, sizeof(bytes)), ROW_SIZE);
	CHECK(!is_readable(fd, 100));
	for (int i = 1; i < 30; i++)
		CHECK_EQUAL(read(fd, bytes, sizeof(bytes)), ROW_SIZE);
	CHECK_FAILS(read(fd, bytes, sizeof(bytes)), EAGAIN);
	close(fd);
}

static void poll_waits_for_enough_rows(void)
{
	uint8_t *bytes = NULL;
	size_t size = 0;
	int fd = start_with(THREE_CORES, 31);

	REQUIRE(fd >= 0 && play());
	CHECK(!is_readable(fd, 100));
	CHECK(play());
	CHECK(is_readable(fd, 10000));
	CHECK_EQUAL(stream_drain(fd, &bytes, &size, 60 * ROW_SIZE), 60 * ROW_SIZE);
	free(bytes);
	close(fd);
}

static void enable_discards_what_was_not_read(void)
{
	uint8_t bytes[ROW_SIZE];
	int fd = start_with(THREE_CORES, 1);

	REQUIRE(fd >= 0 && play());
	CHECK(is_readable(fd, 10000));
	CHECK_EQUAL(ioctl(fd, XE_STREAM_DISABLE, 0), 0);
	CHECK_FAILS(read(fd, bytes, sizeof(bytes)), EINVAL);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	CHECK_FAILS(read(fd, bytes, sizeof(bytes)), EAGAIN);
	CHECK_EQUAL(truth_number("gt 0 totals", "discarded"), 30);
	CHECK_EQUAL(truth_number("gt 0 totals", "waiting"), 0);
	/* ENABLE while enabled keeps them. */
	CHECK(play() && is_readable(fd, 10000));
	CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	CHECK_EQUAL(read(fd, bytes, sizeof(bytes)), ROW_SIZE);
	close(fd);
	CHECK_EQUAL(truth_number("gt 0 totals", "discarded"), 59);
}

static void a_fault_consumes_nothing(void)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t bytes[64 * ROW_SIZE];
	int fd = start_with(THREE_CORES, 30);

	REQUIRE(pages != MAP_FAILED && fd >= 0 && play());
	munmap(pages + page, (size_t)page);
	CHECK(is_readable(fd, 10000));
	CHECK_FAILS(read(fd, nowhere, sizeof(bytes)), EFAULT);
	/* Core 0 fits before the hole, core 3 does not: what was copied is told, the error is not. */
	CHECK_EQUAL(read(fd, pages + page - 15 * ROW_SIZE, 30 * ROW_SIZE), 10 * ROW_SIZE);
	CHECK_EQUAL(read(fd, bytes, sizeof(bytes)), 20 * ROW_SIZE);
	CHECK_EQUAL(address_at(bytes, 0), 0x3000);
	CHECK_EQUAL(address_at(bytes, 19), 0x5000);
	munmap(pages, (size_t)page);
	close(fd);
}

/*
 * Waits for the latch that brings an overflow to read(). The address is bad, so that until then nothing is consumed:
 * EIO comes before rows are copied.
 */
static bool comes_to_overflow(int fd)
{
	for (int i = 0; i < 2000; i++) {
		if (read(fd, nowhere, ROW_SIZE) != -1)
			return false;
		if (errno != EAGAIN && errno != EFAULT)
			return errno == EIO;
		usleep(5000);
	}
	return false;
}

static void a_full_ring_drops_rows(void)
{
	uint8_t *bytes = malloc(2 * RING_SIZE);
	int fd = start_with("platform bmg\nloop 8692\npace 10000000\nrow gt 0 core 4 address 0x40 sbid 3\nend\n", 1);

	REQUIRE(bytes && fd >= 0 && play());
	CHECK_EQUAL(truth_number("gt 0 totals", "dropped"), 500);
	CHECK_EQUAL(truth_number("gt 0 totals", "overflows"), 1);
	CHECK(comes_to_overflow(fd));
	CHECK_EQUAL(read(fd, bytes, 2 * RING_SIZE), RING_SIZE);
	CHECK_FAILS(read(fd, bytes, 2 * RING_SIZE), EAGAIN);
	CHECK_EQUAL(truth_number("gt 0 totals", "read"), RING_ROWS);
	/* Past the wrap it goes on as before. */
	CHECK(play() && comes_to_overflow(fd));
	CHECK_EQUAL(read(fd, bytes, 2 * RING_SIZE), RING_SIZE);
	for (unsigned i = 0; i < RING_ROWS; i++)
		if (address_at(bytes, i) != 0x40) {
			CHECK_EQUAL(address_at(bytes, i), 0x40);
			break;
		}
	free(bytes);
	close(fd);
}

/* Three addresses in turn, 6,000 rows twice: the second time they go over the end of the ring of 8,192. */
static void rows_go_round_the_ring(void)
{
	uint8_t *bytes = malloc(2 * RING_SIZE);
	size_t number = 0;
	int fd = start_with("platform bmg\nloop 2000\npace lossless\nrow gt 0 core 4 address 0x0 sbid 3\n"
			    "row gt 0 core 4 address 0x8 sbid 3\nrow gt 0 core 4 address 0x10 sbid 3\nend\n",
			    6000);

	REQUIRE(bytes && fd >= 0);
	for (int round = 0; round < 4; round++) {
		ssize_t size, wrong = 0;

		CHECK(play() && is_readable(fd, 10000));
		size = read(fd, bytes, 2 * RING_SIZE);
		CHECK_EQUAL(size, 6000 * ROW_SIZE);
		for (ssize_t i = 0; i < size / ROW_SIZE; i++)
			wrong += address_at(bytes, (size_t)i) != 8 * (number++ % 3);
		CHECK_EQUAL(wrong, 0);
	}
	free(bytes);
	close(fd);
}

/* Told once; the read after it clears the bits of the Xe-cores that it comes to, full or empty. */
static void an_overflow_is_told_once(void)
{
	uint8_t bytes[64 * ROW_SIZE];
	int fd = start_with(THREE_CORES, 1);

	REQUIRE(fd >= 0);
	CHECK_EQUAL(command_write("overflow 0 6"), 0);
	CHECK(comes_to_overflow(fd));
	CHECK_FAILS(read(fd, bytes, sizeof(bytes)), EAGAIN);
	for (int i = 0; i < 20; i++) {
		CHECK_FAILS(read(fd, bytes, sizeof(bytes)), EAGAIN);
		usleep(2000);
	}
	CHECK_EQUAL(truth_number("gt 0 totals", "forced"), 1);
	close(fd);
}

/* A buffer so small that it never comes to core 6, whose bit stays: told before every other read. */
static void an_overflow_out_of_reach_is_told_again(void)
{
	uint8_t bytes[64 * ROW_SIZE];
	int fd = start_with(THREE_CORES, 30);

	REQUIRE(fd >= 0 && play());
	CHECK(is_readable(fd, 10000));
	CHECK_EQUAL(command_write("overflow 0 6"), 0);
	CHECK(comes_to_overflow(fd));
	for (int i = 0; i < 5; i++) {
		CHECK_EQUAL(read(fd, bytes, ROW_SIZE), ROW_SIZE);
		CHECK_FAILS(read(fd, bytes, ROW_SIZE), EIO);
	}
	CHECK_EQUAL(read(fd, bytes, sizeof(bytes)), 25 * ROW_SIZE);
	CHECK_FAILS(read(fd, bytes, sizeof(bytes)), EAGAIN);
	close(fd);
}

static void enable_clears_an_overflow(void)
{
	uint8_t bytes[ROW_SIZE];
	int fd = start_with(THREE_CORES, 1);

	REQUIRE(fd >= 0);
	CHECK_EQUAL(command_write("overflow 0 2"), 0);
	CHECK(comes_to_overflow(fd));
	CHECK_EQUAL(ioctl(fd, XE_STREAM_DISABLE, 0), 0);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	for (int i = 0; i < 20; i++) {
		CHECK_FAILS(read(fd, bytes, sizeof(bytes)), EAGAIN);
		usleep(2000);
	}
	close(fd);
}

void test_reads_of_the_double(void)
{
	TAP_RUN(cores_come_in_order);
	TAP_RUN(a_small_buffer_starves_the_last_cores);
	TAP_RUN(rows_come_with_a_latch);
	TAP_RUN(played_rows_are_there_at_once);
	TAP_RUN(a_read_silences_poll);
	TAP_RUN(poll_waits_for_enough_rows);
	TAP_RUN(enable_discards_what_was_not_read);
	TAP_RUN(a_fault_consumes_nothing);
	TAP_RUN(a_full_ring_drops_rows);
	TAP_RUN(rows_go_round_the_ring);
	TAP_RUN(an_overflow_is_told_once);
	TAP_RUN(an_overflow_out_of_reach_is_told_again);
	TAP_RUN(enable_clears_an_overflow);
}
