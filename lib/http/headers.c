/* SPDX-License-Identifier: Apache-2.0 */
/* See headers.h. */
#include "http/headers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "text/percent_encoding.h"

/* Longer names are cut in messages. */
#define NAME_SHOWN_MAX 80

/* RFC 9110: token. */
static const char token_characters[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* Those that depend on the body, or that the sender or libcurl sets. */
static const char *const own_headers[] = {
	"Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Transfer-Encoding", NULL
};

static bool is_own(const char *name)
{
	for (const char *const *own = own_headers; *own; own++)
		if (!strcasecmp(name, *own))
			return true;
	return false;
}

/* Returns what a decoded value must not contain, or NULL. */
static const char *forbidden_in(const char *value, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)value[i];
		if (byte == '\n' || byte == '\r')
			return "a line break";
		if ((byte < ' ' && byte != '\t') || byte == 0x7f)
			return "a control character";
	}
	return NULL;
}

/*
 * Splits a pair, in place. Returns the name, or NULL with the problem. What is not a name may be a part of a value, and
 * is not shown.
 */
static char *split(char *pair, unsigned number, char **value, char problem[HEADERS_PROBLEM_SIZE])
{
	char *equals = strchr(pair, '=');
	if (!equals) {
		snprintf(problem, HEADERS_PROBLEM_SIZE, "pair %u is not NAME=VALUE (write a comma in a value as %%2C)",
			 number);
		return NULL;
	}
	*equals = '\0';
	*value = text_trim(equals + 1);
	char *name = text_trim(pair);
	unsigned char wrong = (unsigned char)name[strspn(name, token_characters)];
	if (*name && !wrong)
		return name;
	if (!*name)
		snprintf(problem, HEADERS_PROBLEM_SIZE, "pair %u has no name", number);
	else if (wrong > ' ' && wrong < 0x7f)
		snprintf(problem, HEADERS_PROBLEM_SIZE, "pair %u: the name of a header cannot contain '%c'", number,
			 wrong);
	else
		snprintf(problem, HEADERS_PROBLEM_SIZE,
			 "pair %u: the name of a header can contain only ASCII letters, digits and punctuation, "
			 "without blanks",
			 number);
	return NULL;
}

static int read_pair(char *pair, unsigned number, headers_take *take, void *context, char problem[HEADERS_PROBLEM_SIZE])
{
	char *value;
	const char *name = split(pair, number, &value, problem);
	if (!name)
		return -EINVAL;
	const char *forbidden = forbidden_in(value, percent_decode(value));
	if (is_own(name))
		snprintf(problem, HEADERS_PROBLEM_SIZE, "pair %u (%s): iaprof sets this header itself", number, name);
	else if (!forbidden && !value[strspn(value, " \t")])
		/* libcurl would not send it. */
		snprintf(problem, HEADERS_PROBLEM_SIZE, "pair %u (%.*s) has no value", number, NAME_SHOWN_MAX, name);
	else if (forbidden)
		snprintf(problem, HEADERS_PROBLEM_SIZE, "pair %u (%.*s): the value contains %s", number, NAME_SHOWN_MAX,
			 name, forbidden);
	if (*problem)
		return -EINVAL;
	CLEANUP_FREE char *line = NULL;
	if (take && (asprintf(&line, "%s: %s", name, value) < 0 || !take(context, line)))
		return -ENOMEM;
	return 0;
}

int headers_read(const char *list, headers_take *take, void *context, char problem[HEADERS_PROBLEM_SIZE])
{
	CLEANUP_FREE char *copy = strdup(list);
	char *rest = copy;
	int result = copy ? 0 : -ENOMEM;
	unsigned number = 0;
	*problem = '\0';
	for (char *pair; !result && (pair = strsep(&rest, ","));) {
		number++;
		if (*text_trim(pair))
			result = read_pair(pair, number, take, context, problem);
	}
	return result;
}
