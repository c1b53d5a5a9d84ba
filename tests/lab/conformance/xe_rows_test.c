// SPDX-License-Identifier: Apache-2.0
/* Rows in, rows out: all three layouts, the tracepoint that tells a chunk's Xe-core, and how many rows a second go. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"
#include "xe_tests.h"

/* A scenario made from a seed, and the sums that it must give. */
struct made {
	char *text;
	size_t length;
	size_t rows;
	struct row_sums sums;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* 150 addresses on Xe-cores with gaps, counters up to 1,000, each row `times` times. */
static void make_scenario(struct made *made, enum row_layout layout, unsigned times)
{
	static const char *const platforms[] = { "pvc", "lnl", "cri" };
	static const unsigned cores[] = { 0, 2, 3, 9, 14, 31 };
	uint64_t random = 88172645463325252ull + layout;
	FILE *file = open_memstream(&made->text, &made->length);

	if (!file)
		abort();
	fprintf(file, "platform %s\ngt 0 main cores 0,2-3,9,14,31\n%space lossless\nloop %u\n", platforms[layout],
		layout == LAYOUT_PVC ? "gt 1 main cores 7\n" : "gt 1 media\n", times);
	for (int i = 0; i < 150; i++) {
		uint64_t address = next_random(&random) & (layout == LAYOUT_XE3P ? ~7ull : 0xfffffff8ull);
		struct row_sum *sum = row_sums_at(&made->sums, address);
		uint64_t most = 1;

		/* The first and the last address that there is. */
		fprintf(file, "row gt 0 core %u address 0x%" PRIx64, cores[next_random(&random) % 6], address);
		for (int reason = 0; reason < REASON_COUNT; reason++) {
			uint64_t number = next_random(&random) % (i % 3 ? 256 : 1001);

			if ((layout == LAYOUT_PVC && reason == 1) || next_random(&random) % 3 == 0)
				continue;
			fprintf(file, " %s %" PRIu64, reason_names[reason], number);
			sum->counters[reason] += number * times;
			most = number > most ? number : most;
		}
		fputc('\n', file);
		sum->rows += (most + 254) / 255 * times;
		made->rows += (most + 254) / 255 * times;
	}
	fputs("end\n", file);
	if (fclose(file) != 0)
		abort();
}

static void sums_come_out(enum row_layout layout)
{
	struct row_sums got = { 0 }, truth = { 0 };
	struct made made = { 0 };
	uint8_t *bytes = NULL;
	size_t size = 0;
	int fd;

	device.gt = 0;
	make_scenario(&made, layout, 40);
	CHECK_EQUAL(scenario_write("%s", made.text), 0);
	device.cores = device_cores(0);
	CHECK_EQUAL(device.cores, 6);
	fd = stream_start(1);
	REQUIRE(fd >= 0);
	CHECK_EQUAL(command_write("start"), 0);
	CHECK(stream_drain(fd, &bytes, &size, made.rows * ROW_SIZE) >= 0);
	CHECK_EQUAL(size, made.rows * ROW_SIZE);
	row_sums_add(&got, layout, bytes, size);
	CHECK(row_sums_equal(&got, &made.sums));
	CHECK(player_finish());
	truth_sums(&truth, 0, "read");
	CHECK(row_sums_equal(&truth, &made.sums));
	CHECK_EQUAL(truth_number("gt 0 totals", "read"), made.rows);
	CHECK_EQUAL(truth_number("gt 0 totals", "dropped"), 0);
	CHECK_EQUAL(truth_number("gt 0 totals", "waiting"), 0);
	close(fd);
	free(bytes);
	free(made.text);
	row_sums_free(&got);
	row_sums_free(&truth);
	row_sums_free(&made.sums);
}

static void sums_come_out_in_the_layout_of_pvc(void)
{
	sums_come_out(LAYOUT_PVC);
}

static void sums_come_out_in_the_layout_of_xe2(void)
{
	sums_come_out(LAYOUT_XE2);
}

static void sums_come_out_in_the_layout_of_xe3p(void)
{
	sums_come_out(LAYOUT_XE3P);
}

/* Rows written by hand from the tables of bits. */
static void every_field_is_where_it_belongs(void)
{
	static const struct {
		const char *scenario;
		uint8_t bytes[20];
	} cases[] = {
		{ "platform pvc\nrow gt 0 core 0 address 0xfffffff8 active 255\nend\n",
		  { 0xff, 0xff, 0xff, 0xff, 0x1f } },
		{ "platform pvc\nrow gt 0 core 0 address 0x8 inst_fetch 129\nend\n",
		  { [0] = 1, [11] = 0x20, [12] = 0x10 } },
		{ "platform bmg\nrow gt 0 core 0 address 0x8 tdr 255\nend\n", { [0] = 1, [3] = 0xe0, [4] = 0x1f } },
		{ "platform bmg\nrow gt 0 core 0 address 0 active 255 ex-id 5 end-flag 1\nend\n",
		  { [12] = 0xe0, [13] = 0xbf, [14] = 0x01 } },
		{ "platform cri\nrow gt 0 core 0 address 0xfffffffffffffff8 tdr 1\nend\n",
		  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f } },
		{ "platform cri\nrow gt 0 core 0 address 0 active 255 ex-id 7 end-flag 1\nend\n",
		  { [16] = 0xe0, [17] = 0xff, [18] = 0x01 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t row[ROW_SIZE], expected[ROW_SIZE] = { 0 };
		int fd;

		REQUIRE(scenario_write("%s", cases[i].scenario) == 0);
		fd = stream_start(1);
		REQUIRE(fd >= 0 && play());
		CHECK(is_readable(fd, 10000));
		CHECK_EQUAL(read(fd, row, sizeof(row)), ROW_SIZE);
		memcpy(expected, cases[i].bytes, sizeof(cases[i].bytes));
		if (!CHECK(memcmp(row, expected, sizeof(row)) == 0))
			tap_comment("case %zu", i);
		close(fd);
	}
}

/* The only way to know the Xe-core of a chunk: slice and subslice, 4 Xe-cores in a slice (8 on PVC). */
static void the_tracepoint_tells_the_core(void)
{
	uint8_t bytes[64 * ROW_SIZE];
	char trace[16384];
	int fd;

	if (!file_write("/sys/kernel/tracing/events/xe/xe_eu_stall_data_read/enable", "1")) {
		tap_skip("no tracefs here");
		return;
	}
	REQUIRE(scenario_write("platform bmg\nloop 3\npace lossless\nrow gt 0 core 2,7 address 0x10 active 1\nend\n") ==
		0);
	fd = stream_start(6);
	REQUIRE(fd >= 0 && play());
	CHECK(is_readable(fd, 10000));
	CHECK_EQUAL(read(fd, bytes, sizeof(bytes)), 6 * ROW_SIZE);
	file_write("/sys/kernel/tracing/events/xe/xe_eu_stall_data_read/enable", "0");
	REQUIRE(file_read("/sys/kernel/tracing/trace", trace, sizeof(trace)));
	CHECK(strstr(trace, "slice: 0 subslice: 2 read ptr: 0xc0 write ptr: 0xc0 read size: 192 total read size: 192"));
	CHECK(strstr(trace, "slice: 1 subslice: 3 read ptr: 0xc0 write ptr: 0xc0 read size: 192 total read size: 384"));
	close(fd);
}

/* Rows at their own times, each loop after the other: the order and the number are right, the speed nobody asserts. */
static void rows_come_at_their_own_times(void)
{
	uint8_t *bytes = NULL;
	size_t size = 0;
	int fd;

	REQUIRE(scenario_write(
			"platform bmg\npace time\nloop 5 every 30ms\nrow at 5ms gt 0 core 1 address 0x8 active 1\n"
			"row at 20ms gt 0 core 1 address 0x10 active 1\nend\n") == 0);
	fd = stream_start(1);
	REQUIRE(fd >= 0 && play());
	CHECK(stream_drain(fd, &bytes, &size, 10 * ROW_SIZE) == 10 * ROW_SIZE);
	for (size_t i = 0; i < size / ROW_SIZE; i++)
		CHECK_EQUAL(row_decode(LAYOUT_XE2, bytes + i * ROW_SIZE).address, i % 2 ? 0x10 : 0x8);
	CHECK_EQUAL(truth_number("player", "loops"), 5);
	free(bytes);
	close(fd);
}

static void rows_without_a_stream_are_not_sampled(void)
{
	REQUIRE(scenario_write("platform bmg\nplay always\nloop 7\nrow gt 0 core 1 address 0x8 active 1\nend\n") == -1);
	CHECK(strstr(error_read(), "every"));
	REQUIRE(scenario_write(
			"platform bmg\nplay always\npace 1000\nloop 7\nrow gt 0 core 1 address 0x8 active 1\nend\n") ==
		0);
	CHECK(play());
	CHECK_EQUAL(truth_number("gt 0 totals", "unsampled"), 7);
	CHECK_EQUAL(truth_number("gt 0 totals", "written"), 0);
}

/* One reader that counts rows and looks at none: a figure, not a condition. */
static void rows_flow(void)
{
	const uint64_t rows = 2000000;
	size_t room = 20 * RING_SIZE, size = 0;
	uint8_t *bytes = malloc(room);
	struct timespec start, end;
	double seconds;
	int fd;

	REQUIRE(bytes);
	memset(bytes, 0, room);
	REQUIRE(scenario_write("platform bmg\npace lossless\nloop %" PRIu64
			       "\nrow gt 0 core 0-19 address 0x10 active 1\n"
			       "end\n",
			       rows / 20) == 0);
	fd = stream_start(1);
	REQUIRE(fd >= 0);
	clock_gettime(CLOCK_MONOTONIC, &start);
	CHECK_EQUAL(command_write("start"), 0);
	for (int patience = 1000; size < rows * ROW_SIZE && patience;) {
		ssize_t got = read(fd, bytes, room);

		if (got > 0) {
			size += (size_t)got;
		} else if (errno == EAGAIN) {
			patience -= !is_readable(fd, 50);
		} else {
			CHECK_EQUAL(errno, EAGAIN);
			break;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK_EQUAL(size, rows * ROW_SIZE);
	seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	tap_comment("%.0f rows a second with one reader", (double)rows / seconds);
	close(fd);
	free(bytes);
}

void test_rows_of_the_double(void)
{
	TAP_RUN(every_field_is_where_it_belongs);
	TAP_RUN(sums_come_out_in_the_layout_of_pvc);
	TAP_RUN(sums_come_out_in_the_layout_of_xe2);
	TAP_RUN(sums_come_out_in_the_layout_of_xe3p);
	TAP_RUN(the_tracepoint_tells_the_core);
	TAP_RUN(rows_come_at_their_own_times);
	TAP_RUN(rows_without_a_stream_are_not_sampled);
	TAP_RUN(rows_flow);
}
