/* SPDX-License-Identifier: Apache-2.0 */
/* See kallsyms.h. */
#include "symbolizer/kallsyms.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/regular_file.h"
#include "text/text_span.h"

/* A Linux kernel with all options has about 400,000 symbols, about 20 MiB. */
#define FILE_SIZE_MAX ((size_t)256 << 20)
#define PAGE_SIZE_MINIMUM 4096u

struct line {
	uint64_t address;
	const char *name;
	uint32_t module; /* position in modules */
	char type;       /* as printed by nm */
};
typedef ARRAY(struct line) line_array;

/*
 * Returns the number of a module, such as "[nf_tables]"; searches backwards because lines of one module are adjacent.
 */
static uint32_t module_number(struct kallsyms *kallsyms, const char *name, size_t length)
{
	struct kallsyms_module module = { 0 };
	memcpy(module.name, name, length < sizeof module.name ? length : sizeof module.name - 1);
	for (size_t i = kallsyms->modules.count; i-- > 0;)
		if (strcmp(kallsyms->modules.items[i].name, module.name) == 0)
			return (uint32_t)i;
	return array_push(&kallsyms->modules, module) ? (uint32_t)(kallsyms->modules.count - 1) : RANGE_NONE;
}

/* Parses "ffffffff81000000 T _text" or "ffffffffc0a01000 t nft_init\t[nf_tables]". Returns false for other lines. */
static bool parse_line(struct kallsyms *kallsyms, char *text, char *end, struct line *line)
{
	const char *space = memchr(text, ' ', (size_t)(end - text));
	*line = (struct line){ 0 };
	if (!space || !span_hexadecimal((struct text_span){ text, (size_t)(space - text) }, &line->address) ||
	    end - space < 4 || space[2] != ' ')
		return false;
	line->type = space[1];
	line->name = space + 3;
	*end = '\0';
	char *separator = memchr(line->name, '\t', (size_t)(end - line->name));
	if (separator) {
		*separator = '\0';
		line->module = module_number(kallsyms, separator + 1, (size_t)(end - separator - 1));
	}
	return line->module != RANGE_NONE && *line->name;
}

static int parse_text(struct kallsyms *kallsyms, char *text, size_t size, line_array *lines, const char *path,
		      struct error *error)
{
	if (module_number(kallsyms, "[kernel]", strlen("[kernel]")) != 0)
		return error_set(error, ENOMEM, "read %s", path);
	bool has_address = false;
	char *limit = text + size;
	size_t number = 1;
	for (char *start = text, *end; start < limit; start = end + 1, number++) {
		end = memchr(start, '\n', (size_t)(limit - start));
		if (!end)
			end = limit;
		struct line line;
		if (!parse_line(kallsyms, start, end, &line))
			return error_set(error, EINVAL, "%s:%zu: not a line of kallsyms", path, number);
		has_address |= line.address != 0;
		if (!array_push(lines, line))
			return error_set(error, ENOMEM, "read %s", path);
	}
	if (!lines->count)
		return error_set(error, EINVAL, "%s is empty: functions of the Linux kernel have no names", path);
	if (!has_address)
		return error_set(error, EPERM,
				 "%s hides addresses: functions of the Linux kernel have no names (run as root with "
				 "kernel.kptr_restrict=0 or 1)",
				 path);
	return 0;
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name); /* in the file's order */
}

static void sort_lines(line_array *lines)
{
	for (size_t i = 1; i < lines->count; i++)
		if (compare_lines(&lines->items[i - 1], &lines->items[i]) > 0) {
			qsort(lines->items, lines->count, sizeof *lines->items, compare_lines);
			return;
		}
}

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static enum symbol_rank line_rank(char type)
{
	if (type == 'w' || type == 'W')
		return SYMBOL_WEAK;
	return isupper((unsigned char)type) ? SYMBOL_GLOBAL : SYMBOL_LOCAL;
}

/*
 * A function ends where the next symbol of any type begins. The last one of a module or of the Linux kernel ends with
 * its page, as in perf: what follows is unknown, and a wrong name is worse than none.
 */
static uint64_t line_end(const line_array *lines, size_t position)
{
	const struct line *line = &lines->items[position];
	uint64_t page_end = (line->address | (PAGE_SIZE_MINIMUM - 1)) + 1;
	for (size_t i = position + 1; i < lines->count; i++) {
		const struct line *next = &lines->items[i];
		if (next->address == line->address)
			continue;
		return next->module == line->module || next->address < page_end ? next->address : page_end;
	}
	return page_end ? page_end : UINT64_MAX;
}

/* Adds one range for each run of functions of one module. */
static bool add_to_module(struct kallsyms *kallsyms, const struct line *line, uint64_t end)
{
	struct range_table *ranges = &kallsyms->module_ranges;
	struct range *last = ranges->count ? &ranges->items[ranges->count - 1] : NULL;
	if (last && last->value == line->module) {
		last->end = end;
		return true;
	}
	return range_table_add(ranges, line->address, end, line->module);
}

static int build_table(struct kallsyms *kallsyms, const line_array *lines)
{
	struct symbol_builder builder = { 0 };
	uint64_t end = 0;
	for (size_t i = 0; i < lines->count; i++) {
		const struct line *line = &lines->items[i];
		if (!is_text(line->type) || !line->address)
			continue;
		if (line->address >= end)
			end = line_end(lines, i);
		if (!symbol_builder_add(&builder, line->name, line->address, end - line->address, end,
					line_rank(line->type)) ||
		    !add_to_module(kallsyms, line, end)) {
			symbol_builder_free(&builder);
			return -ENOMEM;
		}
	}
	range_table_link(&kallsyms->module_ranges);
	return symbol_builder_finish(&builder, &kallsyms->symbols) ? 0 : -ENOMEM;
}

int kallsyms_read(struct kallsyms *kallsyms, const char *path, struct error *error)
{
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return error_set(error, errno, "open %s: %s", path, strerror(errno));
	size_t size;
	CLEANUP_FREE char *text = file_read_all(descriptor, FILE_SIZE_MAX, &size);
	if (!text)
		return error_set(error, errno, "read %s: %s", path, strerror(errno));
	line_array lines = { 0 };
	int code = parse_text(kallsyms, text, size, &lines, path, error);
	if (!code) {
		sort_lines(&lines);
		code = build_table(kallsyms, &lines);
		if (code)
			error_set(error, code, "read %s: %s", path, strerror(-code));
	}
	array_free(&lines);
	if (code)
		kallsyms_free(kallsyms);
	return code;
}

void kallsyms_free(struct kallsyms *kallsyms)
{
	symbol_table_free(&kallsyms->symbols);
	range_table_free(&kallsyms->module_ranges);
	array_free(&kallsyms->modules);
}

const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address, uint64_t *start, const char **module)
{
	const char *name = symbol_table_find(&kallsyms->symbols, address, start);
	if (!name)
		return NULL;
	const struct range *range = range_table_find(&kallsyms->module_ranges, *start);
	*module = kallsyms->modules.items[range ? range->value : 0].name;
	return name;
}
