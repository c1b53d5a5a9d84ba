/* SPDX-License-Identifier: Apache-2.0 */
/* See remote_image.h. */
#include "symbolizer/remote_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "child/channel.h"
#include "symbolizer/remote_read.h"

/* Limit on items per table of a message. The largest programs have about 1,000,000 units, and units of 50 MiB. */
#define COUNT_MAX ((uint32_t)1 << 24)
/* A program has about ten segments. */
#define SEGMENT_COUNT_MAX 1024
/* A child requests the debug file and the file with shared debug information, with a few candidates for each. */
#define FILES_MAX 64

/* A file that was sent to a child, or the error that was sent instead. */
struct remote_file {
	int descriptor; /* -1: none */
	int code;
};

/* Limit for all images together; by default, a process may have 1,024 descriptors. */
#define FILES_HELD_MAX 256

/* UNIT_PUT_OFF: exceeds the limits of BUDGET_QUICK. */
enum unit_state { UNIT_UNKNOWN, UNIT_PUT_OFF, UNIT_KNOWN, UNIT_REFUSED };

struct remote_unit {
	enum unit_state state;
	struct debug_unit unit;
};

/* Opens the files that the child requests: the same as before, or new ones with the finder. */
struct file_source {
	struct remote_image *image;
	const struct debug_file_finder *finder; /* NULL: only known files */
	size_t next;
};

static void forget_files(struct remote_image *image, const struct remote_image_context *context)
{
	context->budget->files_held -= image->files_held;
	image->files_held = 0;
	for (size_t i = 0; i < image->files.count; i++)
		if (image->files.items[i].descriptor >= 0)
			close(image->files.items[i].descriptor);
	array_free(&image->files);
}

void remote_image_rest(struct remote_image *image, const struct remote_image_context *context)
{
	worker_child_end(context->pool, &image->child);
}

void remote_image_free(struct remote_image *image, const struct remote_image_context *context)
{
	if (!image)
		return;
	remote_image_rest(image, context);
	forget_files(image, context);
	for (size_t i = 0; i < image->units.count; i++)
		debug_unit_free(&image->units.items[i].unit);
	array_free(&image->units);
	range_table_free(&image->unit_ranges);
	symbol_table_free(&image->symbols);
	array_free(&image->segments);
	budget_give_back(context->budget, &image->identity, image->charged);
	free(image->path);
	free(image);
}

bool remote_image_address(const struct remote_image *image, uint64_t file_offset, uint64_t *address)
{
	return elf_segments_address(&image->segments, file_offset, address);
}

static int add_file(struct remote_image *image, int descriptor)
{
	struct remote_file file = { .descriptor = descriptor, .code = descriptor < 0 ? descriptor : 0 };
	if (image->files.count >= FILES_MAX || !array_push(&image->files, file)) {
		if (descriptor >= 0)
			close(descriptor);
		return -ENXIO;
	}
	return 0;
}

/* Returns the answer to a NEED_FILE message. A restarted child sends the same requests in the same order. */
static struct remote_file next_file(struct file_source *source, const struct worker_need_file *need, const char *key,
				    size_t key_size)
{
	static const struct remote_file none = { .descriptor = -1, .code = -ENXIO };
	struct remote_image *image = source->image;
	if (source->finder &&
	    add_file(image, source->finder->open(source->finder->context, need->kind, key, key_size, need->place)))
		return none;
	return source->next < image->files.count ? image->files.items[source->next++] : none;
}

static int answer_need(struct file_source *source, const struct remote_reader *reader, uint32_t size)
{
	struct worker_need_file need;
	char key[DEBUG_FILE_KEY_MAX + 1] = { 0 };
	if (size < sizeof need || size - sizeof need > DEBUG_FILE_KEY_MAX)
		return -EPROTO;
	int code = channel_read(reader->socket, &need, sizeof need, &reader->deadline);
	if (!code)
		code = channel_read(reader->socket, key, size - sizeof need, &reader->deadline);
	if (!code && need.kind != DEBUG_FILE_BUILD_ID && need.kind != DEBUG_FILE_LINK && need.kind != DEBUG_FILE_SHARED)
		code = -EPROTO;
	if (code)
		return code;
	if (deadline_has_passed(&reader->deadline))
		return -ETIMEDOUT;
	struct remote_file file = next_file(source, &need, key, size - sizeof need);
	struct worker_file answer = { .code = file.code };
	return channel_send_bytes(reader->socket, WORKER_FILE, &answer, sizeof answer, file.descriptor,
				  &reader->deadline);
}

/* Receives the head of the IMAGE message, after answering requests for files. */
static int receive_head(struct file_source *source, const struct remote_reader *reader, struct worker_image *head,
			uint64_t *rest)
{
	struct channel_header header;
	for (size_t asked = 0;; asked++) {
		int descriptor;
		int code = channel_receive(reader->socket, &header, &descriptor, &reader->deadline);
		if (descriptor >= 0)
			close(descriptor);
		if (code)
			return code;
		if (header.type == WORKER_IMAGE && header.size >= sizeof *head)
			break;
		code = header.type == WORKER_NEED_FILE && asked < FILES_MAX ? answer_need(source, reader, header.size)
									    : -EPROTO;
		if (code)
			return code;
	}
	int code = channel_read(reader->socket, head, sizeof *head, &reader->deadline);
	*rest = header.size - sizeof *head;
	return code;
}

static uint64_t contents_size(const struct worker_image *head)
{
	return head->segment_count * sizeof(struct elf_segment) + head->range_count * sizeof(struct range) +
	       head->names_size + head->unit_range_count * sizeof(struct range);
}

/* Every unit covers at least one range: memory for units is bounded by what was sent. */
static bool is_sane(const struct worker_image *head, uint64_t rest)
{
	return head->segment_count <= SEGMENT_COUNT_MAX && head->range_count <= COUNT_MAX &&
	       head->unit_count <= head->unit_range_count && head->unit_range_count <= COUNT_MAX &&
	       head->build_id_size <= IAPROF_MODULE_BUILD_ID_SIZE_MAX && rest == contents_size(head);
}

/* Receives the tables of an image, which the image frees even after a failure. */
static int receive_contents(struct remote_image *image, const struct remote_reader *reader,
			    const struct worker_image *head)
{
	const struct remote_part parts[] = { REMOTE_PART(image->segments.items, head->segment_count),
					     REMOTE_PART(image->symbols.ranges.items, head->range_count),
					     REMOTE_PART(image->symbols.names, head->names_size),
					     REMOTE_PART(image->unit_ranges.items, head->unit_range_count) };
	image->units.items = calloc((size_t)head->unit_count + 1, sizeof *image->units.items);
	int code = image->units.items ? remote_read_parts(reader, parts, sizeof parts / sizeof *parts) : -ENOMEM;
	if (!code && head->names_size && image->symbols.names[head->names_size - 1])
		code = -EBADMSG;
	if (!code)
		code = remote_check_ranges(&image->symbols.ranges, head->range_count, head->names_size);
	if (!code)
		code = remote_check_ranges(&image->unit_ranges, head->unit_range_count, head->unit_count);
	if (code)
		return code;
	image->segments.count = head->segment_count;
	image->symbols.names_size = head->names_size;
	image->units.count = head->unit_count;
	image->damage = head->damage;
	image->build_id_size = head->build_id_size;
	memcpy(image->build_id, head->build_id, sizeof image->build_id);
	return 0;
}

/* Sends the image's own file to a child. */
static int start_reader(const struct remote_image *image, bool lines, const struct remote_reader *reader)
{
	struct worker_load_image request = { .lines = lines };
	return channel_send_bytes(reader->socket, WORKER_LOAD_IMAGE, &request, sizeof request,
				  image->files.items[0].descriptor, &reader->deadline);
}

/* *deadline is set once the child has been started. */
static int load(struct remote_image *image, const struct remote_image_context *context,
		const struct remote_image_request *request, struct deadline *deadline, const char **reason)
{
	int copy = fcntl(request->descriptor, F_DUPFD_CLOEXEC, 3);
	int code = copy < 0 ? -errno : add_file(image, copy);
	if (!code)
		code = worker_child_start(context->pool, &image->child,
					  budget_data_limit(context->budget, request->file, request->patience));
	if (code)
		return code;
	*deadline = budget_deadline(context->budget, request->file, request->patience);
	struct remote_reader reader = { .socket = image->child.socket, .deadline = *deadline };
	reader.deadline.helper = &image->child.process;
	struct file_source source = { .image = image, .finder = request->finder, .next = 1 };
	struct worker_image head;
	uint64_t rest;
	code = start_reader(image, request->lines, &reader);
	if (!code)
		code = receive_head(&source, &reader, &head, &rest);
	if (!code && head.code)
		return channel_error(head.code);
	if (!code && !is_sane(&head, rest))
		code = -EBADMSG;
	uint64_t size = contents_size(&head) + head.unit_count * sizeof(struct remote_unit);
	if (!code && !budget_take(context->budget, request->file, size))
		code = -EDQUOT;
	if (code == -ETIMEDOUT && budget_is_over(context->budget))
		*reason = "the run ended before it was read";
	if (code)
		return code;
	image->charged = size;
	return receive_contents(image, &reader, &head);
}

/* Keeps the files, to read the image again; beyond the limit, they are closed and the image is read only once. */
static void hold_files(struct remote_image *image, const struct remote_image_context *context)
{
	image->files_held = image->files.count;
	context->budget->files_held += image->files_held;
	if (context->budget->files_held > FILES_HELD_MAX)
		forget_files(image, context);
}

static void note_damage(const struct remote_image *image, const struct remote_image_context *context)
{
	static const char *const reasons[] = {
		"its symbol table is damaged",
		"its debug file is damaged or belongs to another build",
		"its debug information is damaged or too large",
		"the names of its sections are damaged",
		"the file with the debug information that it shares with others (dwz) is missing or of another build",
	};
	char text[256];
	size_t length = 0;
	for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (image->damage & 1u << i)
			length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", length ? ", " : "",
						   reasons[i]);
	if (length)
		budget_refuse(context->budget, &image->identity, image->path, text, 0);
}

int remote_image_load(struct remote_image **image, const struct remote_image_context *context,
		      const struct remote_image_request *request)
{
	struct deadline deadline = deadline_make(NULL, 0);
	const char *reason = NULL;
	struct remote_image *made = calloc(1, sizeof *made);
	if (!made)
		return -ENOMEM;
	made->child = WORKER_CHILD_NONE;
	made->identity = *request->file;
	made->path = strdup(request->path);
	if (!made->path) {
		free(made);
		return -ENOMEM;
	}
	atomic_store(&context->budget->reading, request->path);
	int code = load(made, context, request, &deadline, &reason);
	atomic_store(&context->budget->reading, NULL);
	bool is_short = request->patience == BUDGET_QUICK && !budget_trusts(context->budget, request->file);
	if (is_short && (code == -ETIMEDOUT || code == -ENOMEM || code == -EPIPE)) {
		remote_image_free(made, context);
		return -EAGAIN;
	}
	if (code) {
		if (code != -ENOEXEC || !request->may_be_data)
			budget_refuse(context->budget, request->file, request->path,
				      reason ? reason : worker_reason(code), deadline_spent(&deadline));
		remote_image_free(made, context);
		return code;
	}
	note_damage(made, context);
	/* Without debug information there are no further requests. */
	if (!made->units.count) {
		if (request->own_root && budget_trusts(context->budget, request->file))
			worker_child_hand_on(context->pool, &made->child, BUDGET_DATA_TRUSTED);
		remote_image_rest(made, context);
		forget_files(made, context);
	}
	hold_files(made, context);
	made->used = clock_monotonic();
	budget_charge_excess(context->budget, request->file, &deadline);
	*image = made;
	return 0;
}

/* Restarts the child of an image if it was ended. */
static int wake(struct remote_image *image, const struct remote_image_context *context,
		const struct remote_reader *limits)
{
	if (image->child.socket >= 0)
		return 0;
	if (!image->files.count)
		return -EMFILE;
	int code = worker_child_start(context->pool, &image->child,
				      budget_data_limit(context->budget, &image->identity, BUDGET_FULL));
	if (code)
		return code;
	struct remote_reader reader = { .socket = image->child.socket, .deadline = limits->deadline };
	struct file_source source = { .image = image, .next = 1 };
	struct worker_image head;
	uint64_t rest;
	code = start_reader(image, true, &reader);
	if (!code)
		code = receive_head(&source, &reader, &head, &rest);
	if (!code && (head.code || head.unit_count != image->units.count || !is_sane(&head, rest)))
		code = -EBADMSG;
	return code ? code : remote_read_over(&reader, rest);
}

static int receive_unit(struct remote_image *image, const struct remote_image_context *context,
			const struct remote_reader *reader, uint32_t position)
{
	struct worker_unit request = { .unit = position };
	struct worker_unit_lines head;
	struct channel_answer answer = {
		.type = WORKER_UNIT_LINES, .head = &head, .head_size = sizeof head, .rest_max = UINT32_MAX
	};
	int code = channel_ask(reader->socket, WORKER_UNIT, &request, sizeof request, -1, &answer, &reader->deadline);
	if (code)
		return code;
	uint64_t size = (uint64_t)head.row_count * sizeof(struct line_row) +
			(uint64_t)head.file_count * sizeof(uint32_t) +
			(uint64_t)head.scope_count * sizeof(struct worker_scope) +
			(uint64_t)head.range_count * sizeof(struct range) + head.text_size;
	if (size != answer.rest)
		return -EBADMSG;
	if (!budget_take(context->budget, &image->identity, size))
		return -EDQUOT;
	code = remote_read_unit(reader, &head, &image->units.items[position].unit);
	if (code)
		budget_give_back(context->budget, &image->identity, size);
	else
		image->charged += size;
	return code;
}

/* Requests a unit; a failure is recorded, and the unit is not requested again. */
static void fetch(struct remote_image *image, const struct remote_image_context *context, uint32_t position,
		  enum budget_patience patience)
{
	struct remote_unit *unit = &image->units.items[position];
	struct remote_reader reader = { .deadline = budget_deadline(context->budget, &image->identity, patience) };
	reader.deadline.helper = &image->child.process;
	atomic_store(&context->budget->reading, image->path);
	int code = wake(image, context, &reader);
	reader.socket = image->child.socket;
	if (!code)
		code = receive_unit(image, context, &reader, position);
	atomic_store(&context->budget->reading, NULL);
	if (code == -ETIMEDOUT && patience == BUDGET_QUICK) {
		remote_image_rest(image, context);
		unit->state = UNIT_PUT_OFF;
		return;
	}
	unit->state = code ? UNIT_REFUSED : UNIT_KNOWN;
	image->used = clock_monotonic();
	image->units_damaged += code || unit->unit.code;
	if (!code)
		return;
	remote_image_rest(image, context);
	budget_refuse(context->budget, &image->identity, image->path, "its source lines cannot be read",
		      deadline_spent(&reader.deadline));
	/* If the image can no longer be read, no further unit is requested. */
	if (code != -ENOEXEC)
		for (size_t i = 0; i < image->units.count; i++)
			if (image->units.items[i].state <= UNIT_PUT_OFF)
				image->units.items[i].state = UNIT_REFUSED;
}

size_t remote_image_lines(struct remote_image *image, const struct remote_image_context *context, uint64_t address,
			  struct debug_frame *frames, size_t capacity)
{
	const struct range *found = range_table_find(&image->unit_ranges, address);
	if (!found)
		return 0;
	if (image->units.items[found->value].state <= UNIT_PUT_OFF)
		fetch(image, context, found->value, BUDGET_FULL);
	const struct remote_unit *unit = &image->units.items[found->value];
	return unit->state == UNIT_KNOWN ? debug_unit_find(&unit->unit, address, frames, capacity) : 0;
}

void remote_image_prefetch(struct remote_image *image, const struct remote_image_context *context, uint64_t address)
{
	const struct range *found = range_table_find(&image->unit_ranges, address);
	if (found && image->units.items[found->value].state == UNIT_UNKNOWN)
		fetch(image, context, found->value, BUDGET_QUICK);
}
