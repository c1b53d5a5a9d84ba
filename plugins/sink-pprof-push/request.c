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

/*
 * Defaults of Pyroscope 1.x (-help-all): a profile with more samples is refused (max-profile-stacktrace-samples),
 * and so is a request of more than 2 MiB before compression (ingestion-burst-size-mb), also when it is sent again.
 */
#define PUSH_SAMPLES_MAX 16000u
#define PUSH_SIZE_MAX (3u << 19)

/* Appends a profile that is not compressed. */
static bool append_message(struct text *message, const struct iaprof_profile *profile,
			   const struct profile_samples_options *options)
{
	struct profile_samples samples;
	bool good = profile_samples_make(&samples, profile, options) && pprof_message_append(message, &samples);
	profile_samples_free(&samples);
	return good && !message->failed;
}

bool request_plain(const struct iaprof_profile *profile, const struct profile_samples_options *options,
		   request_send *send, void *context)
{
	struct text message = { 0 }, body = { 0 };
	if (!profile->value_count)
		return true;
	bool good = append_message(&message, profile, options);
	if (good)
		gzip_append(&body, message.data, message.size);
	good = good && !body.failed;
	if (good)
		send(context, &body, 1);
	text_free(&message);
	text_free(&body);
	return good;
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

/* Appends a series with one profile. */
static bool append_series(struct text *text, const char *type, const struct request_labels *labels,
			  const struct text *message)
{
	struct text compressed = { 0 };
	gzip_append(&compressed, message->data, message->size);
	text_append_string(text, "{\"labels\":[{\"name\":\"__name__\",\"value\":");
	append_type(text, type);
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
	bool good = !compressed.failed;
	if (good)
		append_base64(text, &compressed);
	text_append_string(text, "\"}]}");
	text_free(&compressed);
	return good && !text->failed;
}

/* A request under construction. */
struct push {
	const struct profile_samples_options *options;
	const struct request_labels *labels;
	request_send *send;
	void *context;
	struct text body;
	size_t size; /* of its profiles before compression */
	uint32_t count;
};

static bool push_end(struct push *push)
{
	if (push->count) {
		text_append_string(&push->body, "]}");
		if (push->body.failed)
			return false;
		push->send(push->context, &push->body, push->count);
	}
	text_free(&push->body);
	push->size = push->count = 0;
	return true;
}

static bool push_message(struct push *push, const char *type, const struct text *message)
{
	if (push->size + message->size > PUSH_SIZE_MAX && !push_end(push))
		return false;
	text_append_string(&push->body, push->count ? "," : "{\"series\":[");
	push->size += message->size;
	push->count++;
	return append_series(&push->body, type, push->labels, message);
}

/* Adds a range of a part's values, in halves if they are too large. Losses are reported once, with the first values. */
static bool push_values(struct push *push, const struct part *part, size_t begin, size_t count)
{
	struct iaprof_profile range = part->profile;
	struct text message = { 0 };
	range.values = part->values + begin;
	range.value_count = count;
	range.lost_count = begin ? 0 : part->profile.lost_count;
	bool good = append_message(&message, &range, push->options);
	bool is_large = message.size > PUSH_SIZE_MAX && count > 1;
	if (good && !is_large)
		good = push_message(push, iaprof_profile_value_type(&range, 0)->name, &message);
	text_free(&message);
	if (!good || !is_large)
		return good;
	return push_values(push, part, begin, count / 2) &&
	       push_values(push, part, begin + count / 2, count - count / 2);
}

bool request_push(const struct iaprof_profile *profile, const struct profile_samples_options *options,
		  const struct request_labels *labels, request_send *send, void *context)
{
	struct push push = { .options = options, .labels = labels, .send = send, .context = context };
	bool good = true;
	for (uint32_t i = 0; good && i < profile->value_type_count; i++) {
		struct part part;
		good = part_make(&part, profile, i);
		for (size_t begin = 0; good && begin < part.profile.value_count; begin += PUSH_SAMPLES_MAX) {
			size_t left = part.profile.value_count - begin;
			good = push_values(&push, &part, begin, left < PUSH_SAMPLES_MAX ? left : PUSH_SAMPLES_MAX);
		}
		part_free(&part);
	}
	good = good && push_end(&push);
	text_free(&push.body);
	return good;
}
