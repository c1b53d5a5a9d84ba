/* SPDX-License-Identifier: Apache-2.0 */
/* What the sink summary writes at the end of a run, whichever sinks the user named: see run_state.h. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "run/run_state.h"
#include "text/text.h"

/* Returns 0, or a negative errno and sets error or that of the sink. */
static int write_profile(struct instance *sink, const struct iaprof_profile *profile, struct error *error)
{
	int result = output_target_set(&sink->output, "report", error);
	sink->output.descriptor = memfd_create("report", MFD_CLOEXEC);
	if (!result && sink->output.descriptor < 0)
		result = error_set(error, errno, "report: %s", strerror(errno));
	if (!result)
		result = instance_configure(sink, NULL);
	if (!result)
		result = instance_profile(sink, profile);
	return result ? result : instance_finish(sink, NULL);
}

static void read_output(const struct instance *sink, struct text *text)
{
	ssize_t size;
	while (text_reserve(text, BUFSIZ) &&
	       (size = pread(sink->output.descriptor, text->data + text->size, BUFSIZ, (off_t)text->size)) > 0)
		text->size += (size_t)size;
}

struct text run_report(struct run *run, const char *format, const struct iaprof_profile *profile)
{
	struct setting setting = { .key = (char *)"format", .value = (char *)format, .origin = (char *)"report" };
	struct instance_configuration wanted = { .settings = { .items = &setting, .count = 1 } };
	struct text text = { 0 };
	struct error error = { 0 };
	if (!run->setup.report || !profile)
		return text;
	struct instance *sink = instance_new(run->setup.report, &wanted, 0, &run->services, &error);
	if (sink && !write_profile(sink, profile, &error))
		read_output(sink, &text);
	else
		run_show(run, error.text[0] ? &error : &sink->error);
	instance_free(sink);
	return text;
}

void run_report_messages(struct run *run, const char *format, const struct iaprof_profile *profile)
{
	if (log_level() < IAPROF_LOG_WARNING)
		return;
	struct text text = run_report(run, format, profile);
	char *rest = text.size ? (char *)text_string(&text) : NULL;
	for (char *line; (line = strsep(&rest, "\n")) && *line;)
		log_notice("%s", line);
	text_free(&text);
}
