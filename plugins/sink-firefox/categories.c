/* SPDX-License-Identifier: Apache-2.0 */
/* See categories.h. */
#include "categories.h"

#include "stacks/stall_class.h"
#include "stacks/value_label.h"

enum {
	CATEGORY_USER = CATEGORY_OTHER + 1,
	CATEGORY_KERNEL,
	CATEGORY_JIT,
	CATEGORY_CALL,
	CATEGORY_DEVICE,
	CATEGORY_LOST,
	CATEGORY_COUNT,
};

struct category {
	const char *name;
	const char *color; /* one of those that the format knows */
};

/* The default is the first grey one. */
static const struct category categories[CATEGORY_COUNT] = {
	[CATEGORY_OTHER] = { "Other", "grey" },           [CATEGORY_USER] = { "User", "yellow" },
	[CATEGORY_KERNEL] = { "Linux kernel", "orange" }, [CATEGORY_JIT] = { "JIT", "lightblue" },
	[CATEGORY_CALL] = { "Driver call", "lightred" },  [CATEGORY_DEVICE] = { "Device", "blue" },
	[CATEGORY_LOST] = { "Lost", "darkgrey" },
};

/* Stall reasons follow, in the order of enum iaprof_stall_class from IAPROF_STALL_DATA on. */
static const char *const stall_colors[STALL_CLASS_COUNT] = {
	[IAPROF_STALL_DATA] = "red",       [IAPROF_STALL_QUEUE] = "magenta",  [IAPROF_STALL_ARITHMETIC] = "purple",
	[IAPROF_STALL_PIPELINE] = "brown", [IAPROF_STALL_BARRIER] = "orange", [IAPROF_STALL_BRANCH] = "lightred",
	[IAPROF_STALL_FETCH] = "yellow",   [IAPROF_STALL_ORDER] = "darkgrey", [IAPROF_STALL_OTHER] = "darkgrey",
	[IAPROF_STALL_ISSUING] = "green",
};

uint32_t category_of(const struct iaprof_frame *frame)
{
	switch (frame->kind) {
	case IAPROF_FRAME_PROCESS:
		return CATEGORY_OTHER;
	case IAPROF_FRAME_USER:
		return CATEGORY_USER;
	case IAPROF_FRAME_LINUX_KERNEL:
	case IAPROF_FRAME_WAIT:
		return CATEGORY_KERNEL;
	case IAPROF_FRAME_JIT:
	case IAPROF_FRAME_PYTHON:
		return CATEGORY_JIT;
	case IAPROF_FRAME_CALL:
		return CATEGORY_CALL;
	case IAPROF_FRAME_DEVICE_SOURCE:
	case IAPROF_FRAME_DEVICE_FUNCTION:
	case IAPROF_FRAME_DEVICE_INSTRUCTION:
		return CATEGORY_DEVICE;
	case IAPROF_FRAME_STALL_REASON:
		return CATEGORY_COUNT + stall_class_of(frame) - IAPROF_STALL_DATA;
	case IAPROF_FRAME_LOST:
		return CATEGORY_LOST;
	default:
		return CATEGORY_OF_CALLER;
	}
}

/* classes: NULL: no subcategories. */
static void append_category(struct text *text, const char *before, const char *name, const char *color,
			    const struct string_table *classes)
{
	text_append_format(text, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"", before, name,
			   color);
	for (uint32_t i = 0; classes && i < classes->entries.count; i++) {
		text_append_string(text, ",");
		text_append_json(text, string_table_text(classes, i + 1));
	}
	text_append_string(text, "]}");
}

void categories_append(struct text *text, const struct iaprof_profile *profile, const struct string_table *classes)
{
	uint32_t kind = device_kind_of_profile(profile);
	text_append_string(text, "[");
	for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
		append_category(text, i ? "," : "",
				i == CATEGORY_DEVICE && kind ? device_kind_word(kind) : categories[i].name,
				categories[i].color, i == CATEGORY_DEVICE ? classes : NULL);
	for (uint32_t i = IAPROF_STALL_DATA; i < STALL_CLASS_COUNT; i++)
		append_category(text, ",", i == IAPROF_STALL_OTHER ? "Other stall" : stall_classes[i].label,
				stall_colors[i], NULL);
	text_append_string(text, "]");
}
