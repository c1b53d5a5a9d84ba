/* SPDX-License-Identifier: Apache-2.0 */
/* See page_difference.h. */
#include "page_difference.h"

#include <inttypes.h>

#include "page_data.h"

void page_difference_append(struct text *text, const struct iaprof_profile *profile, uint32_t types)
{
	static const char *const names[] = { "none", "total", "duration" };
	const char *normalization = profile->normalization < 3 ? names[profile->normalization] : "";
	text_append_format(text, ",\"difference\":{\"nanoseconds\":%" PRIu64 ",\"begin\":%" PRIu64,
			   profile->before_end - profile->before_begin, profile->before_begin_realtime);
	text_append_format(text, ",\"normalization\":\"%s\",\"factors\":[", normalization);
	for (uint32_t i = 0; i < types; i++)
		text_append_format(text, i ? ",%.17g" : "%.17g", iaprof_profile_value_type(profile, i)->before_factor);
	text_append_string(text, "],\"metadata\":");
	page_data_append_metadata(text, profile->before_metadata);
	text_append_string(text, "}");
}

void page_difference_append_lost(struct text *text, const struct iaprof_lost *lost)
{
	text_append_format(text, ",\"before\":%" PRIu64 ",\"beforeUnknown\":%" PRIu32, lost->before_count,
			   lost->before_unknown);
}
