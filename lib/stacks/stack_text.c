/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_text.h. */
#include "stacks/stack_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturating.h"
#include "text/printable.h"

const char *const stack_text_pid_choices[] = { "auto", "yes", "no", NULL };
const char *const stack_text_threads_choices[] = { "no", "yes", "name", NULL };
const char *const stack_text_blame_choices[] = { "waiter", "producer", NULL };

void stack_text_request(const struct stack_text_options *options, const struct iaprof_host *host)
{
	host->request(host, (options->lines || options->inlined ? IAPROF_REQUEST_LINES : 0u) |
				    (options->pid != STACK_TEXT_PID_NO ? IAPROF_REQUEST_PIDS : 0u) |
				    (options->threads != STACK_TEXT_THREADS_NO ? IAPROF_REQUEST_THREADS : 0u) |
				    (options->blame == STACK_TEXT_BLAME_PRODUCER ? IAPROF_REQUEST_PRODUCERS : 0u) |
				    (options->spans ? IAPROF_REQUEST_SPANS : 0u));
}

static const char *frame_suffix(const struct iaprof_frame *frame)
{
	switch (frame->kind) {
	case IAPROF_FRAME_DEVICE_SOURCE:
	case IAPROF_FRAME_DEVICE_FUNCTION:
		return "_[G]";
	case IAPROF_FRAME_DEVICE_INSTRUCTION:
	case IAPROF_FRAME_STALL_REASON:
	case IAPROF_FRAME_DEVICE_OFFSET:
		return "_[g]";
	case IAPROF_FRAME_USER:
	case IAPROF_FRAME_LINUX_KERNEL:
	case IAPROF_FRAME_JIT:
		if (frame->flags & IAPROF_FRAME_INLINED)
			return "_[i]";
		return frame->kind == IAPROF_FRAME_LINUX_KERNEL ? "_[k]"
		       : frame->kind == IAPROF_FRAME_JIT        ? "_[j]"
								: "";
	default:
		return "";
	}
}

static bool is_on_device(uint32_t kind)
{
	return kind == IAPROF_FRAME_SEPARATOR ||
	       (kind >= IAPROF_FRAME_DEVICE_SOURCE && kind <= IAPROF_FRAME_DEVICE_OFFSET);
}

/*
 * A frame must not end like a value: flamegraph.pl parses "a;b 12 34" as the stack "a;b" before (12) and after (34) a
 * change. Its \s and \d match Unicode, so the blank before a tail of digits and non-ASCII characters is replaced, too.
 */
static void join_number(char *text, size_t length)
{
	size_t tail = length;
	while (tail > 0 && ((text[tail - 1] >= '0' && text[tail - 1] <= '9') || text[tail - 1] == '.' ||
			    (unsigned char)text[tail - 1] >= 0x80))
		tail--;
	if (tail > 0 && tail < length && text[tail - 1] == ' ')
		text[tail - 1] = '_';
}

/* Returns whether the module replaces the name, because the function is unknown. */
static bool is_named_by_module(const struct iaprof_frame *frame)
{
	return (frame->flags & IAPROF_FRAME_UNKNOWN) && frame->module && strcmp(frame->name, "[unknown]") == 0;
}

/* Appends " FILE:LINE", with separator instead of the blank. */
static void append_place(struct text *text, const struct iaprof_frame *frame, const char *separator)
{
	if (!frame->file)
		return;
	text_append_string(text, separator);
	text_append_name(text, path_name(frame->file));
	if (frame->line)
		text_append_format(text, ":%" PRIu32, frame->line);
}

static void append_name(struct text *text, const struct iaprof_frame *frame, bool with_module)
{
	bool is_producer = frame->flags & IAPROF_FRAME_PRODUCER;
	/* The arrow distinguishes it from the waiting instruction, which can have the same name. */
	if (is_producer)
		text_append_string(text, "<- ");
	if (is_named_by_module(frame)) {
		/* As in stackcollapse-perf.pl. Names such as [vdso] have brackets already. */
		const char *module = path_name(frame->module);
		text_append_string(text, module[0] == '[' ? "" : "[");
		text_append_name(text, module);
		text_append_string(text, module[0] == '[' ? "" : "]");
	} else {
		if (with_module && frame->module) {
			text_append_name(text, path_name(frame->module));
			text_append_string(text, "`");
		}
		size_t name = text->size;
		text_append_name(text, frame->name);
		if (text->size == name)
			text_append_string(text, "[unknown]");
	}
	if (is_producer)
		append_place(text, frame, " ");
}

void frame_name_append(struct text *text, const struct iaprof_frame *frame)
{
	append_name(text, frame, false);
}

void frame_name_append_json(struct text *text, const struct iaprof_frame *frame)
{
	struct text name = { 0 };
	frame_name_append(&name, frame);
	if (frame->kind == IAPROF_FRAME_PROCESS && frame->pid) /* distinguishes equal names */
		text_append_format(&name, " (%" PRIu32 ")", frame->pid);
	text_append_json(text, text_string(&name));
	text->failed |= name.failed;
	text_free(&name);
}

void thread_name_append(struct text *text, const struct iaprof_stack_origin *origin)
{
	size_t begin = text->size;
	if (origin->thread)
		text_append_name(text, origin->thread);
	if (text->size == begin && origin->tid)
		text_append_string(text, "[thread]");
	if (origin->tid)
		text_append_format(text, " (%" PRIu32 ")", origin->tid);
}

struct iaprof_stack_origin thread_of_stack(const struct iaprof_profile *profile, uint32_t stack, uint64_t choice)
{
	struct iaprof_stack_origin origin = { 0 };
	if (choice == STACK_TEXT_THREADS_NO)
		return origin;
	origin = iaprof_profile_stack(profile, stack)->origin;
	origin.device = NULL;
	if (choice == STACK_TEXT_THREADS_NAME && origin.thread)
		origin.tid = 0;
	return origin;
}

/* ';' separates frames; ':' replaces it, as in stackcollapse-perf.pl. */
static void end_frame(struct text *text, size_t begin)
{
	if (text->failed)
		return;
	for (size_t i = begin; i < text->size; i++)
		if (text->data[i] == ';')
			text->data[i] = ':';
	join_number(text->data + begin, text->size - begin);
}

void stack_text_append_frame(struct text *text, const struct iaprof_frame *frame,
			     const struct stack_text_options *options)
{
	size_t begin = text->size;
	append_name(text, frame, options->module);
	if (options->lines && !(frame->flags & IAPROF_FRAME_PRODUCER))
		append_place(text, frame, ":");
	if (options->annotate)
		text_append_string(text, frame_suffix(frame));
	end_frame(text, begin);
}

bool stack_text_frame_is_hidden(const struct iaprof_frame *frame, const struct stack_text_options *options)
{
	if (frame->flags & IAPROF_FRAME_PRODUCER)
		return options->blame != STACK_TEXT_BLAME_PRODUCER;
	return !options->lines && !options->inlined && (frame->flags & IAPROF_FRAME_INLINED) &&
	       !is_on_device(frame->kind);
}

/* Returns by frame id whether it is the outermost device function of a stack; NULL: out of memory. */
static bool *kernels_find(const struct iaprof_profile *profile)
{
	bool *kernels = calloc(profile->frame_count + 1, sizeof *kernels);
	for (uint32_t i = 0; kernels && i < profile->stack_count; i++) {
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, i);
		uint32_t k = 0;
		while (k < stack->frame_count &&
		       iaprof_profile_frame(profile, stack->frames[k])->kind != IAPROF_FRAME_DEVICE_FUNCTION)
			k++;
		if (k < stack->frame_count)
			kernels[stack->frames[k]] = true;
	}
	return kernels;
}

/* Appends the class of a GPU kernel as a frame before it. */
static void append_class(struct text *text, const char *class, const struct iaprof_frame *kernel,
			 const struct stack_text_options *options)
{
	const struct iaprof_frame frame = { .name = class, .kind = kernel->kind };
	const struct stack_text_options plain = { .annotate = options->annotate };
	if (class) {
		stack_text_append_frame(text, &frame, &plain);
		text_append_string(text, ";");
	}
}

static int frames_make(struct stack_rows *rows, const struct iaprof_profile *profile,
		       const struct stack_text_options *options)
{
	CLEANUP_FREE bool *kernels = options->classes ? kernels_find(profile) : NULL;
	rows->frames = calloc(profile->frame_count + 1, sizeof *rows->frames);
	if (!rows->frames || (options->classes && !kernels))
		return -ENOMEM;
	for (size_t i = 0; i < profile->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, (uint32_t)i);
		struct frame_text *made = &rows->frames[i];
		made->offset = rows->texts.size;
		made->hidden = stack_text_frame_is_hidden(frame, options);
		if (made->hidden)
			continue;
		if (kernels && kernels[i])
			append_class(&rows->texts, iaprof_profile_kernel_class(profile, (uint32_t)i), frame, options);
		stack_text_append_frame(&rows->texts, frame, options);
		made->length = (uint32_t)(rows->texts.size - made->offset);
		if (frame->kind == IAPROF_FRAME_PROCESS && frame->pid)
			text_append_format(&rows->texts, ";%" PRIu32, frame->pid);
		made->pid_length = (uint32_t)(rows->texts.size - made->offset - made->length);
	}
	return rows->texts.failed ? -ENOMEM : 0;
}

/* Stacks of one thread usually follow each other and share the text. */
static int threads_make(struct stack_rows *rows, const struct iaprof_profile *profile, uint64_t choice)
{
	if (choice == STACK_TEXT_THREADS_NO)
		return 0;
	rows->threads = calloc(profile->stack_count + 1, sizeof *rows->threads);
	if (!rows->threads)
		return -ENOMEM;
	struct iaprof_stack_origin last = { 0 };
	for (uint32_t i = 0; i < profile->stack_count; i++) {
		struct iaprof_stack_origin origin = thread_of_stack(profile, i, choice);
		if (i && origin.thread == last.thread && origin.tid == last.tid) {
			rows->threads[i] = rows->threads[i - 1];
			continue;
		}
		size_t begin = rows->texts.size;
		text_append_string(&rows->texts, ";");
		thread_name_append(&rows->texts, &origin);
		end_frame(&rows->texts, begin + 1);
		bool is_known = rows->texts.size > begin + 1;
		rows->threads[i] = (struct frame_text){ .offset = begin,
							.length = is_known ? (uint32_t)(rows->texts.size - begin) : 0 };
		last = origin;
	}
	return rows->texts.failed ? -ENOMEM : 0;
}

static bool stack_wants_pid(const struct iaprof_profile *profile, const struct iaprof_stack *stack, uint64_t choice)
{
	if (choice != STACK_TEXT_PID_AUTO)
		return choice == STACK_TEXT_PID_YES;
	for (uint32_t i = 0; i < stack->frame_count; i++)
		if (is_on_device(iaprof_profile_frame(profile, stack->frames[i])->kind))
			return true;
	return false;
}

/* Reads a stack's text byte by byte, without building it. */
struct stack_reader {
	const struct stack_rows *rows;
	const struct iaprof_stack *stack;
	const struct frame_text *thread; /* NULL: none, or read */
	bool pid;
	uint32_t position; /* the next frame */
	const char *next, *end;
};

static struct stack_reader reader_make(const struct stack_rows *rows, const struct stack_row *row)
{
	return (struct stack_reader){ .rows = rows,
				      .stack = iaprof_profile_stack(rows->profile, row->stack),
				      .thread = rows->threads ? &rows->threads[row->stack] : NULL,
				      .pid = row->pid };
}

static int reader_byte(struct stack_reader *reader)
{
	while (reader->next == reader->end) {
		if (reader->position && reader->thread) {
			reader->next = reader->rows->texts.data + reader->thread->offset;
			reader->end = reader->next + reader->thread->length;
			reader->thread = NULL;
			continue;
		}
		if (reader->position == reader->stack->frame_count)
			return -1;
		const struct frame_text *frame = &reader->rows->frames[reader->stack->frames[reader->position++]];
		if (frame->hidden)
			continue;
		reader->next = reader->rows->texts.data + frame->offset;
		reader->end = reader->next + frame->length + (reader->pid ? frame->pid_length : 0);
		if (reader->position > 1)
			return ';';
	}
	return (unsigned char)*reader->next++;
}

static int text_compare(const struct stack_rows *rows, const struct stack_row *a, const struct stack_row *b)
{
	struct stack_reader left = reader_make(rows, a), right = reader_make(rows, b);
	if (a->stack == b->stack)
		return 0;
	/* Most stacks share their first frames: skip those by id. */
	bool is_same_thread = !rows->threads || (left.thread->offset == right.thread->offset &&
						 left.thread->length == right.thread->length);
	if (is_same_thread)
		left.thread = right.thread = NULL;
	while (a->pid == b->pid && is_same_thread && left.position < left.stack->frame_count &&
	       right.position < right.stack->frame_count &&
	       left.stack->frames[left.position] == right.stack->frames[right.position])
		left.position++, right.position++;
	for (;;) {
		int left_byte = reader_byte(&left);
		int right_byte = reader_byte(&right);
		if (left_byte != right_byte || left_byte < 0)
			return (left_byte > right_byte) - (left_byte < right_byte);
	}
}

/* Stacks without a span come first. */
static int span_compare(const struct stack_rows *rows, const struct stack_row *a, const struct stack_row *b)
{
	static const struct iaprof_span none;
	if (!rows->spans)
		return 0;
	const struct iaprof_span *left = iaprof_profile_stack_span(rows->profile, a->stack);
	const struct iaprof_span *right = iaprof_profile_stack_span(rows->profile, b->stack);
	return memcmp(left ? left : &none, right ? right : &none, sizeof none);
}

static int row_compare(const void *left, const void *right, void *context)
{
	const struct stack_row *a = left, *b = right;
	if (a->value_type != b->value_type)
		return a->value_type < b->value_type ? -1 : 1;
	int result = text_compare(context, a, b);
	if (!result)
		result = span_compare(context, a, b);
	return result ? result : (a->stack > b->stack) - (a->stack < b->stack);
}

int stack_rows_make(struct stack_rows *rows, const struct iaprof_profile *profile,
		    const struct stack_text_options *options)
{
	*rows = (struct stack_rows){ .profile = profile, .spans = options->spans };
	int result = frames_make(rows, profile, options);
	if (result == 0)
		result = threads_make(rows, profile, options->threads);
	if (result < 0)
		return result;
	rows->rows = calloc(profile->value_count + 1, sizeof *rows->rows);
	if (!rows->rows)
		return -ENOMEM;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		rows->rows[i] = (struct stack_row){ .value_type = value->value_type,
						    .stack = value->stack,
						    .pid = stack_wants_pid(profile, stack, options->pid),
						    .value = value->value,
						    .count = value->count };
		if (profile->flags & IAPROF_PROFILE_DIFFERENCE) { /* otherwise, the members may not exist */
			rows->rows[i].before = value->before;
			rows->rows[i].before_count = value->before_count;
		}
	}
	qsort_r(rows->rows, profile->value_count, sizeof *rows->rows, row_compare, rows);
	for (size_t i = 0; i < profile->value_count; i++) {
		struct stack_row *last = rows->count ? &rows->rows[rows->count - 1] : NULL;
		const struct stack_row *row = &rows->rows[i];
		if (last && last->value_type == row->value_type && text_compare(rows, last, row) == 0 &&
		    span_compare(rows, last, row) == 0) {
			last->value = saturating_add(last->value, row->value);
			last->count = saturating_add(last->count, row->count);
			last->before = saturating_add(last->before, row->before);
			last->before_count = saturating_add(last->before_count, row->before_count);
		} else
			rows->rows[rows->count++] = *row;
	}
	return 0;
}

void stack_rows_free(struct stack_rows *rows)
{
	free(rows->frames);
	free(rows->threads);
	free(rows->rows);
	text_free(&rows->texts);
	*rows = (struct stack_rows){ 0 };
}

void stack_rows_append_stack(const struct stack_rows *rows, const struct stack_row *row, struct text *text)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(rows->profile, row->stack);
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct frame_text *frame = &rows->frames[stack->frames[i]];
		if (frame->hidden)
			continue;
		if (i)
			text_append(text, ";", 1);
		text_append(text, rows->texts.data + frame->offset, frame->length + (row->pid ? frame->pid_length : 0));
		if (!i && rows->threads)
			text_append(text, rows->texts.data + rows->threads[row->stack].offset,
				    rows->threads[row->stack].length);
	}
}

uint32_t stack_rows_leaf(const struct stack_rows *rows, const struct stack_row *row)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(rows->profile, row->stack);
	uint32_t leaf = stack->frame_count - 1;
	while (leaf > 0 && rows->frames[stack->frames[leaf]].hidden)
		leaf--;
	return leaf;
}

void stack_rows_append_frame(const struct stack_rows *rows, const struct stack_row *row, uint32_t position,
			     struct text *text)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(rows->profile, row->stack);
	if (position >= stack->frame_count)
		return;
	const struct frame_text *frame = &rows->frames[stack->frames[position]];
	text_append(text, rows->texts.data + frame->offset, frame->length);
}
