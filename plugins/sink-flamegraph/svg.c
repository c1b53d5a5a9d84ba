/* SPDX-License-Identifier: Apache-2.0 */
/* See svg.h. */
#include "svg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "colours.h"
#include "stack_origins.h"
#include "stacks/value_choice.h"
#include "svg_difference.h"
#include "text/plural.h"
#include "text/quantity.h"
#include "text/short_name.h"

/* In pixels. Frames narrower than NARROWEST are not drawn, but the image states their number. */
#define WIDTH 1200.0
#define ROW 18u
#define MARGIN 10.0
#define HEADER 52u
#define NARROWEST 0.2
/* Character width of 12 px sans-serif: most letters are narrower. */
#define LETTER 7.0

/* The groups of page/palette.json. */
static enum colour_group group_of(const struct iaprof_frame *frame)
{
	if (frame->flags & IAPROF_FRAME_UNKNOWN)
		return COLOUR_UNKNOWN;
	switch (frame->kind) {
	case IAPROF_FRAME_PROCESS:
	case IAPROF_FRAME_SEPARATOR:
	case STACK_ORIGIN_THREAD:
		return COLOUR_PROCESS;
	case IAPROF_FRAME_USER:
		return frame->flags & IAPROF_FRAME_INLINED ? COLOUR_INLINED : COLOUR_NATIVE;
	case IAPROF_FRAME_JIT:
	case IAPROF_FRAME_PYTHON:
		return COLOUR_PYTHON;
	case IAPROF_FRAME_LINUX_KERNEL:
	case IAPROF_FRAME_WAIT:
		return COLOUR_LINUX;
	case IAPROF_FRAME_CALL:
		return COLOUR_API;
	case IAPROF_FRAME_DEVICE_SOURCE:
	case IAPROF_FRAME_DEVICE_FUNCTION:
		return COLOUR_GPU;
	case IAPROF_FRAME_DEVICE_INSTRUCTION:
	case IAPROF_FRAME_DEVICE_OFFSET:
		return COLOUR_INSTRUCTION;
	case IAPROF_FRAME_STALL_REASON:
		return COLOUR_REASON;
	default:
		return COLOUR_UNKNOWN;
	}
}

struct drawing {
	struct text *text;
	const struct stack_tree *tree;
	uint64_t *totals; /* by node */
	uint32_t *levels; /* levels of frames; 0: the programs */
	double *lefts;    /* left edge of the next child */
	uint64_t all;
	uint32_t deepest; /* deepest level drawn */
	size_t left_out;
	const char *type, *unit;
	struct svg_difference difference;
};

/* Appends a name as text between tags, with a maximum number of characters. */
static void append_escaped(struct text *text, const char *name, size_t characters)
{
	struct text clean = { 0 };
	text_append_name(&clean, name);
	text->failed |= clean.failed;
	size_t done = 0;
	for (size_t i = 0; !clean.failed && i < clean.size; i++) {
		bool begins = (clean.data[i] & 0xc0) != 0x80; /* the first byte of a character */
		if (begins && done++ == characters) {
			text_append_string(text, "\xe2\x80\xa6"); /* an ellipsis */
			break;
		}
		if (clean.data[i] == '&')
			text_append_string(text, "&amp;");
		else if (clean.data[i] == '<')
			text_append_string(text, "&lt;");
		else if (clean.data[i] == '>')
			text_append_string(text, "&gt;");
		else
			text_append(text, &clean.data[i], 1);
	}
	text_free(&clean);
}

static double width_of(const struct drawing *drawing, uint32_t node)
{
	return (WIDTH - 2 * MARGIN) * (double)drawing->totals[node] / (double)drawing->all;
}

static bool drawing_begin(struct drawing *drawing, uint32_t value_type)
{
	const struct stack_tree *tree = drawing->tree;
	size_t types = tree->profile->value_type_count;
	drawing->totals = calloc(tree->node_count + 1, sizeof *drawing->totals);
	drawing->levels = calloc(tree->node_count + 1, sizeof *drawing->levels);
	drawing->lefts = calloc(tree->node_count + 1, sizeof *drawing->lefts);
	if (!drawing->totals || !drawing->levels || !drawing->lefts)
		return false;
	/* A parent comes before its children. */
	for (size_t i = tree->node_count; value_type != VALUE_TYPE_NONE && i-- > 0;) {
		uint32_t parent = tree->nodes[i].parent;
		drawing->totals[i] += tree->values[i * types + value_type];
		*(parent == STACK_TREE_NONE ? &drawing->all : &drawing->totals[parent]) += drawing->totals[i];
	}
	for (size_t i = 0; i < tree->node_count; i++) {
		uint32_t parent = tree->nodes[i].parent;
		drawing->levels[i] = parent == STACK_TREE_NONE ? 0 : drawing->levels[parent] + 1;
		if (!drawing->totals[i])
			continue;
		if (width_of(drawing, (uint32_t)i) < NARROWEST)
			drawing->left_out++;
		else if (drawing->levels[i] > drawing->deepest)
			drawing->deepest = drawing->levels[i];
	}
	return svg_difference_make(&drawing->difference, tree, value_type, drawing->totals);
}

static void append_frame(struct drawing *drawing, uint32_t node, double left, double width)
{
	const struct iaprof_frame *frame = drawing->tree->frames.items[drawing->tree->nodes[node].frame];
	const struct svg_difference *difference = &drawing->difference;
	struct text *text = drawing->text;
	unsigned top = HEADER + (drawing->deepest - drawing->levels[node]) * ROW;
	struct text name = { 0 };
	frame_name_append(&name, frame);
	text_append_format(text, "<g><title>");
	append_escaped(text, text_string(&name), SIZE_MAX);
	if (frame->pid)
		text_append_format(text, " (%" PRIu32 ")", frame->pid);
	text_append_format(text, "\n%" PRIu64 " ", drawing->totals[node]);
	append_escaped(text, drawing->unit, SIZE_MAX);
	text_append_format(text, ", %s",
			   quantity_share((double)drawing->totals[node], (double)drawing->all, " %").text);
	if (difference->before) {
		text_append_string(text, "\n");
		svg_difference_append_values(difference, difference->before[node], drawing->totals[node], text);
	}
	text_append_format(text, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"", left, top,
			   width, ROW - 1);
	if (difference->before)
		svg_difference_append_fill(difference, node, text);
	else
		text_append_string(text, colour_fills[group_of(frame)]);
	text_append_string(text, "\"/>");
	size_t characters = (size_t)(width / LETTER);
	if (characters > 2) {
		text_append_format(text, "<text x=\"%.2f\" y=\"%u\"%s>", left + 3, top + 13,
				   difference->before || colour_is_light[group_of(frame)] ? "" : " fill=\"#fff\"");
		struct text label = { 0 };
		if (characters >= SHORT_NAME_LEAST)
			text_append_short_name(&label, text_string(&name), characters);
		append_escaped(text, text_string(label.size ? &label : &name), characters);
		text_append_string(text, "</text>");
		text->failed |= label.failed;
		text_free(&label);
	}
	text->failed |= name.failed;
	text_free(&name);
	text_append_string(text, "</g>\n");
}

static void append_frames(struct drawing *drawing)
{
	const struct stack_tree *tree = drawing->tree;
	double next = MARGIN;
	for (size_t i = 0; i < tree->node_count; i++) {
		uint32_t node = tree->order[i], parent = tree->nodes[node].parent;
		double *left = parent == STACK_TREE_NONE ? &next : &drawing->lefts[parent];
		double width = drawing->totals[node] ? width_of(drawing, node) : 0;
		drawing->lefts[node] = *left;
		if (width >= NARROWEST)
			append_frame(drawing, node, *left, width);
		*left += width;
	}
}

static void append_header(struct drawing *drawing, const char *title)
{
	const struct iaprof_profile *profile = drawing->tree->profile;
	struct text *text = drawing->text;
	uint64_t lost = 0;
	for (uint32_t i = 0; i < profile->lost_count; i++)
		lost += iaprof_profile_lost(profile, i)->count;
	unsigned height = HEADER + (drawing->deepest + 1) * ROW + (unsigned)MARGIN;
	text_append_string(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
				 "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" font-family=\"sans-serif\" "
				 "font-size=\"12\" ");
	text_append_format(text, "width=\"%.0f\" height=\"%u\" viewBox=\"0 0 %.0f %u\">\n", WIDTH, height, WIDTH,
			   height);
	text_append_string(text, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	text_append_format(text, "<text x=\"%.0f\" y=\"22\" font-size=\"16\">", MARGIN);
	append_escaped(text, title ? title : "iaprof", SIZE_MAX);
	text_append_format(text, "</text>\n<text x=\"%.0f\" y=\"42\" fill=\"#555\">", MARGIN);
	append_escaped(text, drawing->type, SIZE_MAX);
	text_append_format(text, ": %" PRIu64 " ", drawing->all);
	append_escaped(text, drawing->unit, SIZE_MAX);
	if (drawing->difference.before) {
		text_append_string(text, "; orange grew, blue shrank: ");
		svg_difference_append_values(&drawing->difference, drawing->difference.all, drawing->all, text);
	}
	if (lost)
		text_append_format(text, ", %" PRIu64 " lost", lost);
	svg_difference_append_lost(profile, text);
	if (drawing->left_out)
		text_append_format(text, ", %zu frame%s too narrow to draw", drawing->left_out,
				   plural(drawing->left_out));
	text_append_string(text, "</text>\n");
}

void svg_append(struct text *text, const struct stack_tree *tree, uint32_t value_type, const char *title)
{
	struct drawing drawing = { .text = text, .tree = tree, .type = "none", .unit = "" };
	if (value_type != VALUE_TYPE_NONE) {
		drawing.type = iaprof_profile_value_type(tree->profile, value_type)->name;
		drawing.unit = iaprof_profile_value_type(tree->profile, value_type)->unit;
	}
	if (drawing_begin(&drawing, value_type)) {
		append_header(&drawing, title);
		append_frames(&drawing);
		text_append_string(text, "</svg>\n");
	} else {
		text->failed = true;
	}
	free(drawing.totals);
	free(drawing.levels);
	free(drawing.lefts);
	svg_difference_free(&drawing.difference);
}
