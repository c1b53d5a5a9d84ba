// SPDX-License-Identifier: Apache-2.0
/* The control files of the double: scenarios, commands, and the truth about what became of the rows. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"

#define CONTROL "/sys/kernel/debug/xe-double/"

/* Writes all of it, then closes; the error of the first write that failed. */
static int control_write(const char *file, const char *text, size_t length)
{
	char path[128];
	int fd, error = 0;

	snprintf(path, sizeof(path), CONTROL "%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (length && !error) {
		ssize_t written = write(fd, text, length);

		if (written < 0) {
			error = errno;
		} else {
			text += written;
			length -= (size_t)written;
		}
	}
	close(fd);
	errno = error;
	return error ? -1 : 0;
}

int scenario_write(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length, result, error;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		abort();
	result = control_write("scenario", text, (size_t)length);
	error = errno;
	free(text);
	errno = error;
	return result;
}

int command_write(const char *command)
{
	return control_write("command", command, strlen(command));
}

const char *error_read(void)
{
	static char text[512];

	file_read(CONTROL "error", text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* The number after the word `key`, which stands after at least one other word. */
static bool number_after(const char *line, const char *key, uint64_t *number)
{
	char word[64];
	const char *found;

	snprintf(word, sizeof(word), " %s ", key);
	found = strstr(line, word);
	return found && sscanf(found + strlen(word), "%" SCNu64, number) == 1;
}

uint64_t truth_number(const char *start, const char *key)
{
	FILE *file = fopen(CONTROL "truth", "re");
	uint64_t number = UINT64_MAX;
	bool found = false;
	char line[1024];

	while (file && !found && fgets(line, sizeof(line), file))
		found = strncmp(line, start, strlen(start)) == 0 && number_after(line, key, &number);
	if (file)
		fclose(file);
	if (!found)
		tap_comment("truth: no line '%s' with '%s'", start, key);
	return number;
}

void truth_sums(struct row_sums *sums, unsigned gt, const char *what)
{
	FILE *file = fopen(CONTROL "truth", "re");
	char line[1024], start[64];

	snprintf(start, sizeof(start), "gt %u address ", gt);
	while (file && fgets(line, sizeof(line), file)) {
		uint64_t address, rows = 0;
		struct row_sum *sum;
		char word[16];

		if (strncmp(line, start, strlen(start)) != 0 ||
		    sscanf(line + strlen(start), "%" SCNi64 " %15s", (int64_t *)&address, word) != 2 ||
		    strcmp(word, what) != 0 || !number_after(line, "rows", &rows) || !rows)
			continue;
		address = strtoull(line + strlen(start), NULL, 0);
		sum = row_sums_at(sums, address);
		sum->rows = rows;
		for (int reason = 0; reason < REASON_COUNT; reason++)
			CHECK(number_after(line, reason_names[reason], &sum->counters[reason]));
	}
	if (file)
		fclose(file);
}

bool state_has(const char *text)
{
	char state[2048];

	return file_read(CONTROL "state", state, sizeof(state)) && strstr(state, text);
}

bool player_finish(void)
{
	/* Longer than any scenario here takes on a slow machine. */
	for (int i = 0; i < 3000; i++) {
		const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };

		if (!state_has("player playing"))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

bool play(void)
{
	return CHECK_EQUAL(command_write("start"), 0) && CHECK(player_finish());
}
