/* SPDX-License-Identifier: Apache-2.0 */
/* See pages.h. */
#include "pages.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "overview_page.h"

#define NANOSECONDS_PER_MILLISECOND UINT64_C(1000000)
/* 16 November 5138: times fit into 64 bits as nanoseconds, and a time of --replay has fewer digits. */
#define MILLISECONDS_MAX UINT64_C(9999999999999)

/* The pages restrict themselves further: each allows the hash of its own script and style only. */
#define POLICY                                                                                                         \
	"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "                            \
	"script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'"

/*
 * Reads a number of the query: digits only. Returns false for one that is absent, has anything else, or is more than
 * the limit.
 */
static bool read_number(const struct http_request *request, const char *name, uint64_t limit, uint64_t *value)
{
	const char *text = http_request_parameter(request, name);
	size_t digits = text ? strspn(text, "0123456789") : 0;
	if (!digits || digits > 13 || text[digits])
		return false;
	*value = strtoull(text, NULL, 10);
	return *value <= limit;
}

static bool has(const struct http_request *request, const char *name)
{
	return http_request_parameter(request, name);
}

/* Returns false with an answer if the query has no such range. */
static bool read_range(const struct http_request *request, const char *from, const char *to,
		       struct flamegraph_range *range, struct http_answer *answer)
{
	bool has_numbers = read_number(request, from, MILLISECONDS_MAX, &range->from) &&
			   read_number(request, to, MILLISECONDS_MAX, &range->to);
	if (has_numbers && range->from < range->to)
		return true;
	http_answer_text(answer, 400, "");
	text_append_format(&answer->body,
			   has_numbers ? "%s must be before %s\n" : "%s and %s must be milliseconds since 1970\n", from,
			   to);
	return false;
}

static void answer_unreadable(const char *folder, int result, struct http_answer *answer)
{
	http_answer_text(answer, 503, "");
	text_append_format(&answer->body, "cannot read %s: %s\n", folder,
			   result == -EACCES ? "permission denied (set group=yes for the sink ring, and join its group)"
			   : result == -ENOENT ? "no such folder (start iaprof --continuous)"
					       : strerror(-result));
}

/* Returns whether the ring has data in a range; otherwise answers. */
static bool has_data(const struct flamegraph *flamegraph, const struct flamegraph_range *range,
		     struct http_answer *answer)
{
	CLEANUP(text_free) struct text why = { 0 };
	int result = flamegraph_check(flamegraph, range, &why);
	if (result == -ENODATA) {
		http_answer_text(answer, 404, text_string(&why));
		text_append_string(&answer->body, "\n");
	} else if (result) {
		answer_unreadable(flamegraph->folder, result, answer);
	}
	return !result;
}

static void answer_flamegraph(struct pages *pages, struct http_request *request, struct http_answer *answer)
{
	CLEANUP(text_free) struct text why = { 0 };
	struct flamegraph_range range, baseline;
	bool has_baseline = has(request, "diff_from") || has(request, "diff_to");
	if (!read_range(request, "from", "to", &range, answer) ||
	    (has_baseline && !read_range(request, "diff_from", "diff_to", &baseline, answer)) ||
	    !has_data(&pages->flamegraph, &range, answer) ||
	    (has_baseline && !has_data(&pages->flamegraph, &baseline, answer)))
		return;
	http_request_extend(request, FLAMEGRAPH_SECONDS_MAX + 2 * HTTP_SERVER_TIMEOUT);
	int result =
		flamegraph_append(&pages->flamegraph, &range, has_baseline ? &baseline : NULL, &answer->body, &why);
	if (!result) {
		answer->type = "text/html; charset=utf-8";
		return;
	}
	if (result == -EBUSY) {
		http_answer_text(answer, 503, "other flame graphs are being made: reload this page in a while\n");
		http_answer_header(answer, "Retry-After", "5");
		return;
	}
	http_answer_text(answer, 502, text_string(&why));
	text_append_string(&answer->body, "\n");
}

static void answer_overview(struct pages *pages, const struct http_request *request, struct http_answer *answer)
{
	uint64_t slots = 0, metric = 0, group = SEGMENT_PROGRAM;
	struct flamegraph_range range;
	if (!read_range(request, "from", "to", &range, answer))
		return;
	if (!read_number(request, "slots", OVERVIEW_SLOTS_MAX, &slots) || !slots ||
	    (has(request, "metric") && !read_number(request, "metric", SEGMENT_METRICS_MAX, &metric)) ||
	    (has(request, "group") && !read_number(request, "group", SEGMENT_GROUP_COUNT - 1, &group))) {
		http_answer_text(answer, 400, "");
		text_append_format(&answer->body, "slots must be 1 to %u, metric 0 to %u, and group 0 to %u\n",
				   OVERVIEW_SLOTS_MAX, SEGMENT_METRICS_MAX, SEGMENT_GROUP_COUNT - 1);
		return;
	}
	struct overview_query query = { .from = range.from * NANOSECONDS_PER_MILLISECOND,
					.to = range.to * NANOSECONDS_PER_MILLISECOND,
					.slots = (uint32_t)slots,
					.metric = (uint32_t)metric,
					.group = (uint32_t)group };
	int result = overview_append(&pages->overview, &query, &answer->body);
	answer->type = "application/json";
	if (result)
		answer_unreadable(pages->overview.folder, result, answer);
}

static void answer_page(struct http_answer *answer)
{
	answer->type = "text/html; charset=utf-8";
	text_append(&answer->body, (const char *)page_begin, sizeof page_begin);
	text_append(&answer->body, (const char *)page_end, sizeof page_end);
}

void pages_answer(void *context, struct http_request *request, struct http_answer *answer)
{
	static const char *const headers[][2] = {
		{ "Content-Security-Policy", POLICY },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cache-Control", "no-store" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
	};
	struct pages *pages = context;
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		http_answer_header(answer, headers[i][0], headers[i][1]);
	const char *path = access_path(&pages->access, request, answer);
	if (!path)
		return;
	if (!strcmp(path, ""))
		answer_page(answer);
	else if (!strcmp(path, "overview.json"))
		answer_overview(pages, request, answer);
	else if (!strcmp(path, "flamegraph"))
		answer_flamegraph(pages, request, answer);
	else
		http_answer_text(answer, 404, "no such page\n");
}
