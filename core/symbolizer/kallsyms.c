/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the Linux kernel: see kallsyms.h. */
#include "symbolizer/kallsyms.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"

/* A kernel with every option has some 400,000 symbols, about 20 MiB. */
#define FILE_SIZE_MAX ((size_t)256 << 20)
#define PAGE_SIZE_MINIMUM 4096u

struct line {
	uint64_t address;
	const char *name;
	uint32_t module; /* position in modules */
	char type;       /* as nm prints it */
};
typedef ARRAY(struct line) line_array;
typedef ARRAY(char) text_array;

/* The whole file, with a NUL after it. Its size is not known before: /proc says 0. */
static int read_text(const char *path, text_array *text, struct error *error)
{
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return error_set(error, errno, "open %s: %s", path, strerror(errno));
	for (;;) {
		if (!array_reserve(text, text->count + ((size_t)1 << 20)) || text->count > FILE_SIZE_MAX)
			return error_set(error, ENOMEM, "read %s: too large", path);
		ssize_t length = read(descriptor, text->items + text->count, text->capacity - text->count - 1);
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return error_set(error, errno, "read %s: %s", path, strerror(errno));
		if (length == 0)
			break;
		text->count += (size_t)length;
	}
	text->items[text->count] = '\0';
	return 0;
}

static int hexadecimal_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The number of a module's name, "[nf_tables]"; the newest one is nearly always the one that is asked for. */
static uint32_t module_number(struct kallsyms *kallsyms, const char *name, size_t length)
{
	struct kallsyms_module module = { 0 };
	memcpy(module.name, name, length < sizeof module.name ? length : sizeof module.name - 1);
	for (size_t i = kallsyms->modules.count; i-- > 0;)
		if (strcmp(kallsyms->modules.items[i].name, module.name) == 0)
			return (uint32_t)i;
	return array_push(&kallsyms->modules, module) ? (uint32_t)(kallsyms->modules.count - 1) : RANGE_NONE;
}

/* "ffffffff81000000 T _text" or "ffffffffc0a01000 t nft_init\t[nf_tables]"; false when it is not such a line. */
static bool parse_line(struct kallsyms *kallsyms, char *text, char *end, struct line *line)
{
	char *next = text;
	*line = (struct line){ 0 };
	for (int digit; next < text + 16 && (digit = hexadecimal_digit(*next)) >= 0; next++)
		line->address = line->address << 4 | (unsigned)digit;
	if (next == text || end - next < 4 || next[0] != ' ' || next[2] != ' ')
		return false;
	line->type = next[1];
	line->name = next + 3;
	*end = '\0';
	char *separator = memchr(line->name, '\t', (size_t)(end - line->name));
	if (separator) {
		*separator = '\0';
		line->module = module_number(kallsyms, separator + 1, (size_t)(end - separator - 1));
	}
	return line->module != RANGE_NONE && *line->name;
}

static int parse_text(struct kallsyms *kallsyms, text_array *text, line_array *lines, const char *path,
		      struct error *error)
{
	if (module_number(kallsyms, "[kernel]", strlen("[kernel]")) != 0)
		return error_set(error, ENOMEM, "read %s", path);
	bool has_address = false;
	char *limit = text->items + text->count;
	size_t number = 1;
	for (char *start = text->items, *end; start < limit; start = end + 1, number++) {
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
				 "%s shows no addresses: functions of the Linux kernel have no names; run as root with "
				 "kernel.kptr_restrict at 0 or 1",
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
 * A function ends where the next symbol of any type begins. The last one of a module or of the kernel gets the rest of
 * its page, as in perf: what comes after is not known, and a name that is wrong is worse than none.
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

/* One range for each run of functions of one module. */
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
	text_array text = { 0 };
	line_array lines = { 0 };
	int code = read_text(path, &text, error);
	if (!code)
		code = parse_text(kallsyms, &text, &lines, path, error);
	if (!code) {
		sort_lines(&lines);
		code = build_table(kallsyms, &lines);
		if (code)
			error_set(error, code, "read %s: %s", path, strerror(-code));
	}
	array_free(&text);
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
