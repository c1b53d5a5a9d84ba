/* SPDX-License-Identifier: Apache-2.0 */
/* Decoder intel-gt as the core has it: its options, and the code that it opens. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_host.h"
#include "../run_suite.h"

/* (W) mov (16|M0) r127.0<1>:ud 0x0:ud; send.ugm with a load; sync.nop null {Compacted,$5.src}: of Xe2, from iga64. */
static const unsigned char code[40] = { 0x61, 0x00, 0x10, 0x80, 0x20, 0x42, 0x05, 0x7f, 0x00, 0x00,
					0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x31, 0x22, 0x17, 0x00,
					0x00, 0x00, 0x14, 0x36, 0x24, 0x0c, 0x00, 0xfb, 0x00, 0x00,
					0x00, 0x00, 0x01, 0xa5, 0x8c, 0x3c, 0x00, 0x00, 0x10, 0x00 };
/* sendg.ugm of Xe3P, and an opcode that there is not. */
static const unsigned char newer[16] = { 0x33, 0x20, 0x01, 0x80, 0x06, 0x10, 0x00, 0x01,
					 0x0c, 0x3f, 0x28, 0xf0, 0x00, 0x00, 0x80, 0x16 };
static const unsigned char none[16] = { 0x3e };

static struct test_host *host;

static void teardown(void)
{
	test_host_free(host);
}

static int decode(const void *bytes, size_t size, size_t offset, struct iaprof_code_instruction *instruction)
{
	const struct iaprof_code description = { .size = sizeof description, .bytes = bytes, .byte_count = size };
	void *kernel;
	*instruction = (struct iaprof_code_instruction){ .struct_size = sizeof *instruction };
	ck_assert_int_eq(host->operations.decoder.code_open(&host->host, host->instance, &description, &kernel), 0);
	int result = host->operations.decoder.code_decode(&host->host, host->instance, kernel, offset, instruction);
	host->operations.decoder.code_close(&host->host, host->instance, kernel);
	return result;
}

static void expect(const void *bytes, size_t size, size_t offset, uint32_t length, const char *mnemonic)
{
	struct iaprof_code_instruction instruction;
	ck_assert_int_eq(decode(bytes, size, offset, &instruction), 0);
	ck_assert_uint_eq(instruction.size, length);
	ck_assert_uint_eq(instruction.flags, 0);
	ck_assert_str_eq(instruction.mnemonic, mnemonic);
	ck_assert_ptr_nonnull(memchr(instruction.text, '\0', sizeof instruction.text));
}

TEST(names_instructions_of_an_unknown_generation)
{
	host = test_host_new("intel-gt", NULL);
	ck_assert_int_eq(test_host_configure(host), 0);
	ck_assert_uint_eq(host->operations.decoder.machine, 205);
	expect(code, sizeof code, 0, 16, "mov");
	expect(code, sizeof code, 16, 16, "send.ugm load");
	expect(code, sizeof code, 32, 8, "sync.nop");
	expect(newer, sizeof newer, 0, 16, "sendg.ugm load");
	struct iaprof_code_instruction instruction;
	ck_assert_int_eq(decode(code, sizeof code, 0, &instruction), 0);
	ck_assert_str_eq(instruction.text, ""); /* it might be another generation's */
}

TEST(refuses_what_is_no_instruction)
{
	host = test_host_new("intel-gt", "generation=xe2", NULL);
	ck_assert_int_eq(test_host_configure(host), 0);
	struct iaprof_code_instruction instruction;
	ck_assert_int_eq(decode(none, sizeof none, 0, &instruction), -EINVAL);
	ck_assert_int_eq(decode(newer, sizeof newer, 0, &instruction), -EINVAL); /* not of Xe2 */
	ck_assert_int_eq(decode(code, sizeof code, 4, &instruction), -EINVAL);
	ck_assert_int_eq(decode(code, sizeof code, 40, &instruction), -EINVAL);
	ck_assert_int_eq(decode(code, 31, 16, &instruction), -EINVAL);
	ck_assert_int_eq(decode(code, sizeof code, SIZE_MAX, &instruction), -EINVAL);
}

/* The second half of an instruction looks like another one. _i: the generation is known. */
TEST_LOOP(instructions_begin_where_the_one_before_ends, 0, 2)
{
	unsigned char halves[24];
	memcpy(halves, code, 8);
	memcpy(halves + 8, code + 32, 8);
	memcpy(halves + 16, code + 32, 8);
	host = _i ? test_host_new("intel-gt", "generation=xe2", NULL) : test_host_new("intel-gt", NULL);
	ck_assert_int_eq(test_host_configure(host), 0);
	struct iaprof_code_instruction instruction;
	expect(halves, sizeof halves, 0, 16, "mov");
	ck_assert_int_eq(decode(halves, sizeof halves, 8, &instruction), -EINVAL);
	expect(halves, sizeof halves, 16, 8, "sync.nop");
}

TEST(goes_on_without_a_library)
{
	host = test_host_new("intel-gt", "generation=xe2", "library=/nonexistent/libiga64.so", NULL);
	ck_assert_int_eq(test_host_configure(host), 0);
	struct iaprof_code_instruction instruction;
	for (int i = 0; i < 2; i++) {
		expect(code, sizeof code, 16, 16, "send.ugm load");
		ck_assert_int_eq(decode(code, sizeof code, 16, &instruction), 0);
		ck_assert_str_eq(instruction.text, "");
	}
}

TEST(knows_its_generations)
{
	static const char *const names[] = { "auto", "xe", "xe-hp", "xe-hpg", "xe-hpc", "xe2", "xe3", "xe3p" };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		host = test_host_new("intel-gt", NULL);
		ck_assert_int_eq(test_host_set(host, "generation", names[i]), 0);
		ck_assert_int_eq(test_host_configure(host), 0);
		expect(code, sizeof code, 0, 16, "mov");
		struct iaprof_code_instruction instruction;
		bool has_sendg = strcmp(names[i], "auto") == 0 || strcmp(names[i], "xe3p") == 0;
		ck_assert_int_eq(decode(newer, sizeof newer, 0, &instruction), has_sendg ? 0 : -EINVAL);
		test_host_free(host);
	}
	host = test_host_new("intel-gt", NULL);
	ck_assert_int_eq(test_host_set(host, "generation", "gen9"), -EINVAL);
}

static void expect_opened(void *kernel, uint64_t offset, uint32_t group, const char *mnemonic, const char *waits)
{
	struct iaprof_code_instruction instruction = { .struct_size = sizeof instruction };
	ck_assert_int_eq(
		host->operations.decoder.code_decode(&host->host, host->instance, kernel, offset, &instruction), 0);
	ck_assert_uint_eq(instruction.group, group);
	ck_assert_str_eq(instruction.mnemonic, mnemonic);
	ck_assert_str_eq(instruction.waits, waits);
}

/* What each instruction is, and where waits lead, is held against Intel's disassembly elsewhere. */
TEST(opens_code)
{
	host = test_host_new("intel-gt", "generation=xe2", "library=/nonexistent/libiga64.so", NULL);
	ck_assert_int_eq(test_host_configure(host), 0);
	const struct iaprof_code description = { .size = sizeof description, .bytes = code, .byte_count = sizeof code };
	void *kernel;
	ck_assert_int_eq(host->operations.decoder.code_open(&host->host, host->instance, &description, &kernel), 0);
	expect_opened(kernel, 0, IAPROF_INSTRUCTION_ARITHMETIC, "mov", "");
	expect_opened(kernel, 16, IAPROF_INSTRUCTION_MEMORY, "send.ugm load", "I@1,$2");
	expect_opened(kernel, 32, IAPROF_INSTRUCTION_SYNCHRONIZATION, "sync.nop", "$5.src");
	struct iaprof_code_instruction instruction = { .struct_size = sizeof instruction };
	ck_assert_int_eq(host->operations.decoder.code_decode(&host->host, host->instance, kernel, 4, &instruction),
			 -EINVAL);
	struct iaprof_producer producers[2];
	uint32_t flags;
	ck_assert_int_eq(
		host->operations.decoder.code_producers(&host->host, host->instance, kernel, 8, producers, 2, &flags),
		-EINVAL);
	/* No way to it has an instruction that takes the token. */
	ck_assert_int_eq(
		host->operations.decoder.code_producers(&host->host, host->instance, kernel, 32, producers, 2, &flags),
		0);
	ck_assert_uint_eq(flags, 0);
	host->operations.decoder.code_close(&host->host, host->instance, kernel);
}

TEST(code_of_nobody_knows_what_has_names_only)
{
	host = test_host_new("intel-gt", NULL);
	ck_assert_int_eq(test_host_configure(host), 0);
	/* Bytes that are not an image provide no information. */
	const struct iaprof_code description = { .size = sizeof description,
						 .bytes = code,
						 .byte_count = sizeof code,
						 .image = code,
						 .image_size = sizeof code };
	void *kernel;
	ck_assert_int_eq(host->operations.decoder.code_open(&host->host, host->instance, &description, &kernel), 0);
	expect_opened(kernel, 16, IAPROF_INSTRUCTION_MEMORY, "send.ugm load", "");
	struct iaprof_producer producers[2];
	uint32_t flags;
	ck_assert_int_eq(
		host->operations.decoder.code_producers(&host->host, host->instance, kernel, 32, producers, 2, &flags),
		0);
	ck_assert_uint_eq(flags, IAPROF_PRODUCERS_INCOMPLETE);
	host->operations.decoder.code_close(&host->host, host->instance, kernel);
}

#define THREADS 4

static void *decode_all(void *argument)
{
	for (int round = 0; round < 2000; round++)
		for (size_t offset = 0; offset < sizeof code; offset += 16) {
			struct iaprof_code_instruction instruction;
			if (decode(code, sizeof code, offset, &instruction) < 0)
				return argument;
		}
	return NULL;
}

TEST(decodes_on_any_thread)
{
	pthread_t threads[THREADS];
	host = test_host_new("intel-gt", "generation=xe2", NULL);
	if (getenv("IGA_LIBRARY"))
		ck_assert_int_eq(test_host_set(host, "library", getenv("IGA_LIBRARY")), 0);
	ck_assert_int_eq(test_host_configure(host), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, decode_all, host), 0);
	for (int i = 0; i < THREADS; i++) {
		void *result;
		ck_assert_int_eq(pthread_join(threads[i], &result), 0);
		ck_assert_ptr_null(result);
	}
}

int main(void)
{
	return run_all_tests(0, NULL, teardown);
}
