// SPDX-License-Identifier: Apache-2.0
/* Reads what the processes of a scenario do. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu_steps.h"

struct reader {
	const char *path;
	unsigned int line;
	struct process *process;
	struct {
		unsigned int indent, step;
	} repeats[8];
	unsigned int depth;
	bool failed;
};

static const struct {
	const char *name;
	uint64_t number;
} parameters[] = {
	{ "DEVICE_ID", 0 },      { "DEVICE_REVISION", 1 },  { "PLATFORM_TYPE", 2 },        { "CORE_CLOCK_RATE", 3 },
	{ "NUM_CONTEXTS", 4 },   { "CONTEXT_BASE", 5 },     { "CONTEXT_PRIORITY", 6 },     { "CONTEXT_ID", 7 },
	{ "FW_API_VERSION", 8 }, { "ENGINE_HEARTBEAT", 9 }, { "UNIQUE_INFERENCE_ID", 10 }, { "TILE_CONFIG", 11 },
	{ "SKU", 12 },           { "CAPABILITIES", 13 },    { "PREEMPT_BUFFER_SIZE", 14 },
};

static const struct {
	const char *name;
	int number;
} errors[] = {
	{ "EINVAL", EINVAL }, { "ENOENT", ENOENT }, { "ETIMEDOUT", ETIMEDOUT },
	{ "EBUSY", EBUSY },   { "EFAULT", EFAULT },
};

static void fail(struct reader *reader, const char *what, const char *word)
{
	if (!reader->failed)
		fprintf(stderr, "%s:%u: %s%s%s\n", reader->path, reader->line, what, word ? ": " : "",
			word ? word : "");
	reader->failed = true;
}

static char *next_word(char **line)
{
	return strtok_r(NULL, " \t", line);
}

static uint64_t number_of(struct reader *reader, const char *word, uint64_t maximum)
{
	char *end = NULL;
	uint64_t value;

	errno = 0;
	value = word && isdigit((unsigned char)*word) ? strtoull(word, &end, 0) : 0;
	if (!end || end == word || errno) {
		fail(reader, "a number is expected", word);
		return 0;
	}
	if (!strcmp(end, "K") || !strcmp(end, "M")) {
		unsigned int shift = *end == 'K' ? 10 : 20;

		if (value > UINT64_MAX >> shift)
			fail(reader, "too large a number", word);
		value <<= shift;
	} else if (*end)
		fail(reader, "a number is expected", word);
	if (value > maximum)
		fail(reader, "too large a number", word);
	return value;
}

static uint64_t duration_of(struct reader *reader, const char *word)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	char *end = NULL;
	uint64_t value = word && isdigit((unsigned char)*word) ? strtoull(word, &end, 10) : 0;

	for (size_t i = 0; end && i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].name) && value <= UINT64_C(3600000000000) / units[i].ns)
			return value * units[i].ns;
	fail(reader, "a duration is expected (5us, 2ms, 1s)", word);
	return 0;
}

static unsigned int name_of(struct reader *reader, const char *word)
{
	struct process *process = reader->process;

	if (!word || strlen(word) >= sizeof(process->names[0])) {
		fail(reader, "a name is expected", word);
		return 0;
	}
	for (unsigned int i = 0; i < process->names_count; i++)
		if (!strcmp(process->names[i], word))
			return i;
	if (process->names_count == NAMES_MAX) {
		fail(reader, "too many names", word);
		return 0;
	}
	snprintf(process->names[process->names_count], sizeof(process->names[0]), "%s", word);
	return process->names_count++;
}

static uint64_t parameter_of(struct reader *reader, const char *word)
{
	for (size_t i = 0; word && i < sizeof(parameters) / sizeof(*parameters); i++)
		if (!strcmp(parameters[i].name, word))
			return parameters[i].number;
	return number_of(reader, word, UINT32_MAX);
}

static int error_of(struct reader *reader, const char *word)
{
	for (size_t i = 0; word && i < sizeof(errors) / sizeof(*errors); i++)
		if (!strcmp(errors[i].name, word))
			return errors[i].number;
	fail(reader, "an error's name is expected", word);
	return 0;
}

/* What may follow any step: file NAME, index N, flags N, timeout D, status N, rate R, expect ERROR. */
static void options_read(struct reader *reader, struct step *step, char *key, char **line)
{
	for (; key && !reader->failed; key = next_word(line)) {
		char *value = next_word(line);

		if (!strcmp(key, "file"))
			step->file = name_of(reader, value);
		else if (!strcmp(key, "index") || !strcmp(key, "flags"))
			step->index = number_of(reader, value, UINT32_MAX);
		else if (!strcmp(key, "timeout"))
			step->duration_ns = duration_of(reader, value);
		else if (!strcmp(key, "status"))
			step->status = (int64_t)number_of(reader, value, UINT32_MAX);
		else if (!strcmp(key, "rate"))
			step->rate = (double)number_of(reader, value, 1000000);
		else if (!strcmp(key, "expect"))
			step->expected = error_of(reader, value);
		else
			fail(reader, "unknown word", key);
	}
}

static bool is_option(const char *word)
{
	static const char *const options[] = { "file", "index", "flags", "timeout", "status", "rate", "expect" };

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(options[i], word))
			return true;
	return false;
}

/* The buffers of a submission; gives back the first word that is no buffer's name. */
static char *buffers_read(struct reader *reader, struct step *step, char **line)
{
	char *word;

	step->names = calloc(NAMES_MAX, sizeof(*step->names));
	if (!step->names)
		abort();
	while ((word = next_word(line)) && !is_option(word)) {
		if (step->names_count == NAMES_MAX) {
			fail(reader, "too many buffers", word);
			break;
		}
		step->names[step->names_count++] = name_of(reader, word);
	}
	if (!step->names_count)
		fail(reader, "a submission needs its command buffer", NULL);
	return word;
}

static void step_read(struct reader *reader, char *word, char **line)
{
	static const struct {
		const char *name;
		enum step_kind kind;
	} kinds[] = {
		{ "open", STEP_OPEN },
		{ "close", STEP_CLOSE },
		{ "get_param", STEP_GET_PARAM },
		{ "set_param", STEP_SET_PARAM },
		{ "bo_create", STEP_BO_CREATE },
		{ "bo_destroy", STEP_BO_DESTROY },
		{ "bo_info", STEP_BO_INFO },
		{ "submit", STEP_SUBMIT },
		{ "queue_create", STEP_QUEUE_CREATE },
		{ "queue_destroy", STEP_QUEUE_DESTROY },
		{ "queue_submit", STEP_QUEUE_SUBMIT },
		{ "wait", STEP_WAIT },
		{ "sleep", STEP_SLEEP },
		{ "repeat", STEP_REPEAT },
	};
	struct process *process = reader->process;
	struct step *step = &process->steps[process->count];
	size_t i;

	if (process->count >= STEPS_MAX - 16) {
		fail(reader, "too many steps", NULL);
		return;
	}
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds) && strcmp(kinds[i].name, word); i++)
		;
	if (i == sizeof(kinds) / sizeof(*kinds)) {
		fail(reader, "unknown step", word);
		return;
	}
	*step = (struct step){ .kind = kinds[i].kind,
			       .line = reader->line,
			       .status = -1,
			       .file = name_of(reader, "device"),
			       .duration_ns = UINT64_C(10000000000) };
	process->count++;
	word = NULL;
	switch (step->kind) {
	case STEP_OPEN:
	case STEP_CLOSE:
		break;
	case STEP_GET_PARAM:
		step->value = parameter_of(reader, next_word(line));
		break;
	case STEP_SET_PARAM:
		step->index = parameter_of(reader, next_word(line));
		step->value = number_of(reader, next_word(line), UINT64_MAX);
		break;
	case STEP_BO_CREATE:
		step->name = name_of(reader, next_word(line));
		step->value = number_of(reader, next_word(line), UINT64_MAX);
		break;
	case STEP_QUEUE_SUBMIT:
		step->name = name_of(reader, next_word(line));
		word = buffers_read(reader, step, line);
		options_read(reader, step, word, line);
		return;
	case STEP_SUBMIT:
		word = buffers_read(reader, step, line);
		options_read(reader, step, word, line);
		return;
	case STEP_SLEEP:
		step->duration_ns = duration_of(reader, next_word(line));
		break;
	case STEP_REPEAT:
		step->value = number_of(reader, next_word(line), 1000000000);
		break;
	default:
		step->name = name_of(reader, next_word(line));
	}
	options_read(reader, step, next_word(line), line);
}

static void repeats_close(struct reader *reader, unsigned int indent)
{
	struct process *process = reader->process;

	while (process && reader->depth && indent <= reader->repeats[reader->depth - 1].indent) {
		unsigned int begin = reader->repeats[--reader->depth].step;
		struct step *end = &process->steps[process->count];

		if (process->count == STEPS_MAX) {
			fail(reader, "too many steps", NULL);
			return;
		}
		*end = (struct step){ .kind = STEP_END, .line = reader->line, .partner = begin };
		process->steps[begin].partner = process->count++;
	}
}

static void line_read(struct reader *reader, char *line, unsigned int indent)
{
	char *rest = NULL, *word = strtok_r(line, " \t", &rest);

	if (!word || !reader->process)
		return;
	repeats_close(reader, indent);
	step_read(reader, word, &rest);
	if (!reader->failed && reader->process->steps[reader->process->count - 1].kind == STEP_REPEAT) {
		if (reader->depth == sizeof(reader->repeats) / sizeof(*reader->repeats)) {
			fail(reader, "too many repeats in each other", NULL);
			return;
		}
		reader->repeats[reader->depth].indent = indent;
		reader->repeats[reader->depth++].step = reader->process->count - 1;
	}
}

int steps_read(const char *path, struct process *processes)
{
	struct reader reader = { .path = path };
	FILE *file = fopen(path, "re");
	size_t size = 0;
	char *line = NULL;
	int count = 0;

	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	while (!reader.failed && getline(&line, &size, file) >= 0) {
		unsigned int indent = 0;
		char *p = line;

		reader.line++;
		line[strcspn(line, "#\n")] = '\0';
		for (; *p == ' ' || *p == '\t'; p++)
			indent = *p == '\t' ? (indent / 8 + 1) * 8 : indent + 1;
		if (!*p)
			continue;
		if (indent) {
			line_read(&reader, p, indent);
			continue;
		}
		repeats_close(&reader, 0);
		reader.process = NULL; /* what is for the device ends a process */
		if (!strncmp(p, "process ", 8)) {
			if (count == PROCESSES_MAX) {
				fail(&reader, "too many processes", NULL);
				break;
			}
			reader.process = &processes[count++];
			snprintf(reader.process->name, sizeof(reader.process->name), "%.*s", (int)strcspn(p + 8, " \t"),
				 p + 8);
		}
	}
	repeats_close(&reader, 0);
	free(line);
	fclose(file);
	return reader.failed ? -1 : count;
}
