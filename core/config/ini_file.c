/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an INI file with inih. A line reader counts lines, handles section headings (inih truncates names at 50 bytes
 * and does not report empty sections), and removes indentation (inih treats indented lines as continuations).
 */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "config/instance_configuration.h"
#include "config/layer.h"
#include "config/value.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* A path with a line number. */
#define ORIGIN_SIZE (PATH_MAX + 16)

struct ini_source {
	const char *path;
	const char *next; /* rest of the text */
	const char *end;
	int line;
	struct configuration_layer *layer;
	struct instance_configuration *section; /* NULL before the first heading */
	struct error *error;
	int failed_line; /* error is set; 0: it is not */
};

__attribute__((format(printf, 2, 3))) static void fail(struct ini_source *source, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	error_set_va(source->error, EINVAL, format, arguments);
	va_end(arguments);
	source->failed_line = source->line;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static void describe_origin(const struct ini_source *source, char *text, size_t size)
{
	snprintf(text, size, "%s:%d", source->path, source->line);
}

/* Opens a section "source:NAME", "sink:NAME" or "decoder:NAME" in the layer. */
static void open_instance(struct ini_source *source, struct instance_list *list, const char *name)
{
	CLEANUP(instance_release) struct instance_configuration instance = { 0 };
	char origin[ORIGIN_SIZE];

	describe_origin(source, origin, sizeof origin);
	if (instance_set_name(&instance, name, origin, source->error) < 0 ||
	    instance_list_add(list, &instance, source->error) < 0)
		source->failed_line = source->line;
	else
		source->section = &list->items[list->count - 1];
}

/* Opens a section. heading: the text between the brackets. */
static void open_section(struct ini_source *source, const char *heading)
{
	static const char *const kinds[] = { "iaprof", "source", "sink", "decoder", NULL };
	const char *colon = strchrnul(heading, ':');
	char *kind CLEANUP_FREE = strndup(heading, (size_t)(colon - heading));

	if (!kind)
		fail(source, "out of memory");
	else if (strcmp(heading, "iaprof") == 0 && source->layer->run.origin)
		fail(source, "duplicate section [iaprof], first in %s", source->layer->run.origin);
	else if (strcmp(heading, "iaprof") == 0) {
		char origin[ORIGIN_SIZE];
		describe_origin(source, origin, sizeof origin);
		source->section = &source->layer->run;
		source->section->origin = strdup(origin);
		if (!source->section->origin)
			fail(source, "out of memory");
	} else if (*colon && strcmp(kind, "source") == 0)
		open_instance(source, &source->layer->sources, colon + 1);
	else if (*colon && strcmp(kind, "sink") == 0)
		open_instance(source, &source->layer->sinks, colon + 1);
	else if (*colon && strcmp(kind, "decoder") == 0)
		open_instance(source, &source->layer->decoders, colon + 1);
	else {
		const char *nearest = value_nearest_name(kind, kinds);
		bool takes_name = nearest && strcmp(nearest, "iaprof") != 0;
		fail(source, "unknown section [%s]%s%s%s%s%s", value_excerpt(heading).text,
		     nearest ? ": did you mean ["
			     : " (sections are [iaprof], [source:NAME], [sink:NAME] and [decoder:NAME])",
		     nearest ? nearest : "", takes_name ? (*colon ? "" : ":NAME") : "",
		     takes_name ? value_excerpt(colon).text : "", nearest ? "]?" : "");
	}
}

/* Reads a line that begins with '['. */
static void read_heading(struct ini_source *source, const char *line, size_t length)
{
	const char *end = line + length;
	const char *close = memchr(line, ']', length);
	const char *rest = close ? close + 1 : end;
	while (rest < end && is_blank(*rest))
		rest++;

	if (!close)
		fail(source, "section heading without ']'");
	else if (rest < end && *rest != ';' && *rest != '#')
		fail(source, "text after the ']' of a section heading");
	else {
		char *heading CLEANUP_FREE = strndup(line + 1, (size_t)(close - line - 1));
		if (heading)
			open_section(source, heading);
		else
			fail(source, "out of memory");
	}
}

/*
 * Returns the next line without its line end and leading blanks; NULL at the end of the file, or if the line contains
 * control characters.
 */
static const char *take_line(struct ini_source *source, size_t *length)
{
	if (source->next == source->end)
		return NULL;
	const char *line = source->next;
	const char *end = memchr(line, '\n', (size_t)(source->end - line));
	source->next = end ? end + 1 : source->end;
	end = end ? end : source->end;
	source->line++;
	if (end > line && end[-1] == '\r')
		end--;
	for (const char *byte = line; byte < end; byte++) {
		if (((unsigned char)*byte < 0x20 && *byte != '\t') || *byte == 0x7f) {
			fail(source, "byte 0x%02x is not text: not an INI file", (unsigned char)*byte);
			return NULL;
		}
	}
	while (line < end && is_blank(*line))
		line++;
	*length = (size_t)(end - line);
	return line;
}

/* Returns the next line for inih, as fgets(). */
static char *read_line(char *buffer, int size, void *context)
{
	struct ini_source *source = context;
	size_t length;
	const char *line = source->failed_line ? NULL : take_line(source, &length);

	if (!line || size < 2)
		return NULL;
	/* For comments and headings, inih receives an empty line, so that its line numbers are right. */
	buffer[0] = '\n';
	buffer[1] = '\0';
	if (length > 0 && *line == '[')
		read_heading(source, line, length);
	else if (length > 0 && *line != ';' && *line != '#') {
		/* inih would treat the rest of a longer line as another line. */
		if (length > (size_t)size - 3)
			fail(source, "the line is longer than %d bytes", size - 3);
		else
			snprintf(buffer, (size_t)size, "%.*s\n", (int)length, line);
	}
	return source->failed_line ? NULL : buffer;
}

static int take_setting(void *context, const char *section, const char *key, const char *value)
{
	struct ini_source *source = context;
	char origin[ORIGIN_SIZE];

	describe_origin(source, origin, sizeof origin);
	if (source->failed_line)
		return 0;
	if (!value || !*key)
		fail(source, "expected key = value");
	else if (!source->section)
		fail(source, "'%s' is outside of a section ([iaprof], [source:NAME], [sink:NAME] or [decoder:NAME])",
		     value_excerpt(key).text);
	else if (instance_add_setting(source->section, key, value, origin, source->error) < 0)
		source->failed_line = source->line;
	return source->failed_line == 0;
}

int ini_text_read(struct configuration_layer *layer, const char *path, const char *text, size_t size,
		  struct error *error)
{
	struct ini_source source = { .path = path, .next = text, .end = text + size, .layer = layer, .error = error };

	if (size >= 3 && memcmp(text, BYTE_ORDER_MARK, 3) == 0)
		source.next += 3;
	int line = ini_parse_stream(read_line, &source, take_setting, &source);
	if (line < 0)
		return error_set(error, ENOMEM, "%s: out of memory", path);
	/* inih continues after a syntax error; the first error is reported. */
	if (line > 0 && (source.failed_line == 0 || line < source.failed_line)) {
		error_set(error, EINVAL, "expected key = value, or [section]");
		source.failed_line = line;
	}
	return source.failed_line ? error_wrap(error, "%s:%d", path, source.failed_line) : 0;
}

/* Reads the whole file, or one byte more than is allowed. Returns the bytes read or a negative errno. */
static ssize_t read_all(int descriptor, char *text, size_t capacity)
{
	size_t size = 0;
	while (size < capacity) {
		ssize_t got = read(descriptor, text + size, capacity - size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		size += (size_t)got;
	}
	return (ssize_t)size;
}

int ini_file_read(struct configuration_layer *layer, const char *path, struct error *error)
{
	struct stat status;
	/* Does not block, so that a FIFO without a writer is rejected. */
	int descriptor CLEANUP_CLOSE = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (descriptor < 0 || fstat(descriptor, &status) < 0)
		return error_set(error, EINVAL, "cannot read %s: %s", path, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return error_set(error, EINVAL, "cannot read %s: it is a folder, not an INI file", path);
	if (!S_ISREG(status.st_mode))
		return error_set(error, EINVAL, "cannot read %s: it is not a regular file", path);
	char *text CLEANUP_FREE = malloc(INI_FILE_SIZE_MAX + 1);
	if (!text)
		return error_set(error, ENOMEM, "cannot read %s: out of memory", path);
	ssize_t size = read_all(descriptor, text, INI_FILE_SIZE_MAX + 1);
	if (size < 0)
		return error_set(error, EINVAL, "cannot read %s: %s", path, strerror((int)-size));
	if (size > INI_FILE_SIZE_MAX)
		return error_set(error, EINVAL, "%s is too large for an INI file: more than 1 MiB", path);
	return ini_text_read(layer, path, text, (size_t)size, error);
}
