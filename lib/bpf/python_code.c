/* SPDX-License-Identifier: Apache-2.0 */
/* See python_code.h. */
#include "bpf/python_code.h"

/* Objects/lnotab_notes.txt of CPython 3.8 to 3.10, Objects/locations.md of 3.11. */

bool python_code_is_valid(const struct python_code *code, size_t size)
{
	size_t head = offsetof(struct python_code, lines);
	return size >= head && code->line_bytes <= PYTHON_LINES_BYTES && size - head >= code->line_bytes &&
	       code->name.bytes <= PYTHON_NAME_BYTES && code->file.bytes <= PYTHON_FILE_BYTES;
}

static void append_character(struct text *to, uint32_t character)
{
	char bytes[4];
	size_t size = 1;
	if (character < 0x80) {
		bytes[0] = (char)character;
	} else if (character < 0x800) {
		bytes[0] = (char)(0xc0 | character >> 6);
		size = 2;
	} else if (character < 0x10000) {
		bytes[0] = (char)(0xe0 | character >> 12);
		size = 3;
	} else {
		bytes[0] = (char)(0xf0 | (character >> 18 & 7));
		size = 4;
	}
	for (size_t i = 1; i < size; i++)
		bytes[i] = (char)(0x80 | (character >> (6 * (size - 1 - i)) & 0x3f));
	text_append(to, bytes, size);
}

/* Surrogates represent bytes of a file name that are not UTF-8. */
static bool is_character(uint32_t character)
{
	return character && character < 0x110000 && (character < 0xd800 || character > 0xdfff);
}

void python_text_append(struct text *to, const struct python_text *text, const uint8_t *bytes)
{
	uint32_t width = text->character;
	if (width != 1 && width != 2 && width != 4)
		return;
	uint32_t count = text->bytes / width;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t character = 0;
		for (uint32_t byte = 0; byte < width; byte++)
			character |= (uint32_t)bytes[i * width + byte] << 8 * byte;
		append_character(to, is_character(character) ? character : '?');
	}
	if (text->length > count)
		text_append_string(to, "...");
}

/* A line or none, as uint32_t. */
static uint32_t line_of(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs of bytes: how far the next line begins behind the last one, and by how much its number differs. */
static uint32_t find_in_notab(const uint8_t *table, size_t size, int64_t line, int64_t position)
{
	int64_t begin = 0;
	for (size_t i = 0; i + 1 < size; i += 2) {
		begin += table[i];
		if (begin > position)
			break;
		line += (int8_t)table[i + 1];
	}
	return line_of(line);
}

#define NO_LINE INT8_MIN

/* Pairs of bytes: the size of a range, and by how much its line differs from the last one that had a line. */
static uint32_t find_in_table(const uint8_t *table, size_t size, int64_t line, int64_t position)
{
	int64_t end = 0;
	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t change = (int8_t)table[i + 1];
		end += table[i];
		line += change == NO_LINE ? 0 : change;
		if (position < end)
			return change == NO_LINE ? 0 : line_of(line);
	}
	return 0;
}

struct location_reader {
	const uint8_t *next, *end;
};

/* A number in pieces of 6 bits, the lowest first; each but the last has bit 6. */
static uint64_t read_number(struct location_reader *reader)
{
	uint64_t number = 0;
	for (uint32_t shift = 0; reader->next < reader->end; shift += 6) {
		uint8_t byte = *reader->next++;
		if (shift < 60)
			number |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return number;
}

/* The lowest bit is the sign. */
static int64_t read_difference(struct location_reader *reader)
{
	uint64_t number = read_number(reader);
	int64_t magnitude = (int64_t)(number >> 1 & INT32_MAX);
	return number & 1 ? -magnitude : magnitude;
}

static void skip(struct location_reader *reader, size_t bytes)
{
	size_t left = (size_t)(reader->end - reader->next);
	reader->next += bytes < left ? bytes : left;
}

enum { LOCATION_ONE_LINE = 10, LOCATION_NO_COLUMNS = 13, LOCATION_LONG = 14, LOCATION_NONE = 15 };

/* Reads the rest of an entry. Returns by how much its line differs from the last one. */
static int64_t read_location(struct location_reader *reader, uint32_t kind)
{
	int64_t difference = 0;
	if (kind < LOCATION_ONE_LINE) {
		skip(reader, 1);
	} else if (kind < LOCATION_NO_COLUMNS) {
		skip(reader, 2);
		difference = kind - LOCATION_ONE_LINE;
	} else if (kind != LOCATION_NONE) {
		difference = read_difference(reader);
		for (uint32_t i = 0; kind == LOCATION_LONG && i < 3; i++)
			read_number(reader);
	}
	return difference;
}

static uint32_t find_in_locations(const uint8_t *table, size_t size, int64_t line, int64_t position)
{
	struct location_reader reader = { table, table + size };
	int64_t end = 0;
	while (reader.next < reader.end) {
		uint8_t first = *reader.next++;
		uint32_t kind = first >> 3 & 15;
		end += 2 * ((first & 7) + 1);
		line += read_location(&reader, kind);
		if (position < end)
			return kind == LOCATION_NONE ? 0 : line_of(line);
	}
	return 0;
}

uint32_t python_line_find(uint32_t format, const uint8_t *table, size_t size, int32_t first_line, int32_t position)
{
	/* A frame that has not begun. */
	if (position < 0)
		return line_of(first_line);
	switch (format) {
	case IAPROF_PYTHON_LINES_NOTAB:
		return find_in_notab(table, size, first_line, position);
	case IAPROF_PYTHON_LINES_TABLE:
		return find_in_table(table, size, first_line, position);
	case IAPROF_PYTHON_LINES_LOCATIONS:
		return find_in_locations(table, size, first_line, position);
	default:
		return 0;
	}
}
