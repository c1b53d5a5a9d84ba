/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an INI file: read, and checked as far as no plugin is needed. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/layer.h"

/* Options of sources, which are keys of [iaprof] as well. */
static const char *const *list_aliases(void *context)
{
	static const char *const names[] = { "eu-stall-subsample", NULL };
	return names;
}
static const struct option_aliases aliases = { .list = list_aliases };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(configuration_free) struct configuration configuration = { 0 };
	CLEANUP(configuration_layer_release) struct configuration_layer file = { 0 };
	CLEANUP(configuration_layer_release) struct configuration_layer command_line = { 0 };
	struct error error = { 0 };

	int result = ini_text_read(&file, "fuzz.ini", (const char *)data, size, &error);
	if (result == 0)
		result = configuration_combine(&configuration, &file, &command_line, &aliases, &error);
	/* Rejected input has an error message of one line; accepted input has none. */
	if ((result < 0) != (error.text[0] != '\0') || strchr(error.text, '\n'))
		abort();
	return 0;
}
