/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of device code resolved to everything, with the real decoder plugin: every instruction of the fixtures
 * against what independent tools say of it.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "device/zebin_fixture.h"
#include "run/decoders.h"
#include "symbolizer/device/code_reader.h"
#include "../run_suite.h"

#define MACHINE_INTEL_GT 205
#define MACHINE_BPF 247

static struct registry registry;
static struct instance_services services;
static struct decoders decoders;

static void set_up(void)
{
	decoders = (struct decoders){ .registry = &registry, .services = &services };
	static struct instance_configuration wanted;
	wanted = (struct instance_configuration){ .plugin = getenv("INTEL_GT_PLUGIN") };
	struct error error = { 0 };
	if (!wanted.plugin)
		wanted.plugin = (char *)"build/plugins/decoder-intel-gt/iaprof-intel-gt.so";
	ck_assert_msg(decoders_add(&decoders, &wanted, &error) == 0, "%s", error.text);
}

static void tear_down(void)
{
	decoders_release(&decoders);
	registry_free(&registry);
	registry = (struct registry){ 0 };
}

static struct code_reader *open_reader(const char *fixture, const char *suffix)
{
	struct code_object *object = zebin_open(fixture, suffix);
	ck_assert_uint_eq(code_object_machine(object), MACHINE_INTEL_GT);
	struct code_reader *reader = code_reader_new(object, decoders_find(&decoders, code_object_machine(object)));
	ck_assert_ptr_nonnull(reader);
	code_object_release(object);
	return reader;
}

/* The judges have the opcode without its function or unit; those follow behind a dot. */
static void check_instruction(const struct expected_instruction *wanted, const struct code_place *place)
{
	const struct iaprof_code_instruction *instruction = &place->instruction;
	size_t length = strlen(wanted->mnemonic);
	ck_assert_ptr_nonnull(instruction->mnemonic);
	ck_assert_uint_eq(instruction->size, wanted->size);
	ck_assert_msg(strncmp(instruction->mnemonic, wanted->mnemonic, length) == 0 &&
			      (!instruction->mnemonic[length] || instruction->mnemonic[length] == '.'),
		      "%s at 0x%lx of %s is called %s", wanted->mnemonic, (unsigned long)wanted->offset, wanted->kernel,
		      instruction->mnemonic);
	bool is_message = strncmp(wanted->mnemonic, "send", 4) == 0;
	ck_assert(is_message == (instruction->group == IAPROF_INSTRUCTION_MEMORY));
}

static void check_stack(const struct expected_instruction *wanted, const struct code_place *place, uint64_t address)
{
	struct code_frame frames[CODE_FRAMES_MAX];
	size_t count = code_place_frames(place, address, frames);
	ck_assert_uint_eq(count, wanted->frame_count + 2);
	ck_assert_uint_eq(frames[0].kind, IAPROF_FRAME_DEVICE_SOURCE);
	ck_assert_str_eq(frames[0].name, wanted->frames[wanted->frame_count - 1].file);
	for (size_t i = 1; i < count - 1; i++) {
		ck_assert_uint_eq(frames[i].kind, IAPROF_FRAME_DEVICE_FUNCTION);
		ck_assert_uint_eq(frames[i].flags, i > 1 ? IAPROF_FRAME_INLINED : 0);
		ck_assert_uint_eq(frames[i].line, wanted->frames[wanted->frame_count - i].line);
		ck_assert_uint_eq(frames[i].offset, wanted->offset);
	}
	ck_assert_uint_eq(frames[count - 1].kind, IAPROF_FRAME_DEVICE_INSTRUCTION);
	ck_assert_str_eq(frames[count - 1].name, place->instruction.mnemonic);
}

/* has_lines: the image has debug information. */
static void check_all(const char *fixture, const char *suffix, bool has_lines)
{
	struct code_reader *reader = open_reader(fixture, suffix);
	CLEANUP_FREE char *loaded_path = zebin_path(fixture, ".loaded-debug.elf");
	expected_place_array loaded = zebin_sections(loaded_path);
	expected_instruction_array all = zebin_instructions(fixture);
	ck_assert_uint_gt(all.count, 40);
	for (size_t i = 0; i < all.count; i++) {
		struct code_place place;
		uint64_t address = zebin_own_address(code_reader_object(reader), &loaded, all.items[i].address);
		ck_assert(code_reader_find(reader, address, &place));
		zebin_check_location(&all.items[i], &place.location);
		check_instruction(&all.items[i], &place);
		if (has_lines) {
			zebin_check_frames(&all.items[i], place.functions, place.function_count);
			check_stack(&all.items[i], &place, address);
		} else {
			ck_assert_uint_eq(place.function_count, 1);
			ck_assert_str_eq(place.functions[0].name, place.location.kernel->shown);
		}
	}
	array_free(&all);
	array_free(&loaded);
	code_reader_free(reader);
}

TEST_LOOP(every_instruction_of_a_loaded_image_is_resolved, 0, zebin_fixture_count)
{
	check_all(zebin_fixtures[_i], ".loaded-debug.elf", true);
}

TEST_LOOP(every_instruction_of_a_relocatable_image_is_resolved, 0, zebin_fixture_count)
{
	check_all(zebin_fixtures[_i], ".bin", true);
}

TEST_LOOP(every_instruction_without_debug_information_has_kernel_offset_and_name, 0, zebin_fixture_count)
{
	check_all(zebin_fixtures[_i], ".nodebug.bin", false);
}

/* "{A@1,$0}" or "{Compacted,$5.src}" of a line, as IGA prints it: what it says of the scoreboard. */
static void read_waits(const char *line, char *waits, size_t size)
{
	static const char *const others[] = { "Compacted", "EOT",    "NoPreempt", "Breakpoint",
					      "AccWrEn",   "Atomic", "Switch" };
	char inside[128] = "";
	const char *brace = strchr(line, '{');
	size_t used = 0;
	*waits = '\0';
	if (!brace || sscanf(brace, "{%127[^}]}", inside) != 1)
		return;
	char *rest = inside;
	for (char *part; (part = strsep(&rest, ","));) {
		bool other = false;
		for (size_t i = 0; i < sizeof others / sizeof *others; i++)
			other |= strcmp(part, others[i]) == 0;
		if (!other)
			used += (size_t)snprintf(waits + used, size - used, "%s%s", used ? "," : "", part);
	}
}

/*
 * "(W)     send.ugm (1|M0)  r1 ... // ...; load.ugm.d32": the function or unit too, and what a message is for. The
 * disassembly goes on where we do not: dpas.8x8.
 */
static void check_name(const char *line, const char *mnemonic)
{
	char name[64] = "";
	const char *at = strstr(line, "*/") + 2;
	while (*(at += strspn(at, " ")) == '(')
		at += strcspn(at, ")") + 1;
	ck_assert_int_eq(sscanf(at, "%63s", name), 1);
	size_t length = strcspn(mnemonic, " ");
	ck_assert_msg(strncmp(name, mnemonic, length) == 0 && (!name[length] || name[length] == '.'), "%s is called %s",
		      name, mnemonic);
	if (!mnemonic[length])
		return;
	char operation[64];
	snprintf(operation, sizeof operation, "%s", mnemonic + length + 1);
	bool found = strcmp(operation, "indirect") == 0 || strstr(line, operation);
	for (char *byte = operation; *byte; byte++)
		*byte = *byte == '_' ? ' ' : *byte; /* "signal barrier" */
	ck_assert_msg(found || strstr(line, operation), "%s is called %s", line, mnemonic);
}

TEST_LOOP(names_and_waits_are_what_the_disassembly_says, 0, zebin_fixture_count)
{
	struct code_reader *reader = open_reader(zebin_fixtures[_i], ".bin");
	CLEANUP_FREE char *path = zebin_path(zebin_fixtures[_i], ".disassembly.txt.xz");
	CLEANUP_FREE char *command = NULL;
	ck_assert_int_gt(asprintf(&command, "xz -dc '%s'", path), 0);
	FILE *input = popen(command, "re");
	ck_assert_ptr_nonnull(input);
	char line[4096], name[256] = "";
	size_t with_waits = 0, with_producers = 0;
	while (fgets(line, sizeof line, input)) {
		unsigned long offset;
		char waits[64];
		if (sscanf(line, "=== %255s ===", name) == 1 || sscanf(line, "/* [%lx]", &offset) != 1)
			continue;
		const struct code_function *kernel = find_function(code_reader_object(reader), name);
		ck_assert_ptr_nonnull(kernel);
		struct code_place place;
		ck_assert(code_reader_find(reader, kernel->address + offset, &place));
		read_waits(line, waits, sizeof waits);
		ck_assert_str_eq(place.instruction.waits, waits);
		check_name(line, place.instruction.mnemonic);
		struct iaprof_producer producers[64];
		uint32_t flags;
		size_t count = code_reader_producers(reader, kernel->address + offset, producers, 64, &flags);
		with_waits += *waits != '\0';
		with_producers += count > 0;
		ck_assert_msg(!count || *waits || strncmp(place.instruction.mnemonic, "sync", 4) == 0,
			      "%s waits for nothing", place.instruction.mnemonic);
		for (size_t i = 0; i < count && i < 64; i++) {
			struct code_place other;
			ck_assert(code_reader_find(reader, producers[i].offset, &other));
			ck_assert_ptr_eq(other.location.kernel, kernel);
			ck_assert_ptr_nonnull(other.instruction.mnemonic);
			/* Who is waited for by a token has taken it. */
			char token[16];
			snprintf(token, sizeof token, "$%u", producers[i].token);
			const char *taken = strstr(other.instruction.waits, token);
			if (producers[i].wait != IAPROF_WAIT_PIPELINE)
				ck_assert_msg(taken && !strchr(taken, '.'), "%s does not take %s",
					      other.instruction.waits, token);
		}
	}
	ck_assert_int_eq(pclose(input), 0);
	ck_assert_uint_gt(with_waits, 20);
	ck_assert_uint_gt(with_producers, 20);
	code_reader_free(reader);
}

/* Of an instruction of 16 bytes, also the second half is an address that a faulty sample can have. */
TEST_LOOP(no_instruction_begins_within_another, 0, zebin_fixture_count)
{
	struct code_reader *reader = open_reader(zebin_fixtures[_i], ".bin");
	expected_instruction_array instructions = zebin_instructions(zebin_fixtures[_i]);
	size_t halves = 0;
	for (size_t i = 0; i < instructions.count; i++) {
		const struct code_function *kernel =
			find_function(code_reader_object(reader), instructions.items[i].kernel);
		uint64_t address = kernel->address + instructions.items[i].offset;
		struct code_place place;
		ck_assert(code_reader_find(reader, address, &place));
		ck_assert(!place.is_undecodable);
		for (uint32_t k = 8; k < instructions.items[i].size; k += 8) {
			ck_assert(code_reader_find(reader, address + k, &place));
			ck_assert(place.is_undecodable && !place.instruction.mnemonic);
			halves++;
		}
	}
	ck_assert_uint_gt(halves, 20);
	array_free(&instructions);
	code_reader_free(reader);
}

TEST(without_a_decoder_all_but_instructions_is_known)
{
	struct code_object *object = zebin_open("bmg/transformer", ".bin");
	struct code_reader *reader = code_reader_new(object, NULL);
	size_t count;
	const struct code_function *functions = code_object_functions(object, &count);
	struct code_place place;
	struct code_frame frames[CODE_FRAMES_MAX];
	struct iaprof_producer producer;
	uint32_t flags;
	ck_assert(code_reader_find(reader, functions[0].address, &place));
	ck_assert_ptr_null(place.instruction.mnemonic);
	ck_assert_uint_eq(code_place_frames(&place, functions[0].address, frames), 2);
	ck_assert_uint_eq(code_reader_producers(reader, functions[0].address, &producer, 1, &flags), 0);
	ck_assert_uint_eq(flags, IAPROF_PRODUCERS_INCOMPLETE);
	ck_assert(!code_reader_find(reader, 8, &place));
	ck_assert_uint_eq(code_reader_producers(reader, 8, &producer, 1, &flags), 0);
	code_reader_free(reader);
	code_object_release(object);
}

static void add_entry(const char *name, const char *path)
{
	struct registry_entry entry = { .name = strdup(name), .path = strdup(path) };
	ck_assert(entry.name && entry.path && array_push(&registry.entries, entry));
}

/* Nobody has to name a decoder; other plugins, and what cannot be loaded, are passed over. */
TEST(a_decoder_is_found_among_the_plugins)
{
	const char *path = getenv("INTEL_GT_PLUGIN");
	decoders_release(&decoders);
	decoders = (struct decoders){ .registry = &registry, .services = &services };
	registry_free(&registry);
	registry = (struct registry){ 0 };
	add_entry("broken", "/nonexistent/iaprof-broken.so");
	add_entry("intel-gt", path ? path : "build/plugins/decoder-intel-gt/iaprof-intel-gt.so");
	ck_assert_ptr_null(decoders_find(&decoders, MACHINE_BPF));
	struct decoder *decoder = decoders_find(&decoders, MACHINE_INTEL_GT);
	ck_assert_ptr_nonnull(decoder);
	ck_assert_str_eq(decoder->name, "intel-gt");
	ck_assert_ptr_eq(decoders_find(&decoders, MACHINE_INTEL_GT), decoder);
	struct code_reader *reader = open_reader("ptl/transformer", ".bin");
	size_t count;
	const struct code_function *functions = code_object_functions(code_reader_object(reader), &count);
	struct code_place place;
	ck_assert(code_reader_find(reader, functions[0].address, &place));
	ck_assert_ptr_nonnull(place.instruction.mnemonic);
	code_reader_free(reader);
}

TEST(a_machine_that_nobody_knows_has_no_decoder)
{
	for (uint32_t machine = 1000; machine < 1200; machine++)
		ck_assert_ptr_null(decoders_find(&decoders, machine));
	ck_assert_ptr_null(decoders_find(&decoders, 0));
	ck_assert_ptr_nonnull(decoders_find(&decoders, MACHINE_INTEL_GT));
}

int main(void)
{
	return run_all_tests(300, set_up, tear_down);
}
