/* SPDX-License-Identifier: Apache-2.0 */
/* See perf_header.h. */
#include "perf_header.h"
#include "text/text_span.h"

/* TASK_COMM_LEN of the Linux kernel, without the NUL. */
#define COMM_LENGTH_MAX 15

/* Addresses from here on belong to the Linux kernel, on x86-64 and arm64. */
#define KERNEL_ADDRESS UINT64_C(0xffff000000000000)

static bool is_cpu(struct text_span word)
{
	uint64_t number;
	return word.length > 2 && word.text[0] == '[' && word.text[word.length - 1] == ']' &&
	       span_decimal(span_part(word, 1, word.length - 1), &number);
}

/* Parses "1095.746430:", or the same with nanoseconds. */
static bool is_time(struct text_span word, uint64_t *time)
{
	return word.length > 4 && word.text[word.length - 1] == ':' && memchr(word.text, '.', word.length) &&
	       span_seconds(span_part(word, 0, word.length - 1), time);
}

static bool is_event(struct text_span word)
{
	return word.length > 1 && word.text[word.length - 1] == ':';
}

/* Parses "12/34", "12", or -1 for both. */
static bool is_thread(struct text_span word, uint32_t *pid)
{
	struct text_span part;
	int64_t numbers[2] = { 0, 0 };
	size_t count = 0;
	while (span_take_field(&word, '/', &part))
		if (count == 2 || !span_signed(part, &numbers[count++]))
			return false;
	*pid = count == 2 && numbers[0] > 0 && numbers[0] <= INT32_MAX ? (uint32_t)numbers[0] : 0;
	return count > 0;
}

/* Parses the rest of the line after the program and its thread; false if it has another format. */
static bool read_fields(struct text_span span, struct perf_header *header)
{
	struct text_span before = span, word = span_take_word(&span), next = span, other;
	struct text_frame frame;
	if (is_cpu(word)) {
		before = span;
		word = span_take_word(&span);
		next = span;
	}
	/* CPU mode or scheduling reason: one word with -F +misc, +flags or --Latency. */
	other = span_take_word(&next);
	if (!is_time(word, &header->time) && is_time(other, &header->time)) {
		word = other;
		span = next;
	}
	header->has_time = is_time(word, &header->time);
	if (header->has_time) {
		before = span;
		word = span_take_word(&span);
	}
	header->has_period = span_decimal(word, &header->period);
	if (header->has_period) {
		before = span;
		word = span_take_word(&span);
	}
	if (is_event(word)) {
		header->event = span_part(word, 0, word.length - 1);
		before = span;
	}
	header->is_certain = header->has_time || header->event.length;
	header->rest = span_trim(before);
	/* Anything may follow an event, such as the fields of tracepoints. */
	return header->event.length || !header->rest.length || span_begins(header->rest, "PERF_RECORD_") ||
	       (header->has_time && perf_frame_read(header->rest, &frame));
}

/*
 * Program names may contain blanks and digits: the name ends at the first number after which the rest of the line
 * matches.
 */
static bool read_with_thread(struct text_span line, struct perf_header *header)
{
	bool found = false;
	for (size_t i = 0; i < line.length && (!found || !header->is_certain); i++) {
		if ((i && !is_blank(line.text[i - 1])) || (!is_digit(line.text[i]) && line.text[i] != '-'))
			continue;
		struct text_span rest = span_part(line, i, line.length), word = span_take_word(&rest);
		struct perf_header tried = { .comm = span_trim(span_part(line, 0, i)), .has_thread = true };
		if (!is_thread(word, &tried.pid) || !read_fields(rest, &tried))
			continue;
		if (tried.is_certain || (!found && tried.comm.length && tried.comm.length <= COMM_LENGTH_MAX)) {
			*header = tried;
			found = true;
		}
	}
	return found;
}

/* If there is no thread, the name extends to the time, or to the event and its period. */
static bool read_without_thread(struct text_span line, struct perf_header *header)
{
	struct text_span rest = line;
	size_t end = 0; /* end of the program's name */
	for (;;) {
		struct text_span from = rest, word = span_take_word(&rest), peek = rest;
		uint64_t number;
		if (!word.length)
			return false;
		bool is_period = span_decimal(word, &number) && is_event(span_take_word(&peek));
		if (is_time(word, &number) || is_event(word) || is_period || is_cpu(word)) {
			*header = (struct perf_header){ .comm = span_trim(span_part(line, 0, end)) };
			if (header->comm.length <= COMM_LENGTH_MAX && read_fields(from, header) && header->is_certain)
				return true;
		}
		end = (size_t)(rest.text - line.text);
	}
}

bool perf_header_read(struct text_span line, struct perf_header *header)
{
	line = span_trim(line);
	if (!line.length)
		return false;
	struct perf_header uncertain;
	bool is_uncertain = read_with_thread(line, &uncertain);
	if (is_uncertain && uncertain.is_certain) {
		*header = uncertain;
		return true;
	}
	if (read_without_thread(line, header))
		return true;
	*header = is_uncertain ? uncertain : (struct perf_header){ .comm = line };
	return is_uncertain || line.length <= COMM_LENGTH_MAX;
}

/* Splits off "(MODULE)" at the end, which may itself contain parentheses, as in "(/tmp/a (deleted))". */
static bool take_module(struct text_span *line, struct text_span *module)
{
	size_t begin = line->length;
	unsigned depth = 0;
	if (!begin || line->text[begin - 1] != ')')
		return false;
	do {
		char character = line->text[--begin];
		depth += character == ')';
		depth -= character == '(';
	} while (depth && begin > 0);
	if (depth || (begin > 0 && !is_blank(line->text[begin - 1])))
		return false;
	*module = span_part(*line, begin + 1, line->length - 1);
	*line = span_trim(span_part(*line, 0, begin));
	return true;
}

static void drop_offset(struct text_span *symbol)
{
	size_t begin = symbol->length;
	while (begin > 0 && is_hexadecimal(symbol->text[begin - 1]))
		begin--;
	if (begin > 3 && begin < symbol->length && memcmp(symbol->text + begin - 3, "+0x", 3) == 0)
		symbol->length = begin - 3;
}

/* Returns whether a path is the file of a kernel module: "xe.ko", possibly compressed. */
static bool is_module_file(struct text_span path)
{
	static const char *const ends[] = { ".ko", ".ko.xz", ".ko.gz", ".ko.zst" };
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (span_ends(path, ends[i]))
			return true;
	return false;
}

static struct text_span base_name(struct text_span path)
{
	size_t begin = path.length;
	while (begin > 0 && path.text[begin - 1] != '/')
		begin--;
	return span_part(path, begin, path.length);
}

static uint32_t kind_of(struct text_span module, uint64_t address)
{
	static const char *const of_user[] = { "[vdso]", "[vsyscall]", "[heap]", "[stack]", "[unknown]", "[anon]" };
	struct text_span name = base_name(module);
	/* Android's runtime, in the text of simpleperf: memory with a name, and files in memory. */
	if (span_begins(module, "[anon:") || span_begins(module, "[JIT") || span_begins(name, "memfd:jit-"))
		return !span_begins(module, "[anon:") || memmem(module.text, module.length, "jit", 3)
			       ? IAPROF_FRAME_JIT
			       : IAPROF_FRAME_USER;
	if (!module.length || span_is(module, "[unknown]"))
		return address >= KERNEL_ADDRESS ? IAPROF_FRAME_LINUX_KERNEL : IAPROF_FRAME_USER;
	if ((span_begins(name, "perf-") && span_ends(name, ".map")) || span_begins(name, "jitted-"))
		return IAPROF_FRAME_JIT;
	if (is_module_file(name) || span_begins(name, "vmlinux") || span_begins(name, "bpf_prog_") ||
	    span_begins(name, "bpf_trampoline"))
		return IAPROF_FRAME_LINUX_KERNEL;
	if (!name.length || name.text[0] != '[' || name.text[name.length - 1] != ']')
		return IAPROF_FRAME_USER;
	for (size_t i = 0; i < sizeof of_user / sizeof *of_user; i++)
		if (span_is(name, of_user[i]))
			return IAPROF_FRAME_USER;
	/*
	 * Returns whether a name is "[kernel.kallsyms]", "[guest.kernel.kallsyms]", "[bpf]", or a module such as
	 * "[xe]".
	 */
	return IAPROF_FRAME_LINUX_KERNEL;
}

bool perf_frame_read(struct text_span line, struct text_frame *frame)
{
	line = span_trim(line);
	uint64_t address;
	if (!span_hexadecimal(span_take_word(&line), &address))
		return false;
	/* The instruction at an address of a branch (-F +brstackinsn). */
	if (span_begins(span_trim(line), "insn:") || span_begins(span_trim(line), "ilen:"))
		return false;
	*frame = (struct text_frame){ .kind = IAPROF_FRAME_USER };
	line = span_trim(line);
	take_module(&line, &frame->module);
	drop_offset(&line);
	frame->name = line;
	if (span_is(frame->module, "inlined")) {
		frame->module = (struct text_span){ 0 };
		frame->flags = IAPROF_FRAME_INLINED;
	}
	frame->kind = kind_of(frame->module, address);
	if (!line.length || span_is(line, "[unknown]")) {
		frame->name = span_of("[unknown]");
		frame->flags |= IAPROF_FRAME_UNKNOWN;
	}
	if (span_is(frame->module, "[unknown]"))
		frame->module = (struct text_span){ 0 };
	return true;
}
