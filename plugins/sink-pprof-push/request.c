/* SPDX-License-Identifier: Apache-2.0 */
/* See request.h. */
#include "request.h"

#include <ctype.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "pprof/pprof_message.h"

#define ID_SIZE 16u

/* Appends a compressed profile. */
static bool append_profile(struct text *text, const struct iaprof_profile *profile,
			   const struct profile_samples_options *options)
{
	struct profile_samples samples;
	struct text message = { 0 };
	bool good = profile_samples_make(&samples, profile, options) && pprof_message_append(&message, &samples) &&
		    !message.failed;
	profile_samples_free(&samples);
	if (good)
		gzip_append(text, message.data, message.size);
	text_free(&message);
	return good && !text->failed;
}

bool request_append_plain(struct text *text, const struct iaprof_profile *profile,
			  const struct profile_samples_options *options, uint32_t *count)
{
	*count = profile->value_count > 0;
	return !*count || append_profile(text, profile, options);
}

/* A profile with one of the value types of another one, whose frames and stacks it shares. */
struct part {
	struct iaprof_profile profile;
	struct iaprof_value *values;
	struct iaprof_lost *lost;
};

static void part_free(struct part *part)
{
	free(part->values);
	free(part->lost);
}

static bool part_make(struct part *part, const struct iaprof_profile *profile, uint32_t type)
{
	*part = (struct part){ .profile = *profile,
			       .values = calloc(profile->value_count + 1, sizeof *part->values),
			       .lost = calloc(profile->lost_count + 1, sizeof *part->lost) };
	size_t values = 0, lost = 0;
	for (size_t i = 0; part->values && i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		if (value->value_type != type)
			continue;
		part->values[values] = *value;
		part->values[values++].value_type = 0;
	}
	for (size_t i = 0; part->lost && i < profile->lost_count; i++) {
		part->lost[lost] = *iaprof_profile_lost(profile, i);
		part->lost[lost].value_type = part->lost[lost].value_type == type ? 0 : UINT32_MAX;
		lost++;
	}
	part->profile.value_types = iaprof_profile_value_type(profile, type);
	part->profile.value_type_count = 1;
	part->profile.values = part->values;
	part->profile.value_count = values;
	part->profile.value_size = sizeof *part->values;
	part->profile.lost = part->lost;
	part->profile.lost_count = lost;
	part->profile.lost_size = sizeof *part->lost;
	return part->values && part->lost;
}

/* Appends the name of a series: letters, digits and '_'. CPU samples have the name that Pyroscope's agents use. */
static void append_type(struct text *text, const char *name)
{
	struct text clean = { 0 };
	if (strcmp(name, "cpu") == 0)
		name = "process_cpu";
	for (; *name; name++)
		text_append(&clean, isalnum((unsigned char)*name) ? name : "_", 1);
	text_append_json(text, text_string(&clean));
	text->failed |= clean.failed;
	text_free(&clean);
}

static void append_base64(struct text *text, const struct text *bytes)
{
	size_t size = sodium_base64_encoded_len(bytes->size, sodium_base64_VARIANT_ORIGINAL);
	if (!text_reserve(text, size))
		return;
	sodium_bin2base64(text->data + text->size, size, (const unsigned char *)bytes->data, bytes->size,
			  sodium_base64_VARIANT_ORIGINAL);
	text->size += size - 1; /* without the NUL */
}

/* Appends a random UUID (RFC 9562, version 4). */
static void append_id(struct text *text)
{
	unsigned char id[ID_SIZE];
	randombytes_buf(id, sizeof id);
	id[6] = (unsigned char)((id[6] & 0x0f) | 0x40);
	id[8] = (unsigned char)((id[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof id; i++)
		text_append_format(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
}

static bool append_series(struct text *text, const struct part *part, const struct profile_samples_options *options,
			  const struct request_labels *labels)
{
	struct text compressed = { 0 };
	bool good = append_profile(&compressed, &part->profile, options);
	text_append_string(text, "{\"labels\":[{\"name\":\"__name__\",\"value\":");
	append_type(text, iaprof_profile_value_type(&part->profile, 0)->name);
	text_append_string(text, "}");
	for (size_t i = 0; i < labels->count; i++) {
		text_append_string(text, ",{\"name\":");
		text_append_json(text, labels->items[i].name);
		text_append_string(text, ",\"value\":");
		text_append_json(text, labels->items[i].value);
		text_append_string(text, "}");
	}
	text_append_string(text, "],\"samples\":[{\"ID\":\"");
	append_id(text);
	text_append_string(text, "\",\"rawProfile\":\"");
	if (good)
		append_base64(text, &compressed);
	text_append_string(text, "\"}]}");
	text_free(&compressed);
	return good && !text->failed;
}

bool request_append_push(struct text *text, const struct iaprof_profile *profile,
			 const struct profile_samples_options *options, const struct request_labels *labels,
			 uint32_t *count)
{
	bool good = true;
	*count = 0;
	text_append_string(text, "{\"series\":[");
	for (uint32_t i = 0; good && i < profile->value_type_count; i++) {
		struct part part;
		good = part_make(&part, profile, i);
		if (good && part.profile.value_count) {
			text_append_string(text, *count ? "," : "");
			good = append_series(text, &part, options, labels);
			++*count;
		}
		part_free(&part);
	}
	text_append_string(text, "]}");
	return good && !text->failed;
}
