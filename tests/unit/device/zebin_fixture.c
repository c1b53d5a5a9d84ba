/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of code objects share: see zebin_fixture.h. */
#include "zebin_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "run/decoders.h"

const char *const zebin_fixtures[] = { "bmg/transformer", "bmg/systolic", "lnl/transformer", "lnl/systolic",
				       "ptl/transformer", "ptl/systolic", "pvc/transformer", "pvc/systolic" };
const int zebin_fixture_count = sizeof zebin_fixtures / sizeof *zebin_fixtures;

char *zebin_path(const char *fixture, const char *suffix)
{
	const char *folder = getenv("ZEBIN_FOLDER");
	char *path = NULL;
	ck_assert_int_gt(asprintf(&path, "%s/%s%s", folder ? folder : "tests/data/zebin", fixture, suffix), 0);
	return path;
}

char *zebin_bytes(const char *fixture, const char *suffix, size_t *size)
{
	CLEANUP_FREE char *path = zebin_path(fixture, suffix);
	CLEANUP_FCLOSE FILE *file = fopen(path, "rbe");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
	*size = (size_t)ftell(file);
	rewind(file);
	char *bytes = malloc(*size);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
	return bytes;
}

struct decoder_finder *zebin_decoders(void)
{
	static struct registry registry;
	static struct instance_services services;
	static struct instance_configuration wanted;
	static struct decoders decoders;
	struct error error = { 0 };
	if (decoders.items.count)
		return decoders_finder(&decoders);
	wanted.plugin = getenv("INTEL_GT_PLUGIN");
	ck_assert_ptr_nonnull(wanted.plugin);
	decoders = (struct decoders){ .registry = &registry, .services = &services };
	ck_assert_msg(decoders_add(&decoders, &wanted, &error) == 0, "%s", error.text);
	return decoders_finder(&decoders);
}

struct decoder *zebin_decoder(void)
{
	struct decoder_finder *finder = zebin_decoders();
	return finder->find(finder, 205);
}

struct code_object *zebin_open(const char *fixture, const char *suffix)
{
	CLEANUP_FREE char *path = zebin_path(fixture, suffix);
	struct code_object *object;
	ck_assert_int_eq(code_object_open_file(&object, path, 205, zebin_decoder()), 0);
	return object;
}

void zebin_remote_open(struct zebin_remote *remote, const char *bytes, size_t size, struct decoder_finder *decoders)
{
	*remote = (struct zebin_remote){ .context.budget = &remote->budget };
	budget_init(&remote->budget);
	remote->context.workers = code_workers_new(decoders, NULL);
	ck_assert_ptr_nonnull(remote->context.workers);
	struct remote_code_request request = { .descriptor = memfd_create("zebin", MFD_CLOEXEC),
					       .name = "zebin",
					       .machine = 205,
					       .identity = code_identity_make(bytes, size) };
	ck_assert_int_eq(write(request.descriptor, bytes, size), (ssize_t)size);
	ck_assert_int_eq(remote_code_load(&remote->code, &remote->context, &request), 0);
}

void zebin_remote_close(struct zebin_remote *remote)
{
	remote_code_free(remote->code);
	code_workers_free(remote->context.workers);
	budget_free(&remote->budget);
}

/* Cuts the next field off, which ends at a tab or the end. */
static char *next_field(char **rest)
{
	char *field = strsep(rest, "\t");
	return field;
}

static void parse_frame(struct expected_instruction *instruction, char *field)
{
	/* Functions can have spaces in their names, files here have none. */
	char *line = strrchr(field, ' ');
	ck_assert_ptr_nonnull(line);
	*line++ = '\0';
	char *file = strrchr(field, ' ');
	ck_assert_ptr_nonnull(file);
	*file++ = '\0';
	ck_assert_uint_lt(instruction->frame_count, EXPECTED_FRAMES_MAX);
	size_t i = instruction->frame_count++;
	snprintf(instruction->frames[i].function, sizeof instruction->frames[i].function, "%s", field);
	snprintf(instruction->frames[i].file, sizeof instruction->frames[i].file, "%s", file);
	instruction->frames[i].line = (uint32_t)strtoul(line, NULL, 10);
}

/*
 * Adds the kernel as the outermost frame of code in a function that it calls, for which the judges have no frame:
 * without a line, because the call is not known. entry: the kernel's first instruction.
 */
static void add_kernel(struct expected_instruction *instruction, const struct expected_instruction *entry)
{
	const char *outermost = instruction->frames[instruction->frame_count - 1].function;
	size_t of_kernel = entry->frame_count - 1;
	if (strcmp(outermost, entry->frames[of_kernel].function) == 0)
		return;
	ck_assert_uint_lt(instruction->frame_count, EXPECTED_FRAMES_MAX);
	instruction->frames[instruction->frame_count] = entry->frames[of_kernel];
	instruction->frames[instruction->frame_count++].line = 0;
}

expected_instruction_array zebin_instructions(const char *fixture)
{
	CLEANUP_FREE char *path = zebin_path(fixture, ".instructions.tsv.xz");
	CLEANUP_FREE char *command = NULL;
	ck_assert_int_gt(asprintf(&command, "xz -dc '%s'", path), 0);
	FILE *input = popen(command, "re");
	ck_assert_ptr_nonnull(input);
	expected_instruction_array all = { 0 };
	size_t entry = 0;
	char line[4096];
	while (fgets(line, sizeof line, input)) {
		if (*line == '#')
			continue;
		line[strcspn(line, "\n")] = '\0';
		char *rest = line;
		struct expected_instruction instruction = { 0 };
		instruction.address = strtoull(next_field(&rest), NULL, 16);
		snprintf(instruction.kernel, sizeof instruction.kernel, "%s", next_field(&rest));
		instruction.offset = strtoull(next_field(&rest), NULL, 16);
		instruction.size = (uint32_t)strtoul(next_field(&rest), NULL, 10);
		snprintf(instruction.mnemonic, sizeof instruction.mnemonic, "%s", next_field(&rest));
		while (rest)
			parse_frame(&instruction, next_field(&rest));
		ck_assert_uint_gt(instruction.frame_count, 0);
		entry = instruction.offset ? entry : all.count;
		ck_assert(array_push(&all, instruction));
		add_kernel(&all.items[all.count - 1], &all.items[entry]);
	}
	ck_assert_int_eq(pclose(input), 0);
	return all;
}

/* Parses each line of readelf's output that parse() takes. */
static expected_place_array read_places(const char *options, const char *path,
					bool (*parse)(const char *line, struct expected_place *place))
{
	CLEANUP_FREE char *command = NULL;
	ck_assert_int_gt(asprintf(&command, "readelf -W %s '%s'", options, path), 0);
	FILE *input = popen(command, "re");
	ck_assert_ptr_nonnull(input);
	expected_place_array places = { 0 };
	char line[4096];
	while (fgets(line, sizeof line, input)) {
		struct expected_place place = { 0 };
		if (parse(line, &place))
			ck_assert(array_push(&places, place));
	}
	ck_assert_int_eq(pclose(input), 0);
	return places;
}

/* "[ 1] .text.matmul_tile PROGBITS        ffff8000ffbe0000 000a40 000780 00  AX  0   0  8" */
static bool parse_section(const char *line, struct expected_place *place)
{
	char flags[16];
	const char *bracket = strchr(line, ']');
	return bracket &&
	       sscanf(bracket, "] %127s PROGBITS %" SCNx64 " %*x %" SCNx64 " %*x %15s", place->name, &place->address,
		      &place->size, flags) == 4 &&
	       strchr(flags, 'X');
}

/* "2: ffff8000ffbe0000  1744 FUNC    LOCAL  DEFAULT    1 matmul_tile" */
static bool parse_function(const char *line, struct expected_place *place)
{
	return sscanf(line, " %*u: %" SCNx64 " %" SCNu64 " FUNC %*s %*s %*u %127s", &place->address, &place->size,
		      place->name) == 3;
}

expected_place_array zebin_sections(const char *path)
{
	return read_places("--sections", path, parse_section);
}

expected_place_array zebin_functions(const char *path)
{
	return read_places("--symbols", path, parse_function);
}

Elf64_Shdr *zebin_section(char *bytes, const char *name)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(bytes + header->e_shoff);
	const char *names = bytes + sections[header->e_shstrndx].sh_offset;
	for (size_t i = 0; i < header->e_shnum; i++)
		if (strcmp(names + sections[i].sh_name, name) == 0)
			return &sections[i];
	ck_abort_msg("no section %s", name);
}

Elf64_Sym *zebin_symbol(char *bytes, const char *name)
{
	const Elf64_Shdr *table = zebin_section(bytes, ".symtab");
	const char *names = bytes + zebin_section(bytes, ".strtab")->sh_offset;
	Elf64_Sym *symbols = (Elf64_Sym *)(void *)(bytes + table->sh_offset);
	for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && strcmp(names + symbols[i].st_name, name) == 0)
			return &symbols[i];
	ck_abort_msg("no function %s", name);
}

const struct code_function *find_function(const struct code_object *object, const char *name)
{
	size_t count;
	const struct code_function *functions = code_object_functions(object, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(functions[i].name, name) == 0)
			return &functions[i];
	return NULL;
}

uint64_t zebin_own_address(const struct code_object *object, const expected_place_array *loaded, uint64_t address)
{
	size_t count;
	const struct code_section *sections = code_object_sections(object, &count);
	for (size_t i = 0; i < loaded->count; i++) {
		if (address < loaded->items[i].address || address - loaded->items[i].address >= loaded->items[i].size)
			continue;
		for (size_t j = 0; j < count; j++)
			if (strcmp(sections[j].name, loaded->items[i].name) == 0)
				return sections[j].address + (address - loaded->items[i].address);
	}
	ck_abort_msg("0x%" PRIx64 " is in no section", address);
}

void zebin_check_frames(const struct expected_instruction *wanted, const struct debug_frame *frames, size_t count)
{
	static const char prefix[] = "typeinfo name for ";
	ck_assert_uint_eq(count, wanted->frame_count);
	for (size_t i = 0; i < count; i++) {
		const struct debug_frame *frame = &frames[count - 1 - i];
		const char *function = wanted->frames[i].function;
		/* A name as the judges have it, in the form in which it is shown. */
		if (strncmp(function, prefix, strlen(prefix)) == 0)
			function += strlen(prefix);
		ck_assert_str_eq(frame->name, function);
		ck_assert_uint_eq(frame->line, wanted->frames[i].line);
		ck_assert_ptr_nonnull(frame->file);
		ck_assert_str_eq(frame->file, wanted->frames[i].file);
	}
}

void zebin_check_location(const struct expected_instruction *wanted, const struct code_location *location)
{
	ck_assert_ptr_nonnull(location->kernel);
	ck_assert(location->kernel->is_kernel);
	ck_assert_str_eq(location->kernel->name, wanted->kernel);
	ck_assert_uint_eq(location->offset, wanted->offset);
}
