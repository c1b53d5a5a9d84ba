// SPDX-License-Identifier: GPL-2.0-only
/* Scenarios: lines of text, each with a word that says what it sets, until `end` installs the whole. */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include "scenario.h"

struct scenario *scenario_create(void)
{
	struct scenario *scenario = kzalloc(sizeof(*scenario), GFP_KERNEL);

	if (scenario)
		scenario->loops = 1;
	return scenario;
}

void scenario_free(struct scenario *scenario)
{
	if (!scenario)
		return;
	kvfree(scenario->rows);
	kvfree(scenario->by_address);
	kvfree(scenario->address_starts);
	kfree(scenario);
}

int scenario_error(struct scenario_writer *writer, const char *format, ...)
{
	char message[XE_ERROR_LENGTH - 64];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	control_error(writer->xe, "scenario, line %u: %s", writer->line_number, message);
	writer->failed = true;
	return -EINVAL;
}

int scenario_parse_time(const char *text, u64 *time)
{
	static const struct {
		const char *name;
		u64 nanoseconds;
	} units[] = { { "ns", 1 }, { "us", NSEC_PER_USEC }, { "ms", NSEC_PER_MSEC }, { "s", NSEC_PER_SEC } };
	size_t digits = strspn(text, "0123456789");
	char number[16];
	u64 value;

	if (!digits || digits >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, digits);
	number[digits] = '\0';
	if (kstrtou64(number, 10, &value))
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(text + digits, units[i].name))
			return check_mul_overflow(value, units[i].nanoseconds, time) || *time > S64_MAX / 2 ? -EINVAL
													    : 0;
	return -EINVAL;
}

static char *next_word(char **fields)
{
	char *word;

	do
		word = strsep(fields, " \t");
	while (word && !*word);
	return word;
}

/* A line ends where its last value does. */
static int check_no_more(struct scenario_writer *writer, const char *what, char *fields)
{
	char *word = next_word(&fields);

	return word ? scenario_error(writer, "%s: '%*pE' is too much", what, (int)strlen(word), word) : 0;
}

/* The value after a word, as a number of at most max. */
static int parse_number(struct scenario_writer *writer, char **fields, const char *what, u64 max, u64 *number)
{
	char *word = next_word(fields);

	if (!word)
		return scenario_error(writer, "%s: a number is missing", what);
	if (kstrtou64(word, 0, number) || *number > max)
		return scenario_error(writer, "%s: '%*pE' is not a number from 0 to %llu", what, (int)strlen(word),
				      word, max);
	return 0;
}

static int parse_platform(struct scenario_writer *writer, char **fields)
{
	const char *name = next_word(fields);

	if (writer->has_platform)
		return scenario_error(writer, "platform: there is one already");
	if (!name || !platform_preset(&writer->scenario->platform, name))
		return scenario_error(writer, "platform: one of %s is wanted", platform_names);
	writer->has_platform = true;
	return 0;
}

static int parse_device_id(struct scenario_writer *writer, char **fields)
{
	u64 id;
	int err = parse_number(writer, fields, "device-id", U16_MAX, &id);

	writer->scenario->platform.device_id = id;
	return err;
}

static int parse_reference_clock(struct scenario_writer *writer, char **fields)
{
	u64 clock;
	int err = parse_number(writer, fields, "reference-clock", U32_MAX, &clock);

	writer->scenario->platform.reference_clock = clock;
	return err;
}

static int parse_kernel(struct scenario_writer *writer, char **fields)
{
	const char *word = next_word(fields);
	unsigned int major, minor;
	char rest;

	if (!word || sscanf(word, "%2u.%3u%c", &major, &minor, &rest) != 2 || minor > 999)
		return scenario_error(writer, "kernel: a version like 6.15 is wanted");
	writer->scenario->platform.kernel = XE_KERNEL(major, minor);
	return 0;
}

static int parse_cores(struct scenario_writer *writer, char **fields, unsigned long *cores)
{
	const char *list = next_word(fields);

	if (!list || bitmap_parselist(list, cores, XE_MAX_CORES) || bitmap_empty(cores, XE_MAX_CORES))
		return scenario_error(writer, "gt: a list of Xe-cores like 0-3,8 is wanted, from 0 to %u",
				      XE_MAX_CORES - 1);
	return 0;
}

/* gt N main cores LIST [compute LIST] | gt N media */
static int parse_gt(struct scenario_writer *writer, char **fields)
{
	struct platform *platform = &writer->scenario->platform;
	const char *kind, *word;
	struct xe_gt_config *gt;
	int err;
	u64 id;

	if (writer->scenario->row_count)
		return scenario_error(writer, "gt: has to come before the rows");
	err = parse_number(writer, fields, "gt", XE_MAX_GT - 1, &id);
	if (err)
		return err;
	if (!writer->has_gt)
		memset(platform->gt, 0, sizeof(platform->gt));
	writer->has_gt = true;
	gt = &platform->gt[id];
	if (gt->present)
		return scenario_error(writer, "gt: %llu is there already", id);
	gt->present = true;
	gt->tile = platform->media_version >= 1300 ? id / 2 : id;
	kind = next_word(fields);
	if (kind && !strcmp(kind, "media")) {
		gt->media = true;
		return 0;
	}
	word = kind && !strcmp(kind, "main") ? next_word(fields) : NULL;
	if (!word || strcmp(word, "cores"))
		return scenario_error(writer, "gt: 'main cores LIST' or 'media' is wanted");
	err = parse_cores(writer, fields, gt->compute);
	if (err)
		return err;
	if (!platform->pvc)
		bitmap_copy(gt->geometry, gt->compute, XE_MAX_CORES);
	word = next_word(fields);
	/* Xe-cores for geometry and for compute may differ; the GT has them all. */
	if (word && !strcmp(word, "compute"))
		err = parse_cores(writer, fields, gt->compute);
	else if (word)
		err = scenario_error(writer, "gt: unknown word '%*pE'", (int)strlen(word), word);
	return err;
}

/* pace time | pace lossless | pace N, rows a second */
static int parse_pace(struct scenario_writer *writer, char **fields)
{
	const char *word = next_word(fields);
	u64 rate;

	if (word && !strcmp(word, "time")) {
		writer->scenario->pace = PACE_TIME;
	} else if (word && !strcmp(word, "lossless")) {
		writer->scenario->pace = PACE_LOSSLESS;
	} else if (word && !kstrtou64(word, 10, &rate) && rate && rate <= SCENARIO_RATE_MAX) {
		writer->scenario->pace = PACE_RATE;
		writer->scenario->rate = rate;
	} else {
		return scenario_error(writer, "pace: 'time', 'lossless' or rows a second from 1 to %llu is wanted",
				      SCENARIO_RATE_MAX);
	}
	return 0;
}

/* loop N | loop forever, [every TIME] */
static int parse_loop(struct scenario_writer *writer, char **fields)
{
	struct scenario *scenario = writer->scenario;
	const char *count = next_word(fields), *every = next_word(fields), *time = next_word(fields);

	if (count && !strcmp(count, "forever"))
		scenario->loops = SCENARIO_LOOP_FOREVER;
	else if (!count || kstrtou64(count, 10, &scenario->loops) || !scenario->loops)
		return scenario_error(writer, "loop: a number from 1 on or 'forever' is wanted");
	if (every && (strcmp(every, "every") || !time || scenario_parse_time(time, &scenario->period)))
		return scenario_error(writer, "loop: 'every' and a time like 10ms is wanted");
	return 0;
}

/* play enabled | play always */
static int parse_play(struct scenario_writer *writer, char **fields)
{
	const char *word = next_word(fields);

	if (!word || (strcmp(word, "enabled") && strcmp(word, "always")))
		return scenario_error(writer, "play: 'enabled' or 'always' is wanted");
	writer->scenario->play_always = !strcmp(word, "always");
	return 0;
}

static int compare_rows(const void *a, const void *b, const void *rows)
{
	const struct scenario_row *left = (const struct scenario_row *)rows + *(const u32 *)a;
	const struct scenario_row *right = (const struct scenario_row *)rows + *(const u32 *)b;

	if (left->gt != right->gt)
		return left->gt < right->gt ? -1 : 1;
	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return 0;
}

static int index_addresses(struct scenario *scenario)
{
	u32 count = scenario->row_count;

	if (!count)
		return 0;
	scenario->by_address = kvmalloc_array(count, sizeof(u32), GFP_KERNEL);
	scenario->address_starts = kvmalloc_array(count, sizeof(u32), GFP_KERNEL);
	if (!scenario->by_address || !scenario->address_starts)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++)
		scenario->by_address[i] = i;
	sort_r(scenario->by_address, count, sizeof(u32), compare_rows, NULL, scenario->rows);
	for (u32 i = 0; i < count; i++)
		if (i == 0 || compare_rows(&scenario->by_address[i - 1], &scenario->by_address[i], scenario->rows))
			scenario->address_starts[scenario->address_count++] = i;
	return 0;
}

static bool has_stream(struct xe_device *xe)
{
	bool found = false;

	for (int i = 0; i < XE_MAX_GT; i++) {
		mutex_lock(&xe->gt[i].stream_lock);
		found |= xe->gt[i].stream != NULL;
		mutex_unlock(&xe->gt[i].stream_lock);
	}
	return found;
}

/* The platform of a device that somebody watches does not change. */
static int install(struct scenario_writer *writer)
{
	struct xe_device *xe = writer->xe;
	int err = 0;

	down_write(&xe->config);
	if (has_stream(xe)) {
		scenario_error(writer, "end: a stream is open; close it first");
		err = -EBUSY;
	} else {
		/* No command starts it again while config is held. */
		player_stop(xe);
		xe->platform = writer->scenario->platform;
		for (int i = 0; i < XE_MAX_GT; i++) {
			xe->gt[i].config = xe->platform.gt[i];
			WRITE_ONCE(xe->gt[i].stuck, false);
			memset(&xe->gt[i].hardware.totals, 0, sizeof(xe->gt[i].hardware.totals));
			memset(xe->gt[i].hardware.core, 0, sizeof(xe->gt[i].hardware.core));
		}
		xe->player.late = 0;
		swap(xe->scenario, writer->scenario);
	}
	up_write(&xe->config);
	return err;
}

static int parse_end(struct scenario_writer *writer, char **fields)
{
	struct scenario *scenario = writer->scenario;
	int err = check_no_more(writer, "end", *fields);

	if (err)
		return err;
	if (scenario->row_count && !scenario->period)
		scenario->period = scenario->rows[scenario->row_count - 1].time;
	if (scenario->row_count && scenario->pace == PACE_TIME && scenario->loops != 1 &&
	    (!scenario->period || scenario->period < scenario->rows[scenario->row_count - 1].time))
		return scenario_error(writer, "end: a loop at the rows' own times needs 'every' and a time after the "
					      "last row's");
	err = index_addresses(scenario);
	if (err)
		return err;
	writer->ended = true;
	return install(writer);
}

static int parse_line(struct scenario_writer *writer)
{
	static const struct {
		const char *word;
		int (*parse)(struct scenario_writer *writer, char **fields);
	} lines[] = {
		{ "platform", parse_platform },
		{ "device-id", parse_device_id },
		{ "reference-clock", parse_reference_clock },
		{ "kernel", parse_kernel },
		{ "gt", parse_gt },
		{ "pace", parse_pace },
		{ "loop", parse_loop },
		{ "play", parse_play },
		{ "row", scenario_parse_row },
		{ "end", parse_end },
	};
	char *fields = writer->line, *word;
	int err;

	fields[strcspn(fields, "#")] = '\0';
	word = next_word(&fields);
	if (!word)
		return 0;
	if (writer->ended)
		return scenario_error(writer, "there is something after 'end'");
	if (!writer->has_platform && strcmp(word, "platform"))
		return scenario_error(writer, "the first line has to be 'platform'");
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (strcmp(word, lines[i].word))
			continue;
		err = lines[i].parse(writer, &fields);
		return err ? err : check_no_more(writer, word, fields);
	}
	return scenario_error(writer, "unknown word '%*pE'", (int)strlen(word), word);
}

int scenario_write(struct scenario_writer *writer, const char *text, size_t length)
{
	if (writer->failed)
		return -EINVAL;
	for (size_t i = 0; i < length; i++) {
		int err = 0;

		if (writer->line_length == 0)
			writer->line_number++;
		if (text[i] == '\n') {
			writer->line[writer->line_length] = '\0';
			err = parse_line(writer);
			writer->line_length = 0;
		} else if (writer->line_length == SCENARIO_LINE_MAX) {
			err = scenario_error(writer, "longer than %u characters", SCENARIO_LINE_MAX);
		} else if (!isprint(text[i]) && text[i] != '\t') {
			err = scenario_error(writer, "a byte that is not a printable ASCII character");
		} else {
			writer->line[writer->line_length++] = text[i];
		}
		if (err) {
			writer->failed = true;
			return err;
		}
	}
	return 0;
}

void scenario_close(struct scenario_writer *writer)
{
	if (!writer->failed && !writer->ended)
		scenario_error(writer, "%s; nothing was installed",
			       writer->line_length ? "the last line has no newline" : "'end' is missing");
	scenario_free(writer->scenario);
}
