/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a decoder with arbitrary bytes. The code ends where mapped memory ends: reading one byte further crashes. */
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

/* A linear congruential generator: the same bytes in every run (Knuth's MMIX constants). */
static void fill(unsigned char *bytes, size_t size, uint64_t *state)
{
	for (size_t i = 0; i < size; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (unsigned char)(*state >> 56);
	}
}

#define UNTOUCHED 0x5a

/* One assertion for many bytes: Check reports each of them to its own process, which takes most of the time. */
static bool is_untouched(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != UNTOUCHED)
			return false;
	return true;
}

static void expect_code_answer(struct test_host *host, void *code, size_t size, uint64_t offset)
{
	/* A core that is older than the decoder passes a shorter struct: the memory after it must not change. */
	struct {
		struct iaprof_code_instruction known;
		unsigned char behind[64];
	} answer = { .known.struct_size = sizeof answer.known };
	memset(answer.behind, UNTOUCHED, sizeof answer.behind);
	const struct iaprof_code_instruction *known = &answer.known;
	int result = host->operations.decoder.code_decode(&host->host, host->instance, code, offset, &answer.known);
	ck_assert_msg(result == 0 || result == -EINVAL, "code_decode() returned %d: it is 0 or -EINVAL", result);
	ck_assert_msg(is_untouched(answer.behind, sizeof answer.behind), "code_decode() writes beyond struct_size");
	if (result < 0)
		return;
	ck_assert_msg(offset < size && known->size >= 1 && known->size <= size - offset,
		      "an instruction of %u bytes at %lu does not lie in code of %zu", known->size,
		      (unsigned long)offset, size);
	ck_assert_msg(known->mnemonic && known->mnemonic[0], "an instruction has no mnemonic");
	ck_assert_msg(memchr(known->text, '\0', sizeof known->text), "the text does not end in a NUL");
	ck_assert_msg(memchr(known->waits, '\0', sizeof known->waits), "what it waits for does not end in a NUL");
}

static void expect_producers(struct test_host *host, void *code, size_t size, uint64_t offset)
{
	struct iaprof_producer producers[4];
	uint32_t flags = 0;
	memset(producers, UNTOUCHED, sizeof producers);
	int result = host->operations.decoder.code_producers(&host->host, host->instance, code, offset, producers, 2,
							     &flags);
	ck_assert_msg(result >= 0 || result == -EINVAL || result == -ENOMEM,
		      "code_producers() returned %d: it is a number of producers, -EINVAL or -ENOMEM", result);
	ck_assert_msg(result <= 0 || offset < size, "code_producers() found an instruction after the end of the code");
	for (int i = 0; i < result && i < 2; i++) {
		ck_assert_msg(producers[i].offset < size, "a producer lies outside of the code");
		ck_assert_msg(producers[i].wait >= IAPROF_WAIT_RESULT && producers[i].wait <= IAPROF_WAIT_PIPELINE,
			      "wait %u is none of enum iaprof_wait", producers[i].wait);
	}
	ck_assert_msg(is_untouched((unsigned char *)(producers + 2), 2 * sizeof *producers),
		      "code_producers() writes more than capacity");
}

static void expect_code_answers(struct test_host *host, const unsigned char *bytes, size_t size,
				const unsigned char *image)
{
	const struct iaprof_code description = { .size = sizeof description,
						 .bytes = bytes,
						 .byte_count = size,
						 .image = image,
						 .image_size = image ? size : 0,
						 .name = "kernel" };
	void *code = NULL;
	int result = host->operations.decoder.code_open(&host->host, host->instance, &description, &code);
	ck_assert_msg(result <= 0, "code_open() returned %d: it is 0 or a negative errno", result);
	if (result < 0)
		return;
	for (uint64_t offset = 0; offset <= size + 8; offset += 8) {
		expect_code_answer(host, code, size, offset);
		if (host->operations.decoder.code_producers)
			expect_producers(host, code, size, offset);
	}
	expect_code_answer(host, code, size, UINT64_MAX);
	host->operations.decoder.code_close(&host->host, host->instance, code);
}

START_TEST(any_opened_code_is_decoded_or_refused)
{
	struct test_host *host = subject_new();
	subject_configure(host);
	unsigned char *code = code_new();
	uint64_t state = 1;
	for (int round = 0; round < ROUNDS / 4; round++) {
		fill(code, CODE_SIZE, &state);
		expect_code_answers(host, code, CODE_SIZE, round % 2 ? code : NULL);
	}
	for (size_t size = 0; size <= CODE_SIZE; size += 4)
		expect_code_answers(host, code + CODE_SIZE - size, size, NULL);
	test_host_free(host);
}
END_TEST

/* What image_read() reports to: any order is right, a report without its name is not. */
static int take_function(const struct iaprof_image_report *report, const struct iaprof_image_function *function)
{
	ck_assert_msg(function->size >= sizeof *function, "a function's struct of %u bytes is too short",
		      function->size);
	ck_assert_msg(function->name && function->name[0], "a function has no name");
	ck_assert_msg(!function->attribute_count || function->attributes, "attributes of %s are NULL", function->name);
	for (uint32_t i = 0; i < function->attribute_count; i++)
		ck_assert_msg(function->attributes[i].name && function->attributes[i].name[0],
			      "an attribute of %s has no name", function->name);
	return 0;
}

static int take_section(const struct iaprof_image_report *report, uint32_t section, const char *kernel)
{
	ck_assert_msg(kernel && kernel[0], "section %u is of a kernel without a name", section);
	return 0;
}

static int take_symbol(const struct iaprof_image_report *report, uint32_t symbol, uint32_t section)
{
	return 0;
}

static int take_addresses(const struct iaprof_image_report *report, uint32_t addresses, uint64_t base)
{
	ck_assert_msg(addresses <= IAPROF_IMAGE_ADDRESSES_RELATIVE, "addresses %u are none of the enum", addresses);
	return 0;
}

static void take_refused(const struct iaprof_image_report *report, uint64_t count)
{
}

#define TABLE_SIZE 24

/* Names that compilers give to sections and symbols, and others. */
static const char *const image_names[] = { "",         ".text",       ".text.kernel", ".text.",    ".rodata",
					   ".ze_info", ".note.a",     "kernel",       "kernel.kd", ".kd",
					   "_ZTS1a",   ".debug_info", ".strtab",      ".symtab",   "a",
					   "\n",       "%s" };

static void expect_image_is_read(struct test_host *host, const unsigned char *bytes, size_t size, uint64_t *state)
{
	struct iaprof_image_section sections[TABLE_SIZE];
	struct iaprof_image_symbol symbols[TABLE_SIZE];
	const struct iaprof_image_report report = { .size = sizeof report,
						    .function = take_function,
						    .section = take_section,
						    .symbol = take_symbol,
						    .addresses = take_addresses,
						    .refused = take_refused };
	fill((unsigned char *)sections, sizeof sections, state);
	fill((unsigned char *)symbols, sizeof symbols, state);
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		size_t name_count = sizeof image_names / sizeof *image_names;
		sections[i].name = image_names[sections[i].type % name_count];
		sections[i].bytes = sections[i].size % 5 ? bytes : NULL;
		sections[i].size = sections[i].bytes ? size : sections[i].size;
		sections[i].address = sections[i].address % 3 ? sections[i].address % 256 : sections[i].address;
		symbols[i].name = image_names[symbols[i].pad[0] % name_count];
		symbols[i].section = symbols[i].section % 3 ? symbols[i].section % TABLE_SIZE : symbols[i].section;
		symbols[i].value = symbols[i].value % 3 ? symbols[i].value % 256 : symbols[i].value;
		symbols[i].type = symbols[i].type % 4;
	}
	struct iaprof_image image = { .size = sizeof image,
				      .machine = host->operations.decoder.machine,
				      .bytes = bytes,
				      .byte_count = size,
				      .sections = sections,
				      .section_count = TABLE_SIZE,
				      .section_size = sizeof *sections,
				      .symbols = symbols,
				      .symbol_count = TABLE_SIZE,
				      .symbol_size = sizeof *symbols };
	int result = host->operations.decoder.image_read(&host->host, host->instance, &image, &report);
	ck_assert_msg(result <= 0, "image_read() returned %d: it is 0 or a negative errno", result);
}

START_TEST(any_image_is_read_or_refused)
{
	struct test_host *host = subject_new();
	subject_configure(host);
	unsigned char *bytes = code_new();
	uint64_t state = 1;
	for (int round = 0; round < ROUNDS && host->operations.decoder.image_read; round++) {
		size_t size = (size_t)round % CODE_SIZE;
		fill(bytes, CODE_SIZE, &state);
		expect_image_is_read(host, bytes + CODE_SIZE - size, size, &state);
	}
	for (size_t i = 0; i < sizeof image_names / sizeof *image_names && host->operations.decoder.display_name; i++) {
		char text[64] = "";
		for (size_t capacity = 1; capacity <= sizeof text; capacity++) {
			memset(text, 0x5a, sizeof text);
			size_t length = host->operations.decoder.display_name(&host->host, host->instance,
									      image_names[i], text, capacity);
			ck_assert_msg(length < capacity, "display_name() returned %zu of at most %zu", length,
				      capacity);
			ck_assert_msg(!length || strnlen(text, capacity) == length,
				      "display_name() does not write what it returns");
		}
	}
	test_host_free(host);
}
END_TEST

void checks_add_decoder(struct check_list *checks)
{
	check_add(checks, "any image is read or refused, and nothing beyond it is read", any_image_is_read_or_refused);
	check_add(checks, "any code is decoded or refused, and nothing beyond it is read or written",
		  any_opened_code_is_decoded_or_refused);
}
