/* SPDX-License-Identifier: Apache-2.0 */
/* See compiler_names.h. */
#include "symbolizer/device/compiler_names.h"

#include <stdio.h>
#include <string.h>

/* What a helper computes, by a word of its name, which is reserved for the compiler: __NAME_div_rn_f32_slowpath. */
static const char *helper_computes(const char *name)
{
	static const struct {
		const char *word, *computes;
	} words[] = { { "_div_", "division" },
		      { "_rem_", "remainder" },
		      { "_rcp_", "reciprocal" },
		      { "_rsqrt", "reciprocal square root" },
		      { "_drsqrt", "reciprocal square root" },
		      { "_sqrt_", "square root" },
		      { "_dsqrt_", "square root" } };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(name, words[i].word))
			return words[i].computes;
	return NULL;
}

const char *compiler_name(const char *symbol, char text[static COMPILER_NAME_SIZE])
{
	const char *end = *symbol == '$' ? strchr(symbol + 1, '$') : NULL;
	const char *name = end && end[1] ? end + 1 : symbol;
	const char *computes = name != symbol && strncmp(name, "__", 2) == 0 ? helper_computes(name) : NULL;
	if (!computes)
		return name;
	snprintf(text, COMPILER_NAME_SIZE, "[%s: %.200s]", computes, name);
	return text;
}
