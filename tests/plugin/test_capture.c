/* SPDX-License-Identifier: Apache-2.0 */
/* Sink capture: the file it writes, byte by byte as specified in its README. */
#include <check.h>
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "test_capture_file.h"
#include "test_host.h"
#include "../run_suite.h"

static struct test_bytes records, file;

static void teardown(void)
{
	test_bytes_free(&records);
	test_bytes_free(&file);
}

/* A number of the file, at its offset in the README's tables. */
static uint32_t u32_at(size_t offset)
{
	uint32_t number;
	ck_assert_uint_le(offset + sizeof number, file.size);
	memcpy(&number, file.data + offset, sizeof number);
	return number;
}
static uint64_t u64_at(size_t offset)
{
	uint64_t number;
	ck_assert_uint_le(offset + sizeof number, file.size);
	memcpy(&number, file.data + offset, sizeof number);
	return number;
}

/* The end block, at offset, is the last thing in the file and has these totals. */
static void expect_end(size_t offset, uint32_t blocks, uint64_t count)
{
	ck_assert_uint_eq(u32_at(offset), 0x21444e45);
	ck_assert_uint_eq(u32_at(offset + 4), blocks);
	ck_assert_uint_eq(u32_at(offset + 8), 24);
	ck_assert_uint_eq(u32_at(offset + 28), lzma_crc32(file.data + offset, 28, 0));
	ck_assert_uint_eq(u64_at(offset + 32), blocks);
	ck_assert_uint_eq(u64_at(offset + 40), count);
	ck_assert_uint_eq(u64_at(offset + 48), records.size);
	ck_assert_uint_eq(file.size, offset + 56);
}

/* Nobody can ask for what was not recorded. */
TEST(asks_for_what_a_replay_may_show)
{
	struct test_host *host = test_host_new("capture", NULL);
	test_host_start(host);
	ck_assert_uint_eq(host->requested, IAPROF_REQUEST_PRODUCERS | IAPROF_REQUEST_LISTINGS | IAPROF_REQUEST_THREADS |
						   IAPROF_REQUEST_RECORD_SPANS);
	test_host_stop(host);
	test_host_free(host);
}

TEST(writes_the_documented_bytes)
{
	/* The check value of CRC-32 (ISO 3309), as every list of them has it. */
	ck_assert_uint_eq(lzma_crc32((const uint8_t *)"123456789", 9, 0), 0xcbf43926);

	uint32_t count = test_records_of_each_type(&records);
	test_capture_write(&file, &records, count, NULL);
	ck_assert_mem_eq(file.data, "\x89IAPROF\n", 8);
	ck_assert_uint_eq(u32_at(8), 0x01020304);
	ck_assert_uint_eq(u32_at(12), 1);
	ck_assert_uint_eq(u32_at(16), IAPROF_SCHEMA_VERSION);
	ck_assert_uint_eq(u64_at(20), 0);
	ck_assert_uint_eq(u32_at(28), lzma_crc32(file.data, 28, 0));

	ck_assert_uint_eq(u32_at(32), 0x434f4c42);
	ck_assert_uint_eq(u32_at(36), 0);
	ck_assert_uint_eq(u32_at(44), records.size);
	ck_assert_uint_eq(u32_at(48), count);
	ck_assert_uint_eq(u32_at(52), 0);
	ck_assert_uint_eq(u32_at(56), lzma_crc32(file.data + 64, u32_at(40), 0));
	ck_assert_uint_eq(u32_at(60), lzma_crc32(file.data + 32, 28, 0));
	unsigned char raw[65536];
	ck_assert_uint_eq(ZSTD_decompress(raw, sizeof raw, file.data + 64, u32_at(40)), records.size);
	ck_assert_mem_eq(raw, records.data, records.size);
	expect_end(64 + u32_at(40), 1, count);
}

TEST(writes_a_complete_file_without_records)
{
	struct test_host *host = test_host_new("capture", NULL);
	test_host_start(host);
	test_host_stop(host);
	struct test_output *output = test_host_output(host, NULL);
	ck_assert(output && output->closed);
	test_bytes_append(&file, output->data, output->size);
	expect_end(32, 0, 0);
	test_host_free(host);
}

TEST(streams_in_blocks)
{
	struct test_host *host = test_host_new("capture", NULL);
	test_host_start(host);
	uint32_t count = test_records_long(&records, 7);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(test_host_send(host, records.data, records.size, count), 0);
	/* Two of them fit into a block, so that at most two of 140 wait. */
	const struct test_output *output = test_host_output(host, NULL);
	test_bytes_append(&file, output->data, output->size);
	uint32_t written = 0;
	for (size_t offset = 32; offset < file.size; offset += 32 + u32_at(offset + 8))
		written += u32_at(offset + 16);
	ck_assert_uint_ge(written, 138);
	test_host_stop(host);
	test_host_free(host);
}

static void add_sync(uint64_t time)
{
	struct iaprof_record_sync sync = { .header = {
						   .type = IAPROF_RECORD_SYNC, .size = sizeof sync, .time = time } };
	test_bytes_append(&records, &sync, sizeof sync);
}

/* What is killed has lost no more than a second: by the times of SYNC records, so that any machine writes the same. */
TEST(writes_each_second)
{
	static const uint64_t times[] = { 1000000000, 1001000000, 1499999999, 1500000000, 1600000000, 2500000000 };
	static const uint32_t expected_counts[] = { 0, 0, 0, 4, 4, 6 };
	struct test_host *host = test_host_new("capture", NULL);
	test_host_start(host);
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		records.size = 0;
		add_sync(times[i]);
		ck_assert_int_eq(test_host_send(host, records.data, records.size, 1), 0);
		const struct test_output *output = test_host_output(host, NULL);
		file.size = 0;
		test_bytes_append(&file, output->data, output->size);
		uint32_t written = 0;
		for (size_t offset = 32; offset < file.size; offset += 32 + u32_at(offset + 8))
			written += u32_at(offset + 16);
		ck_assert_uint_eq(written, expected_counts[i]);
		ck_assert_uint_eq(output->flags, IAPROF_OUTPUT_PRIVATE | IAPROF_OUTPUT_INCREMENTAL);
		ck_assert_int_eq(output->renamed, expected_counts[i] > 0);
	}
	test_host_stop(host);
	test_host_free(host);
}

TEST(compresses_harder_when_asked)
{
	/* Numbers that do not repeat, but are alike: levels differ in what they find. */
	for (uint64_t i = 0; i < 4000; i++) {
		struct iaprof_record_launch launch = {
			.header = { .type = IAPROF_RECORD_LAUNCH, .size = sizeof launch, .time = i * i * 7919 },
			.kernel = (uint32_t)(i * i % 97),
			.count = i % 13 + 1,
			.first_time = i * i * 7901
		};
		test_bytes_append(&records, &launch, sizeof launch);
	}
	test_capture_write(&file, &records, 4000, "level=1");
	size_t size = file.size;
	file.size = 0;
	test_capture_write(&file, &records, 4000, "level=19");
	ck_assert_uint_lt(file.size, size);
	ck_assert_uint_lt(size, records.size);
}

TEST_LOOP(refuses_a_level_that_zstd_has_not, 0, 5)
{
	static const char *const levels[] = { "0", "20", "-1", "fast", "" };
	struct test_host *host = test_host_new("capture", NULL);
	ck_assert_int_eq(test_host_set(host, "level", levels[_i]), -EINVAL);
	test_host_free(host);
}

TEST_LOOP(reports_a_full_disk, 0, 3)
{
	/* In the file header, in a block, in the end block. */
	static const size_t limits[] = { 10, 100, 0 };
	uint32_t count = test_records_long(&records, 5);
	test_capture_write(&file, &records, count, NULL);
	struct test_host *host = test_host_new("capture", NULL);
	host->output_limit = limits[_i] ? limits[_i] : file.size - 1;
	test_host_start(host);
	int result = test_host_send(host, records.data, records.size, count);
	if (result == 0)
		result = test_host_finish(host);
	ck_assert_int_eq(result, -ENOSPC);
	ck_assert(!test_host_output(host, NULL)->closed);
	test_host_free(host);
}

int main(void)
{
	return run_all_tests(0, NULL, teardown);
}
