/* SPDX-License-Identifier: Apache-2.0 */
/* See observations.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "observations.h"

/* Bounds what a file can make the program allocate. */
#define IMAGE_MAX (16u << 20)
#define ROWS_MAX 65536u
#define FIRST_LINE "iaprof-self-test 1"
#define SUMS_MAX (1u << 20)

/* The rest of a line; words are taken off its start. */
struct line {
	char *rest;
	bool is_wrong;
};

static const char *word(struct line *line)
{
	const char *found = strsep(&line->rest, " ");

	line->is_wrong |= !found || !*found;
	return found ? found : "";
}

static uint64_t number(struct line *line)
{
	const char *text = word(line);
	char *end;

	errno = 0;
	uint64_t value = strtoull(text, &end, 0);
	line->is_wrong |= errno || end == text || *end || *text == '-';
	return value;
}

/* Takes a word that names the number after it. */
static uint64_t named(struct line *line, const char *name)
{
	line->is_wrong |= strcmp(word(line), name) != 0;
	return number(line);
}

static void text_rest(struct line *line, char *text, size_t size)
{
	snprintf(text, size, "%s", line->rest ? line->rest : "");
	line->rest = NULL;
}

/* Returns the number of bytes, or SIZE_MAX. */
static size_t bytes_of_hex(const char *text, unsigned char *bytes, size_t limit)
{
	size_t length = strlen(text) / 2;

	if (strlen(text) % 2 || length > limit)
		return SIZE_MAX;
	for (size_t i = 0; i < length; i++) {
		unsigned byte;
		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			return SIZE_MAX;
		bytes[i] = (unsigned char)byte;
	}
	return length;
}

static struct kernel_observation *kernel_of(struct observations *observations, struct line *line)
{
	const char *name = word(line);

	for (size_t i = 0; i < observations->kernel_count; i++)
		if (!strcmp(observations->kernels[i].name, name))
			return &observations->kernels[i];
	if (observations->kernel_count == KERNELS_MAX || strlen(name) >= NAME_SIZE) {
		static struct kernel_observation none;
		line->is_wrong = true;
		return &none;
	}
	struct kernel_observation *kernel = &observations->kernels[observations->kernel_count++];
	strcpy(kernel->name, name);
	return kernel;
}

static void read_device(struct observations *observations, struct line *line)
{
	static const struct row_layout *const layouts[] = { &row_layout_pvc, &row_layout_xe2, &row_layout_xe3p };

	snprintf(observations->device, NAME_SIZE, "%s", word(line));
	observations->gt = named(line, "gt");
	observations->xe_cores = named(line, "xe-cores");
	line->is_wrong |= strcmp(word(line), "layout") != 0;
	const char *layout = word(line);
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (!strcmp(layouts[i]->name, layout))
			observations->layout = layouts[i];
	line->is_wrong |= !observations->layout;
	observations->period = named(line, "period");
	line->is_wrong |= strcmp(word(line), "name") != 0;
	text_rest(line, observations->name, NAME_SIZE);
	observations->has_device = true;
}

static void read_gpu(struct observations *observations, struct line *line)
{
	number(line);
	named(line, "driver");
	observations->eus = named(line, "eus");
	observations->threads_per_eu = named(line, "threads-per-eu");
	named(line, "timer");
	named(line, "timer-bits");
	observations->has_gpu = true;
}

static void read_kernel(struct observations *observations, struct line *line)
{
	struct kernel_observation *kernel = kernel_of(observations, line);

	kernel->address = number(line);
}

static void read_image(struct observations *observations, struct line *line)
{
	const char *text = word(line);
	size_t size = strlen(text) / 2;

	if (!size || size > IMAGE_MAX || observations->image) {
		line->is_wrong = true;
		return;
	}
	observations->image = malloc(size);
	if (observations->image)
		observations->image_size = bytes_of_hex(text, observations->image, size);
	line->is_wrong |= observations->image_size != size;
}

static void read_run(struct observations *observations, struct line *line)
{
	struct kernel_observation *kernel = kernel_of(observations, line);

	kernel->groups = named(line, "groups");
	kernel->turns = named(line, "turns");
	kernel->timed = named(line, "timed");
	kernel->host = named(line, "host");
	kernel->has_device_time = line->rest;
	if (line->rest)
		kernel->device = named(line, "device");
	kernel->has_run = true;
}

static void read_row(struct observations *observations, struct line *line)
{
	if (!observations->raw)
		observations->raw = calloc(ROWS_MAX, ROW_SIZE);
	if (!observations->raw || observations->raw_count == ROWS_MAX) {
		line->is_wrong = true;
		return;
	}
	unsigned char *row = observations->raw[observations->raw_count++];
	line->is_wrong |= bytes_of_hex(word(line), row, ROW_SIZE) == SIZE_MAX;
}

static void read_rows(struct observations *observations, struct line *line)
{
	observations->rows = number(line);
	observations->saturated = named(line, "saturated");
	observations->overflows = named(line, "overflows");
	observations->reads_after_overflow = named(line, "reads-after-overflow");
	observations->has_rows = true;
}

static void read_sum(struct observations *observations, struct line *line)
{
	size_t capacity = observations->sum_count;

	if (capacity == SUMS_MAX) {
		line->is_wrong = true;
		return;
	}
	/* A power of two: the array is full. */
	if (!(capacity & (capacity - 1))) {
		void *items = realloc(observations->sums, (capacity ? 2 * capacity : 1) * sizeof *observations->sums);
		if (!items) {
			line->is_wrong = true;
			return;
		}
		observations->sums = items;
	}
	struct address_sum *sum = &observations->sums[observations->sum_count++];
	sum->address = number(line);
	for (size_t i = 0; i < STALL_REASON_COUNT; i++)
		sum->counts[i] = number(line);
}

static void read_missing(struct observations *observations, struct line *line)
{
	if (observations->missing_count == sizeof observations->missing / sizeof *observations->missing)
		line->is_wrong = true;
	else
		text_rest(line, observations->missing[observations->missing_count++], sizeof *observations->missing);
}

static void read_profile(struct observations *observations, struct line *line)
{
	observations->profile_status = (int)named(line, "status");
	observations->samples = named(line, "samples");
	observations->matched = named(line, "matched");
	observations->ambiguous = named(line, "ambiguous");
	observations->unmatched = named(line, "unmatched");
	observations->has_profile = true;
}

static void read_profile_stalls(struct observations *observations, struct line *line)
{
	struct kernel_observation *kernel = kernel_of(observations, line);

	kernel->profile_stalls = number(line);
}

static void read_profile_time(struct observations *observations, struct line *line)
{
	struct kernel_observation *kernel = kernel_of(observations, line);

	kernel->profile_executions = number(line);
	kernel->profile_time = number(line);
}

static void read_profile_run(struct observations *observations, struct line *line)
{
	struct kernel_observation *kernel = kernel_of(observations, line);

	kernel->profile_launches = number(line);
	kernel->profile_host = number(line);
}

static void read_profile_callee(struct observations *observations, struct line *line)
{
	observations->profile_callee = number(line);
}

static void read_version(struct observations *observations, struct line *line)
{
	text_rest(line, observations->version, NAME_SIZE);
}

static void read_linux(struct observations *observations, struct line *line)
{
	text_rest(line, observations->linux_release, NAME_SIZE);
}

static const struct {
	const char *name;
	void (*read)(struct observations *observations, struct line *line);
} kinds[] = {
	{ "version", read_version },
	{ "linux", read_linux },
	{ "device", read_device },
	{ "gpu", read_gpu },
	{ "kernel", read_kernel },
	{ "image", read_image },
	{ "run", read_run },
	{ "row", read_row },
	{ "rows", read_rows },
	{ "sum", read_sum },
	{ "missing", read_missing },
	{ "profile", read_profile },
	{ "profile-stalls", read_profile_stalls },
	{ "profile-time", read_profile_time },
	{ "profile-run", read_profile_run },
	{ "profile-callee", read_profile_callee },
};

static bool read_line(struct observations *observations, char *text)
{
	struct line line = { .rest = text };
	const char *kind = word(&line);

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].name, kind)) {
			kinds[i].read(observations, &line);
			return !line.is_wrong && !line.rest;
		}
	return false;
}

static int read_lines(struct observations *observations, FILE *file, const char *name)
{
	CLEANUP_FREE char *text = NULL;
	size_t capacity = 0, count = 0;
	ssize_t length;

	*observations = (struct observations){ 0 };
	while ((length = getline(&text, &capacity, file)) > 0) {
		if (text[length - 1] == '\n')
			text[--length] = '\0';
		count++;
		bool is_first = count == 1;
		if (is_first ? strcmp(text, FIRST_LINE) : !read_line(observations, text)) {
			if (name)
				fprintf(stderr, "%s:%zu: %s\n", name, count,
					is_first ? "not a file of iaprof --self-test --save, or of a newer version"
						 : "damaged line");
			return -EINVAL;
		}
	}
	if (!count || ferror(file)) {
		if (name)
			fprintf(stderr, "%s: cannot read: %s\n", name, count ? strerror(errno) : "the file is empty");
		return -EIO;
	}
	return 0;
}

int observations_read(struct observations *observations, FILE *file, const char *name)
{
	int result = read_lines(observations, file, name);

	if (result)
		observations_free(observations);
	return result;
}

void observations_free(struct observations *observations)
{
	free(observations->image);
	free(observations->raw);
	free(observations->sums);
	*observations = (struct observations){ 0 };
}

const struct kernel_observation *observations_kernel(const struct observations *observations, const char *name)
{
	for (size_t i = 0; i < observations->kernel_count; i++)
		if (!strcmp(observations->kernels[i].name, name))
			return &observations->kernels[i];
	return NULL;
}

const char *observations_missing(const struct observations *observations, const char *part)
{
	size_t length = strlen(part);

	for (size_t i = 0; i < observations->missing_count; i++) {
		const char *text = observations->missing[i];
		if (!strncmp(text, part, length) && text[length] == ':')
			return text + length + 2;
	}
	return NULL;
}
