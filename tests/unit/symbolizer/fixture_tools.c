/* SPDX-License-Identifier: Apache-2.0 */
/* What the symbolizer's tests share: see fixture_tools.h. */
#include "fixture_tools.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "base/cleanup.h"

__attribute__((format(printf, 1, 0))) static FILE *command_open(const char *format, va_list arguments)
{
	CLEANUP_FREE char *command = NULL;
	ck_assert_int_gt(vasprintf(&command, format, arguments), 0);
	FILE *output = popen(command, "re");
	ck_assert_ptr_nonnull(output);
	return output;
}

__attribute__((format(printf, 1, 2))) static FILE *command_open_with(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	FILE *output = command_open(format, arguments);
	va_end(arguments);
	return output;
}

char *command_line_output(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	FILE *output = command_open(format, arguments);
	va_end(arguments);
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length = getline(&line, &capacity, output);
	ck_assert_int_gt(length, 0);
	line[strcspn(line, "\n")] = '\0';
	while (fgetc(output) != EOF)
		continue;
	ck_assert_int_eq(pclose(output), 0);
	return line;
}

void command_run(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	FILE *output = command_open(format, arguments);
	va_end(arguments);
	while (fgetc(output) != EOF)
		continue;
	ck_assert_int_eq(pclose(output), 0);
}

_Noreturn void skip_all(const char *reason)
{
	printf("1..0 # SKIP %s\n", reason);
	exit(EXIT_SUCCESS);
}

char *fixture_path(const char *name)
{
	const char *folder = getenv("FIXTURE_FOLDER");
	char *path = NULL;
	ck_assert_int_gt(asprintf(&path, "%s/%s", folder ? folder : ".", name), 0);
	return path;
}

char *fixture_folder(void)
{
	const char *parent = getenv("TMPDIR");
	char *folder = NULL;
	ck_assert_int_gt(asprintf(&folder, "%s/test_symbolizer_XXXXXX", parent ? parent : "/tmp"), 0);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	return folder;
}

struct process fixture_process(void)
{
	return (struct process){ .pid = 1, .serial = 1, .begin = 1, .end = 2, .name = "fixture", .root = -1 };
}

struct mapping fixture_mapping(const char *path, uint32_t serial)
{
	struct stat status;
	ck_assert_int_eq(stat(path, &status), 0);
	return (struct mapping){ .start = FIXTURE_START,
				 .end = FIXTURE_START + (uint64_t)status.st_size,
				 .inode = status.st_ino,
				 .device_major = major(status.st_dev),
				 .device_minor = minor(status.st_dev),
				 .serial = serial,
				 .path = path };
}

void fixture_mapping_use_build_id(struct mapping *mapping, const char *path)
{
	CLEANUP_FREE char *text = command_line_output("readelf -n '%s' | sed -n 's/.*Build ID: //p'", path);
	mapping->inode = mapping->device_major = mapping->device_minor = 0;
	mapping->build_id_size = (uint32_t)strlen(text) / 2;
	ck_assert_uint_le(mapping->build_id_size, sizeof mapping->build_id);
	for (uint32_t i = 0; i < mapping->build_id_size; i++)
		ck_assert_int_eq(sscanf(text + (size_t)2 * i, "%2hhx", &mapping->build_id[i]), 1);
}

char *fixture_nameless(const char *path, uint64_t address)
{
	char *name;
	ck_assert_int_gt(asprintf(&name, "[%s+0x%" PRIx64 "]", strrchr(path, '/') + 1, address), 0);
	return name;
}

uint64_t fixture_address(const char *path, uint64_t elf_address)
{
	FILE *output = command_open_with("readelf -lW '%s'", path);
	char line[512];
	uint64_t result = 0, offset, address, size;
	while (fgets(line, sizeof line, output))
		if (sscanf(line, " LOAD %" SCNx64 " %" SCNx64 " %*s %" SCNx64, &offset, &address, &size) == 3 &&
		    elf_address >= address && elf_address - address < size)
			result = FIXTURE_START + offset + (elf_address - address);
	pclose(output);
	ck_assert_uint_ne(result, 0);
	return result;
}

fixture_symbol_array fixture_symbols(const char *options, const char *path)
{
	fixture_symbol_array symbols = { 0 };
	FILE *output = command_open_with("nm %s '%s'", options, path);
	char line[4096];
	while (fgets(line, sizeof line, output)) {
		struct fixture_symbol symbol = { 0 };
		char rest[2048];
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 " %2047[^\n]", &symbol.address, rest) != 2)
			continue;
		/* "SIZE TYPE NAME" or "TYPE NAME" */
		int used = 0;
		if (sscanf(rest, "%" SCNx64 " %c %n", &symbol.size, &symbol.type, &used) != 2 || used < 18) {
			symbol.size = 0;
			ck_assert_int_eq(sscanf(rest, "%c %n", &symbol.type, &used), 1);
		}
		symbol.name = strdup(rest + used);
		ck_assert(array_push(&symbols, symbol));
	}
	ck_assert_int_eq(pclose(output), 0);
	return symbols;
}

void fixture_symbols_free(fixture_symbol_array *symbols)
{
	for (size_t i = 0; i < symbols->count; i++)
		free(symbols->items[i].name);
	array_free(symbols);
}
