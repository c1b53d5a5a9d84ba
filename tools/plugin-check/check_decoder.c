/* SPDX-License-Identifier: Apache-2.0 */
/* What a decoder says of bytes that may be anything. The code ends where memory ends: one byte further is a crash. */
#include "subject.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE_SIZE 512
#define ROUNDS 2000

/* CODE_SIZE bytes at the end of a page, with one after it that cannot be read. */
static unsigned char *code_new(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(pages != MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
	return pages + page - CODE_SIZE;
}

static void expect_answer(struct test_host *host, const unsigned char *code, size_t size, size_t offset)
{
	struct iaprof_instruction instruction;
	memset(&instruction, 0, sizeof instruction);
	int result = host->plugin.decode(&host->host, host->instance, code, size, offset, &instruction);
	ck_assert_msg(result == 0 || result == -EINVAL, "decode() returned %d: it is 0 or -EINVAL", result);
	if (result < 0)
		return;
	ck_assert_msg(offset < size, "decode() found an instruction after the end of the code");
	ck_assert_msg(instruction.size >= 1 && instruction.size <= size - offset,
		      "an instruction of %u bytes does not fit into the %zu that are left", instruction.size,
		      size - offset);
	ck_assert_msg(instruction.mnemonic && instruction.mnemonic[0], "an instruction has no mnemonic");
	ck_assert_msg(memchr(instruction.text, '\0', sizeof instruction.text), "the text does not end in a NUL");
}

START_TEST(any_bytes_are_decoded_or_refused)
{
	struct test_host *host = subject_new();
	subject_configure(host);
	unsigned char *code = code_new();
	uint64_t state = 1; /* a linear congruential generator: the same bytes in every run (Knuth's MMIX constants) */
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < CODE_SIZE; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			code[i] = (unsigned char)(state >> 56);
		}
		for (size_t offset = 0; offset <= CODE_SIZE; offset += 8)
			expect_answer(host, code, CODE_SIZE, offset);
	}
	for (size_t size = 0; size <= CODE_SIZE; size++) /* code that is cut off anywhere */
		expect_answer(host, code + CODE_SIZE - size, size, size > 16 ? 16 : 0);
	expect_answer(host, code, CODE_SIZE, CODE_SIZE + 1);
	expect_answer(host, code, CODE_SIZE, SIZE_MAX);
	test_host_free(host);
}
END_TEST

void checks_add_decoder(Suite *suite)
{
	check_add(suite, "any bytes are named or refused, and nothing beyond them is read",
		  any_bytes_are_decoded_or_refused);
}
