/* SPDX-License-Identifier: Apache-2.0 */
/* See file_kind.h. */
#include "file_kind.h"

#include <stdlib.h>
#include <strings.h>
#include <zlib.h>

#include "text_format.h"

/* Lines of a text without a distinctive beginning that are searched for source code. */
#define CODE_LINES_MAX 40

struct signature {
	const char *bytes;
	size_t size;
	const char *name, *command;
};

#define SIGNATURE(bytes, ...)                                                                                          \
	{                                                                                                              \
		bytes, sizeof bytes - 1, __VA_ARGS__                                                                   \
	}

static const struct signature signatures[] = {
	SIGNATURE("PERFILE2", "a recording of perf", "perf script -i"),
	SIGNATURE("2ELIFREP", "a recording of perf on a machine of the other byte order", "perf script -i"),
	SIGNATURE("SQLite format 3", "an SQLite database, such as an export of Nsight Systems or a result of VTune",
		  NULL),
	SIGNATURE("\x7f"
		  "ELF",
		  "an ELF program or library", NULL),
	SIGNATURE("\x89"
		  "PNG\r\n",
		  "a PNG image", NULL),
	SIGNATURE("\xff\xd8\xff", "a JPEG image", NULL),
	SIGNATURE("GIF8", "a GIF image", NULL),
	SIGNATURE("RIFF", "a WebP image or other RIFF file", NULL),
	SIGNATURE("%PDF-", "a PDF document", NULL),
	SIGNATURE("PK\3\4", "a ZIP archive", NULL),
	SIGNATURE("\xfd"
		  "7zXZ",
		  "an xz file", "xz -dc"),
	SIGNATURE("\x28\xb5\x2f\xfd", "a zstd file", "zstd -dc"),
	SIGNATURE("BZh", "a bzip2 file", "bzip2 -dc"),
	SIGNATURE("FLR\0", "a recording of Java Flight Recorder", NULL),
	SIGNATURE("\xff\xfe", "UTF-16 text", "iconv -f UTF-16 -t UTF-8"),
	SIGNATURE("\xfe\xff", "UTF-16 text", "iconv -f UTF-16 -t UTF-8"),
};

static const struct {
	const char *ending, *name;
} endings[] = {
	{ ".nsys-rep", "a report of Nsight Systems" },
	{ ".qdrep", "a report of Nsight Systems" },
	{ ".ncu-rep", "a report of Nsight Compute" },
	{ ".vtune", "a result of VTune" },
	{ ".pftrace", "a Perfetto trace" },
	{ ".perfetto-trace", "a Perfetto trace" },
};

static bool begins_with(struct text_span text, const char *beginning)
{
	size_t length = strlen(beginning);
	return text.length >= length && strncasecmp(text.text, beginning, length) == 0;
}

static bool contains(struct text_span text, const char *part)
{
	return text.length && memmem(text.text, text.length, part, strlen(part));
}

static struct text_span skip_space(struct text_span text)
{
	size_t i = text.length >= 3 && memcmp(text.text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* byte order mark */
	while (i < text.length && (is_blank(text.text[i]) || text.text[i] == '\n' || text.text[i] == '\r'))
		i++;
	return span_part(text, i, text.length);
}

/* pprof: the first field is a sample type, which has the string indices of its type and unit. */
static bool is_pprof(struct text_span begin)
{
	return begin.length > 6 && begin.text[0] == 0x0a && begin.text[1] >= 2 && begin.text[1] <= 12 &&
	       begin.text[2] == 0x08 && (begin.text[4] == 0x10 || begin.text[1] == 2);
}

/* A '[' may also begin a stack: "[lost];..." */
static bool is_json(struct text_span text)
{
	struct text_span inside = text.length ? skip_space(span_part(text, 1, text.length)) : text;
	return text.length && inside.length &&
	       (text.text[0] == '{' ? strchr("\"}", inside.text[0]) != NULL
				    : text.text[0] == '[' && strchr("{[\"", inside.text[0]) != NULL);
}

static const char *json_name(struct text_span text)
{
	if (contains(text, "\"traceEvents\""))
		return "a trace in Chrome's JSON format";
	if (contains(text, "speedscope.app"))
		return "a profile of speedscope";
	if (contains(text, "\"preprocessedProfileVersion\""))
		return "a profile of Firefox Profiler";
	return "JSON";
}

/* "#!/bin/sh", "#!/usr/bin/env python3" */
static const char *script_name(struct text_span line)
{
	static const char *const shells[] = { "sh", "bash", "dash", "ksh", "zsh" };
	struct text_span rest = span_part(line, 2, line.length), path = span_take_word(&rest), word = path;
	size_t slash = 0;
	for (size_t i = 0; i < path.length; i++)
		slash = path.text[i] == '/' ? i + 1 : slash;
	path = span_part(path, slash, path.length);
	if (span_is(path, "env"))
		path = word = span_take_word(&rest);
	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
		if (span_is(path, shells[i]))
			return "a shell script";
	return span_begins(path, "python") ? "a Python program" : "a script";
}

/* Source code without a distinctive beginning. */
static const char *code_name(struct text_span text)
{
	struct text_span line;
	for (int i = 0; i < CODE_LINES_MAX && span_take_field(&text, '\n', &line); i++) {
		struct text_span trimmed = span_trim(line);
		if (span_begins(line, "#include ") || span_begins(line, "#pragma "))
			return "C or C++ source code";
		if ((span_begins(line, "def ") || span_begins(line, "class ")) && memchr(line.text, ':', line.length))
			return "a Python program";
		if (span_begins(line, "import ") || (span_begins(line, "from ") && contains(line, " import ")))
			return trimmed.text[trimmed.length - 1] == ';' ? "source code" : "a Python program";
		if (span_begins(line, "diff --git ") || span_begins(line, "--- a/"))
			return "a patch";
	}
	return NULL;
}

static bool is_binary(struct text_span begin)
{
	size_t control = 0;
	for (size_t i = 0; i < begin.length; i++) {
		unsigned char byte = (unsigned char)begin.text[i];
		if (!byte)
			return true;
		control += byte < 0x20 && !strchr("\t\n\r\f\033", byte);
	}
	return control > begin.length / 50;
}

static struct file_kind text_kind(struct text_span begin)
{
	struct text_span text = skip_space(begin), line = { 0 }, rest = text;
	struct file_kind kind = { .flags = FILE_KIND_TEXT | FILE_KIND_CERTAIN };
	span_take_field(&rest, '\n', &line);
	if (begins_with(text, "<!doctype html") || begins_with(text, "<html"))
		kind.name = "an HTML page";
	else if (begins_with(text, "<svg") || (begins_with(text, "<?xml") && contains(text, "<svg")))
		kind.name = "an SVG image";
	else if (begins_with(text, "<?xml") || begins_with(text, "<!doctype"))
		kind.name = "XML";
	else if (span_begins(text, "#!"))
		kind.name = script_name(span_trim(line));
	else if (is_json(text))
		kind.name = json_name(text);
	if (kind.name)
		return kind;
	kind.flags = FILE_KIND_TEXT;
	kind.name = code_name(begin);
	return kind;
}

static struct file_kind plain_kind(struct text_span begin, const char *path)
{
	for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
		if (begin.length >= signatures[i].size &&
		    memcmp(begin.text, signatures[i].bytes, signatures[i].size) == 0)
			return (struct file_kind){ .name = signatures[i].name,
						   .command = signatures[i].command,
						   .flags = FILE_KIND_CERTAIN };
	for (size_t i = 0; is_binary(begin) && i < sizeof endings / sizeof *endings; i++)
		if (span_ends(span_of(path), endings[i].ending))
			return (struct file_kind){ .name = endings[i].name };
	if (is_pprof(begin))
		return (struct file_kind){ .name = "a pprof profile" };
	if (begin.length > 262 && memcmp(begin.text + 257, "ustar", 5) == 0)
		return (struct file_kind){ .name = "a tar archive" };
	if (!begin.length)
		return (struct file_kind){ .name = "an empty file" };
	return is_binary(begin) ? (struct file_kind){ .name = "binary data" } : text_kind(begin);
}

/* Decompresses the beginning of a gzip file, to be freed; NULL: it is damaged. */
static char *decompress(struct text_span begin, size_t *size)
{
	z_stream stream = { .next_in = (unsigned char *)(uintptr_t)begin.text, .avail_in = (uInt)begin.length };
	char *bytes = malloc(TEXT_FORMAT_SIZE);
	*size = 0;
	if (!bytes || inflateInit2(&stream, 15 + 16) != Z_OK) {
		free(bytes);
		return NULL;
	}
	stream.next_out = (unsigned char *)bytes;
	stream.avail_out = (uInt)TEXT_FORMAT_SIZE;
	inflate(&stream, Z_SYNC_FLUSH);
	*size = TEXT_FORMAT_SIZE - stream.avail_out;
	inflateEnd(&stream);
	if (*size)
		return bytes;
	free(bytes);
	return NULL;
}

/* A compressed text or capture can be replayed once it is decompressed. */
static struct file_kind gzip_kind(struct text_span begin, const char *path)
{
	struct file_kind kind = { .name = "a gzip file", .flags = FILE_KIND_CERTAIN | FILE_KIND_GZIP };
	size_t size;
	char *bytes = decompress(begin, &size);
	if (!bytes)
		return kind;
	struct text_span inside = { bytes, size };
	enum text_format format = text_format_of(bytes, size, true, NULL);
	struct file_kind of_inside = plain_kind(inside, path);
	if (of_inside.flags & FILE_KIND_CERTAIN || format <= TEXT_FORMAT_NONE)
		kind.inside = of_inside.name;
	else
		kind.command = "gzip -dc";
	if (!kind.inside && format == TEXT_FORMAT_CAPTURE)
		kind.inside = "a capture";
	else if (!kind.inside && kind.command)
		kind.inside = "stacks";
	free(bytes);
	return kind;
}

struct file_kind file_kind_of(struct text_span begin, const char *path)
{
	return span_begins(begin, "\x1f\x8b") ? gzip_kind(begin, path) : plain_kind(begin, path);
}
