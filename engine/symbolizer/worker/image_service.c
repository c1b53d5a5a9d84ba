/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one ELF image and its debug information, and sends the tables for address lookups: see serve.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbolizer/elf_image.h"
#include "symbolizer/worker/serve.h"
#include "symbolizer/worker/worker_message.h"

/* Requests a file of the image from iaprof. */
static int find_file(void *context, enum debug_file_kind kind, const void *key, size_t key_size, uint32_t place)
{
	int socket = *(const int *)context, descriptor;
	if (key_size > DEBUG_FILE_KEY_MAX)
		return -ENXIO;
	struct worker_need_file need = { .kind = kind, .place = place };
	struct iovec parts[] = { { .iov_base = &need, .iov_len = sizeof need },
				 { .iov_base = (void *)key, .iov_len = key_size } };
	struct worker_file file;
	struct channel_answer answer = {
		.type = WORKER_FILE, .head = &file, .head_size = sizeof file, .descriptor = &descriptor
	};
	if (channel_send(socket, WORKER_NEED_FILE, parts, 2, -1, NULL) || channel_receive_answer(socket, &answer, NULL))
		_exit(EXIT_FAILURE); /* the channel is broken: nothing is left to do */
	if (file.code)
		return file.code < 0 ? file.code : -EPROTO;
	return descriptor < 0 ? -ENOENT : descriptor;
}

static int send_image(int socket, int code, const struct elf_image *image)
{
	static const struct range_table no_units;
	struct worker_image answer = { .code = image ? 0 : code };
	struct iovec parts[5] = { { .iov_base = &answer, .iov_len = sizeof answer } };
	if (!image)
		return channel_send(socket, WORKER_IMAGE, parts, 1, -1, NULL);
	const struct range_table *units = image->debug_info ? debug_info_unit_ranges(image->debug_info) : &no_units;
	answer.damage = image->damage;
	answer.segment_count = (uint32_t)image->segments.count;
	answer.range_count = (uint32_t)image->symbols.ranges.count;
	answer.names_size = (uint32_t)image->symbols.names_size;
	answer.unit_count = image->debug_info ? (uint32_t)debug_info_unit_count(image->debug_info) : 0;
	answer.unit_range_count = (uint32_t)units->count;
	answer.build_id_size = image->build_id_size;
	memcpy(answer.build_id, image->build_id, sizeof answer.build_id);
	parts[1] = (struct iovec){ image->segments.items, image->segments.count * sizeof *image->segments.items };
	parts[2] = (struct iovec){ image->symbols.ranges.items, answer.range_count * sizeof(struct range) };
	parts[3] = (struct iovec){ image->symbols.names, answer.names_size };
	parts[4] = (struct iovec){ units->items, units->count * sizeof(struct range) };
	return channel_send(socket, WORKER_IMAGE, parts, 5, -1, NULL);
}

/* Frees tables that were sent. */
static void forget_symbols(struct elf_image *image)
{
	symbol_table_free(&image->symbols);
	array_free(&image->segments);
}

int image_service_load(struct image_service *service, int socket, int descriptor)
{
	struct worker_load_image request;
	int code = channel_read(socket, &request, sizeof request, NULL);
	if (code || descriptor < 0)
		return code ? code : -EPROTO;
	elf_image_free(service->image);
	service->image = NULL;
	struct elf_file elf;
	code = elf_file_open(&elf, descriptor);
	if (code)
		return send_image(socket, code, NULL);
	struct debug_file_finder finder = { .context = &socket, .open = find_file };
	service->image = elf_image_new(&elf, &finder, request.lines);
	code = send_image(socket, -ENOMEM, service->image); /* the only possible failure */
	if (service->image)
		forget_symbols(service->image);
	return code;
}

/* Texts of one message. */
struct text {
	ARRAY(char) bytes;
	bool failed;
};

static uint32_t add_text(struct text *text, const char *string)
{
	if (!string || text->failed)
		return WORKER_NO_TEXT;
	size_t size = strlen(string) + 1;
	if (size > WORKER_NO_TEXT - 1 - text->bytes.count || !array_reserve(&text->bytes, text->bytes.count + size)) {
		text->failed = true;
		return WORKER_NO_TEXT;
	}
	memcpy(text->bytes.items + text->bytes.count, string, size);
	text->bytes.count += size;
	return (uint32_t)(text->bytes.count - size);
}

static int send_unit(int socket, const struct debug_unit *unit)
{
	struct worker_unit_lines answer = { .code = unit ? 0 : -ENOEXEC };
	struct iovec parts[6] = { { .iov_base = &answer, .iov_len = sizeof answer } };
	if (!unit)
		return channel_send(socket, WORKER_UNIT_LINES, parts, 1, -1, NULL);
	struct text text = { 0 };
	CLEANUP_FREE uint32_t *files = calloc(unit->files.count + 1, sizeof *files);
	CLEANUP_FREE struct worker_scope *scopes = calloc(unit->scopes.count + 1, sizeof *scopes);
	for (size_t i = 0; files && i < unit->files.count; i++)
		files[i] = add_text(&text, unit->files.items[i]);
	for (size_t i = 0; scopes && i < unit->scopes.count; i++) {
		const struct debug_scope *scope = &unit->scopes.items[i];
		scopes[i] = (struct worker_scope){ .name = add_text(&text, scope->name),
						   .parent = scope->parent,
						   .call_file = scope->call_file,
						   .call_line = scope->call_line };
	}
	int code;
	if (!files || !scopes || text.failed) {
		answer.code = -ENOMEM;
		code = channel_send(socket, WORKER_UNIT_LINES, parts, 1, -1, NULL);
	} else {
		answer.code = unit->code;
		answer.row_count = (uint32_t)unit->rows.count;
		answer.file_count = (uint32_t)unit->files.count;
		answer.scope_count = (uint32_t)unit->scopes.count;
		answer.range_count = (uint32_t)unit->ranges.count;
		answer.text_size = (uint32_t)text.bytes.count;
		parts[1] = (struct iovec){ unit->rows.items, unit->rows.count * sizeof *unit->rows.items };
		parts[2] = (struct iovec){ files, unit->files.count * sizeof *files };
		parts[3] = (struct iovec){ scopes, unit->scopes.count * sizeof *scopes };
		parts[4] = (struct iovec){ unit->ranges.items, unit->ranges.count * sizeof *unit->ranges.items };
		parts[5] = (struct iovec){ text.bytes.items, text.bytes.count };
		code = channel_send(socket, WORKER_UNIT_LINES, parts, 6, -1, NULL);
	}
	array_free(&text.bytes);
	return code;
}

int image_service_unit(struct image_service *service, int socket)
{
	struct worker_unit request;
	int code = channel_read(socket, &request, sizeof request, NULL);
	if (code || !service->image)
		return code ? code : -EPROTO;
	struct debug_info *info = service->image->debug_info;
	const struct debug_unit *unit = info ? debug_info_unit(info, request.unit) : NULL;
	code = send_unit(socket, unit);
	if (unit)
		debug_info_forget_unit(info, request.unit);
	return code;
}
