/* SPDX-License-Identifier: Apache-2.0 */
/* Source replay: gives back bit for bit what sink capture took, and of a damaged file everything before the damage. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "capture/capture_format.h"
#include "test_capture_file.h"
#include "test_host.h"
#include "../run_suite.h"

static struct test_bytes records, file;
static uint32_t count;
static char path[64];

static void setup(void)
{
	snprintf(path, sizeof path, P_tmpdir "/iaprof-test-replay-XXXXXX");
	int descriptor = mkstemp(path);
	ck_assert_int_ge(descriptor, 0);
	close(descriptor);
}

static void teardown(void)
{
	unlink(path);
	test_bytes_free(&records);
	test_bytes_free(&file);
}

static void file_write(const void *data, size_t size)
{
	FILE *stream = fopen(path, "w");
	ck_assert_ptr_nonnull(stream);
	ck_assert_uint_eq(fwrite(data, 1, size, stream), size);
	ck_assert_int_eq(fclose(stream), 0);
}

/* A host whose source is prepared with the file as it is in memory; result gets what prepare() returned. */
static struct test_host *replay_open(size_t size, int *result)
{
	file_write(file.data, size);
	struct test_host *host = test_host_new("replay", NULL);
	ck_assert_int_eq(test_host_set(host, "file", path), 0);
	ck_assert_int_eq(test_host_configure(host), 0);
	*result = test_host_prepare(host);
	return host;
}

/* Replays it; what thread() returned. */
static int replay_run(struct test_host *host)
{
	ck_assert_int_eq(test_host_begin(host), 0);
	ck_assert_int_eq(test_host_run(host, 60000), 0);
	ck_assert(host->finished);
	test_host_stop(host);
	return host->thread_result;
}

static bool is_name(const struct iaprof_record *record)
{
	return record->type == IAPROF_RECORD_STRING || record->type == IAPROF_RECORD_FRAMES ||
	       record->type == IAPROF_RECORD_STACK_FRAMES || record->type == IAPROF_RECORD_SOURCE ||
	       record->type == IAPROF_RECORD_CODE_FUNCTION || record->type == IAPROF_RECORD_VALUE_TYPE ||
	       record->type == IAPROF_RECORD_MODULE || record->type == IAPROF_RECORD_PROFILE_STACK ||
	       record->type == IAPROF_RECORD_CODE_LISTING || record->type == IAPROF_RECORD_SOURCE_TEXT ||
	       record->type == IAPROF_RECORD_NAMED_FRAME;
}

/* The record after one, NULL for the first, within the first size bytes of all records. */
static const struct iaprof_record *next_record(size_t size, const struct iaprof_record *record)
{
	return size ? iaprof_batch_next(&(struct iaprof_batch){ .records = records.data, .size = size }, record) : NULL;
}

/* Appends the values that come before a later one than until; *last is the last one that was appended before. */
static void append_values(struct test_bytes *expected, size_t size, uint64_t until, const struct iaprof_record **last)
{
	for (const struct iaprof_record *record = *last; (record = next_record(size, record));) {
		if (record->type != IAPROF_RECORD_PROFILE_VALUE)
			continue;
		if (record->time > until)
			return;
		test_bytes_append(expected, record, record->size);
		*last = record;
	}
}

/* Appends the first size bytes of the records that say what strings and addresses mean, or the others. */
static void append_of_pass(struct test_bytes *expected, size_t size, bool names)
{
	const struct iaprof_record *last_value = NULL;
	for (const struct iaprof_record *record = NULL; (record = next_record(size, record));) {
		if (record->type == IAPROF_RECORD_PROFILE_VALUE || is_name(record) != names)
			continue;
		if (record->type == IAPROF_RECORD_SYNC)
			append_values(expected, size, record->time, &last_value);
		test_bytes_append(expected, record, record->size);
	}
	if (!names)
		append_values(expected, size, UINT64_MAX, &last_value);
}

/* What names are come first, for a replayed run resolves stacks as it goes. */
static void expect_records(const struct test_host *host, size_t size)
{
	struct test_bytes expected = { 0 };
	append_of_pass(&expected, size, true);
	append_of_pass(&expected, size, false);
	ck_assert_uint_eq(host->record_size, size);
	ck_assert(size == 0 || memcmp(host->records, expected.data, size) == 0);
	free(expected.data);
}

TEST(gives_back_every_record)
{
	count = test_records_of_each_type(&records);
	count += test_records_long(&records, 9);
	count += test_records_of_each_type(&records);
	test_capture_write(&file, &records, count, NULL);
	int result;
	struct test_host *host = replay_open(file.size, &result);
	ck_assert_msg(result == 0, "%s", host->failure);
	ck_assert_int_eq(replay_run(host), 0);
	expect_records(host, records.size);
	ck_assert_uint_eq(host->record_count, count);
	ck_assert_str_eq(host->failure, "");
	test_host_free(host);
}

static void append_record(uint16_t type, size_t size, uint64_t time)
{
	_Alignas(8) unsigned char record[128] = { 0 };
	struct iaprof_record header = { .size = (uint32_t)size, .type = type, .time = time };
	memcpy(record, &header, sizeof header);
	if (type == IAPROF_RECORD_PROFILE_VALUE)
		((struct iaprof_record_profile_value *)record)->count = 1;
	if (type == IAPROF_RECORD_LOST)
		((struct iaprof_record_lost *)record)->count = 1;
	test_bytes_append(&records, record, size);
	count++;
}

/* By how late the recorded run's values came onto the bus no interval may change. */
TEST(sends_values_before_the_sync_that_they_came_with)
{
	static const struct {
		uint16_t type;
		uint64_t time;
	} written[] = { { IAPROF_RECORD_SYNC, 10 },          { IAPROF_RECORD_LOST, 11 },
			{ IAPROF_RECORD_PROFILE_VALUE, 10 }, { IAPROF_RECORD_SYNC, 20 },
			{ IAPROF_RECORD_SYNC, 30 },          { IAPROF_RECORD_PROFILE_VALUE, 20 },
			{ IAPROF_RECORD_LOST, 31 },          { IAPROF_RECORD_PROFILE_VALUE, 20 },
			{ IAPROF_RECORD_PROFILE_VALUE, 30 }, { IAPROF_RECORD_SYNC, 40 },
			{ IAPROF_RECORD_PROFILE_VALUE, 41 } },
	  sent[] = { { IAPROF_RECORD_PROFILE_VALUE, 10 }, { IAPROF_RECORD_SYNC, 10 },
		     { IAPROF_RECORD_LOST, 11 },          { IAPROF_RECORD_PROFILE_VALUE, 20 },
		     { IAPROF_RECORD_PROFILE_VALUE, 20 }, { IAPROF_RECORD_SYNC, 20 },
		     { IAPROF_RECORD_PROFILE_VALUE, 30 }, { IAPROF_RECORD_SYNC, 30 },
		     { IAPROF_RECORD_LOST, 31 },          { IAPROF_RECORD_SYNC, 40 },
		     { IAPROF_RECORD_PROFILE_VALUE, 41 } };
	count = 0;
	for (size_t i = 0; i < sizeof written / sizeof *written; i++)
		append_record(written[i].type,
			      written[i].type == IAPROF_RECORD_SYNC   ? sizeof(struct iaprof_record_sync)
			      : written[i].type == IAPROF_RECORD_LOST ? sizeof(struct iaprof_record_lost)
								      : sizeof(struct iaprof_record_profile_value),
			      written[i].time);
	test_capture_write(&file, &records, count, NULL);
	int result;
	struct test_host *host = replay_open(file.size, &result);
	ck_assert_msg(result == 0, "%s", host->failure);
	ck_assert_int_eq(replay_run(host), 0);
	ck_assert_uint_eq(host->record_count, count);
	struct iaprof_batch batch = { .records = host->records, .size = host->record_size };
	const struct iaprof_record *record = NULL;
	for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
		record = iaprof_batch_next(&batch, record);
		ck_assert_ptr_nonnull(record);
		ck_assert_msg(record->type == sent[i].type && record->time == sent[i].time, "record %zu is %u of %lu",
			      i, record->type, record->time);
	}
	test_host_free(host);
}

static void append_text(uint32_t id, const char *text)
{
	_Alignas(8) unsigned char bytes[64] = { 0 };
	struct iaprof_record_string *string = (struct iaprof_record_string *)(void *)bytes;
	size_t size = (sizeof *string + strlen(text) + 1 + 7) & ~(size_t)7;
	*string = (struct iaprof_record_string){ .header = { .size = (uint32_t)size, .type = IAPROF_RECORD_STRING },
						 .id = id,
						 .length = (uint32_t)strlen(text) };
	memcpy(string + 1, text, strlen(text));
	test_bytes_append(&records, bytes, size);
	count++;
}

static void append_counter(uint32_t id, uint32_t name, uint32_t device, uint32_t role, bool of_release_0_1)
{
	struct iaprof_record_counter counter = { .header = { .size = sizeof counter, .type = IAPROF_RECORD_COUNTER },
						 .id = id,
						 .name = name,
						 .unit = name,
						 .kind = IAPROF_COUNTER_CUMULATIVE,
						 .device = device,
						 .role = role };
	if (of_release_0_1)
		counter.header.size = offsetof(struct iaprof_record_counter, role);
	test_bytes_append(&records, &counter, counter.header.size);
	count++;
}

/* In captures of release 0.1, the name of a device's counter states its role; in later ones, names have no meaning. */
TEST(gives_counters_of_older_captures_their_role)
{
	static const uint32_t wanted[] = { IAPROF_COUNTER_ROLE_ROWS, IAPROF_COUNTER_ROLE_OVERFLOWS,
					   IAPROF_COUNTER_ROLE_NONE, IAPROF_COUNTER_ROLE_NONE,
					   IAPROF_COUNTER_ROLE_NONE, IAPROF_COUNTER_ROLE_OVERFLOWS };
	count = 0;
	append_text(1, "rows");
	append_text(2, "overflows");
	append_text(3, "watts");
	append_counter(1, 1, 1, 0, true);
	append_counter(2, 2, 1, 0, true);
	append_counter(3, 3, 1, 0, true);
	append_counter(4, 1, 0, 0, true); /* of no device */
	append_counter(5, 1, 1, IAPROF_COUNTER_ROLE_NONE, false);
	append_counter(6, 3, 1, IAPROF_COUNTER_ROLE_OVERFLOWS, false);
	test_capture_write(&file, &records, count, NULL);
	int result;
	struct test_host *host = replay_open(file.size, &result);
	ck_assert_msg(result == 0, "%s", host->failure);
	ck_assert_int_eq(replay_run(host), 0);
	ck_assert_uint_eq(host->record_count, count);
	struct iaprof_batch batch = { .records = host->records, .size = host->record_size };
	size_t seen = 0;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
		const struct iaprof_record_counter *counter = (const void *)record;
		if (record->type != IAPROF_RECORD_COUNTER)
			continue;
		ck_assert_uint_eq(record->size, sizeof *counter);
		ck_assert_uint_eq(counter->id, seen + 1);
		ck_assert_uint_eq(counter->role, wanted[seen++]);
	}
	ck_assert_uint_eq(seen, 6);
	test_host_free(host);
}

TEST(gives_nothing_for_an_empty_run)
{
	test_capture_write(&file, &records, 0, NULL);
	int result;
	struct test_host *host = replay_open(file.size, &result);
	ck_assert_int_eq(result, 0);
	ck_assert_int_eq(replay_run(host), 0);
	expect_records(host, 0);
	test_host_free(host);
}

/* A capture that was put together from the README by another program: Python's struct and zlib, and zstd's tool. */
TEST(reads_a_capture_of_another_writer)
{
	const char *folder = getenv("TEST_SOURCE_FOLDER");
	ck_assert_ptr_nonnull(folder);
	char name[4096];
	snprintf(name, sizeof name, "%s/tests/fuzz/corpus/capture/two-blocks", folder);
	struct test_host *host = test_host_new("replay", NULL);
	ck_assert_int_eq(test_host_set(host, "file", name), 0);
	test_host_start(host);
	ck_assert_int_eq(test_host_run(host, 60000), 0);
	test_host_stop(host);
	ck_assert_msg(host->thread_result == 0, "%s", host->failure);
	ck_assert_uint_eq(host->record_count, 5);
	ck_assert_str_eq(test_host_string(host, 1), "cpu-stack");
	ck_assert_str_eq(test_host_string(host, 2), "cpu");
	ck_assert_uint_eq(strspn(test_host_string(host, 3), "x"), 300);
	ck_assert_uint_eq(test_host_next(host, NULL, IAPROF_RECORD_SYNC)->time, 5);
	test_host_free(host);
}

TEST(replays_up_to_every_cut)
{
	count = test_records_long(&records, 5); /* blocks of 2, 2 and 1, which compress to some bytes each */
	test_capture_write(&file, &records, count, NULL);
	ck_assert_uint_lt(file.size, 2000);
	size_t block = sizeof(struct capture_file_header); /* the first block that is not whole before the cut */
	size_t whole = 0, number = 0;                      /* record bytes of those before it, and how many there are */
	for (size_t cut = 0; cut < file.size; cut++) {
		struct capture_block_header header = { 0 };
		if (cut >= block)
			memcpy(&header, file.data + block, sizeof header);
		if (cut >= block && cut >= block + sizeof header + header.compressed_size) {
			block += sizeof header + header.compressed_size;
			whole += header.size;
			number++;
		}
		int result;
		struct test_host *host = replay_open(cut, &result);
		if (cut < sizeof(struct capture_file_header)) {
			ck_assert_msg(result < 0, "cut at %zu", cut);
			test_host_free(host);
			continue;
		}
		ck_assert_msg(result == 0, "cut at %zu: %s", cut, host->failure);
		ck_assert_int_eq(replay_run(host), -EBADMSG);
		expect_records(host, whole);
		char place[64];
		snprintf(place, sizeof place, "capture is truncated in block %zu at byte %zu;", number, block);
		ck_assert_msg(strstr(host->failure, place) != NULL, "cut at %zu: %s", cut, host->failure);
		test_host_free(host);
	}
	ck_assert_uint_eq(number, 3);
}

/* Reads the file from memory, without the plugin around it. */
struct memory {
	const unsigned char *data;
	size_t size, position;
};

static ssize_t memory_read(void *context, void *data, size_t size)
{
	struct memory *memory = context;
	size_t left = memory->size - memory->position;
	size = size < left ? size : left;
	memcpy(data, memory->data + memory->position, size);
	memory->position += size;
	return (ssize_t)size;
}

/* What reading it ends with; what it gave must be the beginning of the records. */
static int read_memory(size_t *given)
{
	struct memory memory = { file.data, file.size, 0 };
	struct capture_reader reader = { .read = memory_read, .context = &memory };
	struct iaprof_batch batch;
	*given = 0;
	int result = capture_reader_open(&reader);
	if (result == 0)
		while ((result = capture_reader_next(&reader, &batch)) > 0) {
			ck_assert_uint_le(*given + batch.size, records.size);
			ck_assert_mem_eq(batch.records, records.data + *given, batch.size);
			*given += batch.size;
		}
	ck_assert_int_eq(result < 0, reader.wrong[0] != '\0');
	capture_reader_close(&reader);
	return result;
}

TEST(sees_every_bit_that_flips)
{
	count = test_records_of_each_type(&records);
	count += test_records_long(&records, 3);
	test_capture_write(&file, &records, count, NULL);
	for (size_t bit = 0; bit < file.size * 8; bit++) {
		file.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
		size_t given;
		ck_assert_msg(read_memory(&given) < 0, "bit %zu of byte %zu", bit % 8, bit / 8);
		file.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
}

/* A file header with this in one of its members, and a right checksum. */
static void header_append(size_t offset, uint32_t value)
{
	struct capture_file_header header;
	capture_file_header_make(&header);
	memcpy((char *)&header + offset, &value, sizeof value);
	struct capture_block_header seal = { .compressed_size = offsetof(struct capture_file_header, checksum) };
	capture_block_seal(&seal, &header);
	header.checksum = seal.payload_checksum;
	test_bytes_append(&file, &header, sizeof header);
}

static const struct {
	size_t offset;
	uint32_t value;
	int error;
	const char *text;
} headers[] = {
	{ offsetof(struct capture_file_header, format_version), 2, -EINVAL,
	  "format version 2, this iaprof reads version 1: use a newer one" },
	{ offsetof(struct capture_file_header, format_version), 0, -EINVAL,
	  "format version 0, this iaprof reads version 1: use an older one" },
	{ offsetof(struct capture_file_header, schema_version), IAPROF_SCHEMA_VERSION + 1, -EINVAL, "use a newer one" },
	{ offsetof(struct capture_file_header, schema_version), 0, -EINVAL, "use an older one" },
	{ offsetof(struct capture_file_header, byte_order), 0x04030201, -EINVAL,
	  "written on a machine of the other byte order: replay it on one" },
	{ offsetof(struct capture_file_header, byte_order), 0x01020403, -EINVAL, "what this iaprof does not know" },
	{ offsetof(struct capture_file_header, flags), 1, -EINVAL, "what this iaprof does not know" },
	{ offsetof(struct capture_file_header, magic), 0, -EINVAL, "not a capture of iaprof" },
};

TEST_LOOP(refuses_what_it_cannot_read, 0, (int)(sizeof headers / sizeof headers[0]))
{
	header_append(headers[_i].offset, headers[_i].value);
	int result;
	struct test_host *host = replay_open(file.size, &result);
	ck_assert_int_eq(result, headers[_i].error);
	ck_assert_msg(strstr(host->failure, headers[_i].text) != NULL, "%s", host->failure);
	ck_assert_msg(strncmp(host->failure, path, strlen(path)) == 0, "%s", host->failure);
	test_host_free(host);
}

TEST_LOOP(refuses_what_is_no_capture, 0, 3)
{
	static const char *const contents[] = { "", "\177ELF and more than thirty-two bytes of it",
						"a:x:0:0:a:/:/bin/sh\n" };
	test_bytes_append(&file, contents[_i], strlen(contents[_i]) + 1);
	int result;
	struct test_host *host = replay_open(strlen(contents[_i]), &result);
	ck_assert_int_eq(result, -EINVAL);
	ck_assert_msg(strstr(host->failure, "not a capture of iaprof") != NULL, "%s", host->failure);
	test_host_free(host);
}

/* Texts, and the times that their samples have: of the only value. */
static const struct {
	const char *text;
	uint64_t begin, end, value, count;
} texts[] = {
	{ "a;b 12\n", 0, 0, 12, 12 },
	{ "p 1 10.000001: 7 cycles: \n\t10 f (/bin/p)\n\n", 10000001000, 10000001000, 7, 1 },
	{ "p cycles: \n\t10 f (/bin/p)\n\n", 0, 0, 1, 1 },
	/* Without a value, the earlier interval is 10 ms. */
	{ "interval\t0\t5.0\nkernel\t0x0\t0\t1\t0\t1\t0\neustall\t0x0\t0\t3\t0\t0\t0\t0\t0\t0\t0\t0\t0\n", 4990000001,
	  5000000000, 3, 3 },
	{ "interval\t0\t5.0\ninterval\t1\t6.0\nkernel\t0x0\t0\t1\t0\t1\t0\n"
	  "eustall\t0x0\t0\t3\t0\t0\t0\t0\t0\t0\t0\t0\t0\n",
	  5000000001, 6000000000, 3, 3 },
};

TEST_LOOP(gives_samples_of_text_their_times, 0, sizeof texts / sizeof *texts)
{
	test_bytes_append(&file, texts[_i].text, strlen(texts[_i].text));
	int result;
	struct test_host *host = replay_open(file.size, &result);
	ck_assert_msg(result == 0, "%s", host->failure);
	ck_assert_msg(replay_run(host) == 0, "%s", host->failure);
	const struct iaprof_record *record = test_host_next(host, NULL, IAPROF_RECORD_PROFILE_VALUE);
	ck_assert_ptr_nonnull(record);
	ck_assert_ptr_null(test_host_next(host, record, IAPROF_RECORD_PROFILE_VALUE));
	const struct iaprof_record_profile_value *value = (const void *)record;
	ck_assert_uint_eq(record->size, sizeof *value);
	ck_assert_uint_eq(record->time, texts[_i].end);
	ck_assert_uint_eq(value->begin, texts[_i].begin);
	ck_assert_uint_eq(value->end, texts[_i].end);
	ck_assert_uint_eq(value->value, texts[_i].value);
	ck_assert_uint_eq(value->count, texts[_i].count);
	/* What ends an interval comes behind what is in it. */
	const struct iaprof_record *last = NULL, *sync = NULL;
	while ((sync = test_host_next(host, sync, IAPROF_RECORD_SYNC)))
		last = sync;
	ck_assert(!texts[_i].end || (last && last->time == texts[_i].end && (const char *)last > (const char *)record));
	test_host_free(host);
}

TEST_LOOP(says_why_a_file_does_not_open, 0, 4)
{
	static const struct {
		const char *file;
		int error;
	} files[] = { { "/nonexistent/file", -ENOENT },
		      { "/", -ENOENT } /* a folder is a ring */,
		      { "", -EINVAL },
		      { NULL, -EINVAL } };
	struct test_host *host = test_host_new("replay", NULL);
	if (files[_i].file)
		ck_assert_int_eq(test_host_set(host, "file", files[_i].file), 0);
	int result = test_host_configure(host);
	if (result == 0)
		result = test_host_prepare(host);
	ck_assert_int_eq(result, files[_i].error);
	ck_assert_str_ne(host->failure, "");
	test_host_free(host);
}

/* What somebody might write who knows the format: everything but one thing is right. */
enum hostile {
	BOMB,       /* a frame that becomes 64 MiB in a block of 1 MiB as stated */
	BOMB_SMALL, /* one byte more than the block states */
	TWO_FRAMES,
	NO_FRAME,
	SIZE_ZERO,
	SIZE_LARGE,
	COMPRESSED_LARGE,
	COUNT_LOW, /* the last record is one too many */
	COUNT_HIGH,
	KIND,
	PAD,
	NUMBER,
	END_NUMBER,
	END_SIZE,
	END_TOTALS,
	AFTER_END,
	HOSTILE_COUNT
};
static const char *const hostile_texts[] = {
	[BOMB] = "does not decompress to the size",
	[BOMB_SMALL] = "does not decompress to the size",
	[TWO_FRAMES] = "not one zstd frame",
	[NO_FRAME] = "not one zstd frame",
	[SIZE_ZERO] = "out of range",
	[SIZE_LARGE] = "out of range",
	[COMPRESSED_LARGE] = "out of range",
	[COUNT_LOW] = "do not add up",
	[COUNT_HIGH] = "do not add up",
	[KIND] = "does not know",
	[PAD] = "does not know",
	[NUMBER] = "not the block that belongs here",
	[END_NUMBER] = "not the block that belongs here",
	[END_SIZE] = "wrong size",
	[END_TOTALS] = "totals",
	[AFTER_END] = "something follows the end",
};

static size_t last_record_size(void)
{
	uint32_t size = 0;
	for (size_t offset = 0; offset < records.size; offset += size)
		size = ((const struct iaprof_record *)(const void *)(records.data + offset))->size;
	return size;
}

TEST_LOOP(stops_at_what_is_made_to_harm, 0, HOSTILE_COUNT)
{
	count = test_records_of_each_type(&records);
	struct capture_file_header header;
	capture_file_header_make(&header);
	test_bytes_append(&file, &header, sizeof header);

	size_t raw_size = _i == BOMB ? (size_t)64 << 20 : records.size + (_i == BOMB_SMALL ? 8 : 0);
	void *raw CLEANUP_FREE = calloc(1, raw_size);
	memcpy(raw, records.data, records.size);
	size_t capacity = ZSTD_compressBound(raw_size) * 2;
	char *compressed CLEANUP_FREE = malloc(capacity);
	size_t size = ZSTD_compress(compressed, capacity, raw, raw_size, 1);
	struct capture_block_header block = { .kind = CAPTURE_BLOCK_RECORDS,
					      .compressed_size = (uint32_t)size,
					      .size = (uint32_t)records.size,
					      .record_count = count };
	if (_i == BOMB)
		block.size = CAPTURE_BLOCK_SIZE_MAX;
	else if (_i == TWO_FRAMES)
		block.compressed_size += (uint32_t)ZSTD_compress(compressed + size, capacity - size, raw, 16, 1);
	else if (_i == NO_FRAME)
		block.compressed_size = 0;
	else if (_i == SIZE_ZERO)
		block.size = 0;
	else if (_i == SIZE_LARGE)
		block.size = CAPTURE_BLOCK_SIZE_MAX + 8;
	else if (_i == COUNT_LOW)
		block.record_count--;
	else if (_i == COUNT_HIGH)
		block.record_count++;
	else if (_i == KIND)
		block.kind++;
	else if (_i == PAD)
		block.pad = 1;
	else if (_i == NUMBER)
		block.number = 1;
	test_capture_block(&file, block, compressed);
	if (_i == COMPRESSED_LARGE) {
		/* Nothing of it is there: the size alone must be refused. */
		file.size = sizeof header;
		block.compressed_size = UINT32_MAX;
		struct capture_block_header seal = { .compressed_size =
							     offsetof(struct capture_block_header, header_checksum) };
		capture_block_seal(&seal, &block);
		block.header_checksum = seal.payload_checksum;
		test_bytes_append(&file, &block, sizeof block);
	}
	if (_i == END_SIZE)
		test_capture_block(&file,
				   (struct capture_block_header){
					   .kind = CAPTURE_BLOCK_END, .number = 1, .compressed_size = 8, .size = 8 },
				   raw);
	test_capture_end(&file, _i == END_NUMBER ? 2 : 1, 1, count, records.size + (_i == END_TOTALS));
	if (_i == AFTER_END)
		test_bytes_append(&file, "", 1);

	int result;
	struct test_host *host = replay_open(file.size, &result);
	ck_assert_int_eq(result, 0);
	ck_assert_int_eq(replay_run(host), -EBADMSG);
	ck_assert_msg(strstr(host->failure, hostile_texts[_i]) != NULL, "%s", host->failure);
	/* Records that were whole before what is wrong were sent. */
	expect_records(host, _i == COUNT_LOW                        ? records.size - last_record_size()
			     : _i == COUNT_HIGH || _i >= END_NUMBER ? records.size
								    : 0);
	test_host_free(host);
}

/* Records that do not fit into their block or are no multiple of 8: those before them are sent. */
TEST_LOOP(stops_at_a_malformed_record, 0, 7)
{
	static const uint32_t sizes[] = { 0, 8, 17, 20, 40, 1 << 20, UINT32_MAX };
	uint32_t whole = test_records_of_each_type(&records);
	struct iaprof_record bad[2] = { { .size = sizes[_i], .type = IAPROF_RECORD_SYNC } };
	struct test_bytes raw = { 0 };
	test_bytes_append(&raw, records.data, records.size);
	test_bytes_append(&raw, bad, sizeof bad);
	char compressed[65536];
	size_t size = ZSTD_compress(compressed, sizeof compressed, raw.data, raw.size, 1);
	struct capture_file_header header;
	capture_file_header_make(&header);
	test_bytes_append(&file, &header, sizeof header);
	test_capture_block(&file,
			   (struct capture_block_header){ .kind = CAPTURE_BLOCK_RECORDS,
							  .compressed_size = (uint32_t)size,
							  .size = (uint32_t)raw.size,
							  .record_count = whole + 1 },
			   compressed);
	test_capture_end(&file, 1, 1, whole + 1, raw.size);
	int result;
	struct test_host *host = replay_open(file.size, &result);
	ck_assert_int_eq(result, 0);
	ck_assert_int_eq(replay_run(host), -EBADMSG);
	ck_assert_msg(strstr(host->failure, "block 0 at byte 32: damaged: its records do not add up") != NULL, "%s",
		      host->failure);
	expect_records(host, records.size);
	test_host_free(host);
	test_bytes_free(&raw);
}

/* A pipe with the file in it but for its last bytes, and a host whose source reads it. */
static struct test_host *pipe_begin(int *writer, size_t missing)
{
	count = test_records_of_each_type(&records);
	count += test_records_long(&records, 5);
	test_capture_write(&file, &records, count, NULL);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	*writer = open(path, O_RDWR | O_CLOEXEC); /* both ends, so that nobody waits and no end comes by itself */
	ck_assert_int_ge(*writer, 0);
	ck_assert_int_eq(write(*writer, file.data, file.size - missing), (ssize_t)(file.size - missing));
	struct test_host *host = test_host_new("replay", NULL);
	ck_assert_int_eq(test_host_set(host, "file", path), 0);
	test_host_start(host);
	return host;
}

TEST(reads_a_pipe)
{
	int writer;
	struct test_host *host = pipe_begin(&writer, 0);
	close(writer);
	ck_assert_int_eq(test_host_run(host, 60000), 0);
	test_host_stop(host);
	ck_assert_msg(host->thread_result == 0, "%s", host->failure);
	expect_records(host, records.size);
	test_host_free(host);
}

TEST(replays_a_pipe_up_to_its_cut)
{
	int writer;
	struct test_host *host = pipe_begin(&writer, 1);
	close(writer);
	ck_assert_int_eq(test_host_run(host, 60000), 0);
	test_host_stop(host);
	ck_assert_int_eq(host->thread_result, -EBADMSG);
	ck_assert_ptr_nonnull(strstr(host->failure, "capture is truncated in block"));
	expect_records(host, records.size);
	test_host_free(host);
}

TEST(stops_while_a_pipe_is_silent)
{
	int writer;
	struct test_host *host = pipe_begin(&writer, 1);
	test_host_stop(host); /* the thread waits for the last byte, which does not come */
	ck_assert_int_eq(host->thread_result, 0);
	ck_assert_str_eq(host->failure, "");
	close(writer);
	test_host_free(host);
}

#define SOURCE_SIZE 100000u

static void listing_append(void)
{
	struct {
		struct iaprof_record_code_listing head;
		struct iaprof_listed_instruction instructions[3];
	} listing = { .head = { .header = { .size = sizeof listing, .type = IAPROF_RECORD_CODE_LISTING },
				.id = 1,
				.instruction_count = 3 },
		      .instructions = { { .file = 2 }, { .file = 1 }, { .file = 2 } } };
	static const char *const paths[] = { "/build/none.cl", "/build/src/big.cl" };
	for (uint32_t i = 0; i < 2; i++) {
		struct {
			struct iaprof_record_string head;
			char text[24];
		} string = { .head = { .header = { .size = sizeof string, .type = IAPROF_RECORD_STRING },
				       .id = i + 1,
				       .length = (uint32_t)strlen(paths[i]) } };
		strcpy(string.text, paths[i]);
		test_bytes_append(&records, &string, sizeof string);
	}
	test_bytes_append(&records, &listing, sizeof listing);
	count = 3;
}

/* Records of source texts add up to the file; returns how many there are. */
static unsigned expect_source(const struct test_host *host, const char *text)
{
	const struct iaprof_record *record = NULL;
	unsigned parts = 0;
	uint32_t offset = 0;
	while ((record = test_host_next(host, record, IAPROF_RECORD_SOURCE_TEXT))) {
		const struct iaprof_record_source_text *part = (const void *)record;
		ck_assert_uint_eq(part->file, 2);
		ck_assert_uint_eq(part->size, SOURCE_SIZE);
		ck_assert_uint_eq(part->offset, offset);
		ck_assert_mem_eq(iaprof_record_source_text_bytes(part), text + offset, part->length);
		offset += part->length;
		parts++;
	}
	ck_assert_uint_eq(offset, SOURCE_SIZE);
	return parts;
}

static struct test_host *capture_with_sources(const char *folder, const struct test_bytes *from, uint32_t from_count)
{
	struct test_host *host = test_host_new("capture", NULL);
	ck_assert_int_eq(test_host_set(host, "sources", folder), 0);
	test_host_start(host);
	ck_assert_int_eq(test_host_send(host, from->data, from->size, from_count), 0);
	test_host_stop(host);
	file.size = 0;
	test_bytes_append(&file, test_host_output(host, NULL)->data, test_host_output(host, NULL)->size);
	return host;
}

TEST(gives_back_embedded_sources)
{
	/* A folder is searched by openat2(), which valgrind 3.19 does not know. */
	if (syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno == ENOSYS)
		return;
	static char folder[64], source[128], text[SOURCE_SIZE];
	snprintf(folder, sizeof folder, P_tmpdir "/iaprof-test-sources-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(source, sizeof source, "%s/big.cl", folder);
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(' ' + i * i % 90);
	FILE *stream = fopen(source, "w");
	ck_assert_ptr_nonnull(stream);
	ck_assert_uint_eq(fwrite(text, 1, sizeof text, stream), sizeof text);
	ck_assert_int_eq(fclose(stream), 0);
	listing_append();
	struct test_host *capture = capture_with_sources(folder, &records, count);
	ck_assert(test_host_logged(capture, IAPROF_LOG_WARNING,
				   "1 of 2 source files not embedded (first: /build/none.cl: not found below"));
	test_host_free(capture);
	unlink(source);

	int result;
	struct test_host *host = replay_open(file.size, &result);
	ck_assert_int_eq(replay_run(host), 0);
	unsigned parts = expect_source(host, text);
	ck_assert_uint_gt(parts, 1);
	/* A capture of the replay has each text once. */
	struct test_bytes again = { .data = host->records, .size = host->record_size };
	test_host_free(capture_with_sources(folder, &again, (uint32_t)host->record_count));
	test_host_free(host);
	host = replay_open(file.size, &result);
	ck_assert_int_eq(replay_run(host), 0);
	ck_assert_uint_eq(expect_source(host, text), parts);
	test_host_free(host);
	rmdir(folder);
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
