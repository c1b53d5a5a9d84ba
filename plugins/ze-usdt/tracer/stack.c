/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinds the calling thread's stack, and caches its shape. */
#include "stack.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Number of the frame pointer among the registers of DWARF (System V ABI, x86-64 supplement, figure 3.36). */
#define DWARF_FRAME_POINTER 6

/* A larger frame is taken for an invalid frame pointer. */
#define FRAME_SIZE_MAX (UINT64_C(8) << 20)

/* Stacks are cached by call depth. */
#define BUCKETS 256
#define BUCKET_LENGTH_MAX 16

/* Cache limits per thread and in total: enough for a few hundred launch sites. */
#define THREAD_BYTES_MAX (UINT64_C(1) << 20)
#define PROCESS_BYTES_MAX (UINT64_C(64) << 20)

/* These functions read the stack of functions in execution, whatever it contains. */
#define READS_STACK __attribute__((no_sanitize_address))

/* Returns the frame pointer of a frame's function, saved at base + place. */
struct saved_pointer {
	uint32_t place, frame;
	uintptr_t value;
};

/* A stack, innermost frame first: the return address of frames[i] was at base + places[i]. */
struct known_stack {
	struct known_stack *next;
	uintptr_t base;
	unsigned room, count, first; /* the shown chain starts at frames[first] */
	unsigned saved_count;
	uint64_t identity;
	uint32_t *places;
	struct saved_pointer *saved;
	struct stack_frame frames[];
};

struct stack_memory {
	struct stack_process *process;
	uint64_t bytes;
	struct known_stack *buckets[BUCKETS];
};

static void unwinder_find(struct stack_unwinder *unwinder, void *(*find)(void *library, const char *name))
{
	/* Before glibc 2.34, dlopen() is in another library, under another version. */
	void *(*open_library)(const char *, int) = (void *(*)(const char *, int))find(RTLD_DEFAULT, "dlopen");
	void *library = open_library ? open_library("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;

	*unwinder = (struct stack_unwinder){ 0 };
	if (!library)
		return;
	unwinder->frame_address = (__typeof__(unwinder->frame_address))find(library, "_Unwind_GetCFA");
	unwinder->address = (__typeof__(unwinder->address))find(library, "_Unwind_GetIPInfo");
	unwinder->general_register = (__typeof__(unwinder->general_register))find(library, "_Unwind_GetGR");
	if (unwinder->frame_address && unwinder->address && unwinder->general_register)
		unwinder->backtrace = (__typeof__(unwinder->backtrace))find(library, "_Unwind_Backtrace");
}

struct range_search {
	struct stack_process *process;
	const char *const *prefixes;
	size_t count;
	uintptr_t address;
};

static bool is_wanted(const struct range_search *search, const struct dl_phdr_info *library)
{
	for (size_t i = 0; i < search->count; i++)
		if (library_is_named(library->dlpi_name, search->prefixes[i]))
			return true;
	for (unsigned i = 0; i < library->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &library->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD &&
		    search->address - (library->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
			return true;
	}
	return false;
}

/* Other threads may be reading the ranges: they never see one that is incomplete. */
static void range_add(struct stack_process *process, uintptr_t start, uintptr_t end)
{
	unsigned count = process->range_count;

	for (unsigned i = 0; i < count; i++)
		if (process->ranges[i].start == start)
			return;
	if (count == sizeof process->ranges / sizeof *process->ranges)
		return;
	process->ranges[count] = (struct stack_range){ start, end };
	__atomic_store_n(&process->range_count, count + 1, __ATOMIC_RELEASE);
}

static int ranges_add(struct dl_phdr_info *library, size_t size, void *argument)
{
	struct range_search *search = argument;
	struct stack_process *process = search->process;

	(void)size;
	if (!is_wanted(search, library))
		return 0;
	for (unsigned i = 0; i < library->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
		uintptr_t start = library->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X))
			range_add(process, start, start + segment->p_memsz);
	}
	return 0;
}

void stack_process_begin(struct stack_process *process, void *(*find)(void *library, const char *name),
			 const char *const prefixes[], size_t count, uintptr_t address)
{
	struct range_search search = { process, prefixes, count, address };

	if (!process->unwinder.backtrace)
		unwinder_find(&process->unwinder, find);
	dl_iterate_phdr(ranges_add, &search);
}

struct stack_memory *stack_memory_create(struct stack_process *process)
{
	struct stack_memory *memory = calloc(1, sizeof *memory);

	if (memory)
		memory->process = process;
	return memory;
}

/* Maintains the totals of the cache. */
static void bytes_add(struct stack_memory *memory, uint64_t bytes)
{
	memory->bytes += bytes;
	atomic_fetch_add_explicit(&memory->process->remembered_bytes, bytes, memory_order_relaxed);
}

static size_t known_stack_bytes(unsigned room)
{
	return sizeof(struct known_stack) +
	       room * (sizeof(struct stack_frame) + sizeof(struct saved_pointer) + sizeof(uint32_t));
}

void stack_memory_free(struct stack_memory *memory)
{
	if (!memory)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		while (memory->buckets[i]) {
			struct known_stack *known = memory->buckets[i];

			memory->buckets[i] = known->next;
			free(known);
		}
	bytes_add(memory, -memory->bytes);
	free(memory);
}

static struct known_stack **bucket_of(struct stack_memory *memory, uintptr_t base)
{
	return &memory->buckets[((base >> 4) * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

READS_STACK static bool is_same(const struct known_stack *known, uintptr_t base)
{
	unsigned saved = 0;

	/*
	 * Checked from the innermost frame outwards: an outer frame is read only if all inner frames and the frame
	 * pointer to it are unchanged. Otherwise its memory may be gone, for example if this is another stack.
	 */
	for (unsigned i = 0; i < known->count; i++) {
		if (*(const uintptr_t *)(base + known->places[i]) != known->frames[i].return_address)
			return false;
		if (saved == known->saved_count || known->saved[saved].frame != i)
			continue;
		if (*(const uintptr_t *)(base + known->saved[saved].place) != known->saved[saved].value)
			return false;
		saved++;
	}
	return true;
}

static struct stack_chain known_chain(const struct known_stack *known)
{
	return (struct stack_chain){ known->first < known->count ? &known->frames[known->first] : NULL,
				     known->identity };
}

static const struct known_stack *stack_find(struct stack_memory *memory, uintptr_t base)
{
	struct known_stack **bucket = bucket_of(memory, base);

	for (struct known_stack **link = bucket; *link; link = &(*link)->next) {
		struct known_stack *known = *link;

		if (known->base != base || !is_same(known, base))
			continue;
		*link = known->next; /* the most recently used one is first */
		known->next = *bucket;
		*bucket = known;
		return known;
	}
	return NULL;
}

/* Returns room for a stack with that many frames in the bucket: new, or that of the least recently used one. */
static struct known_stack *known_stack_get(struct stack_memory *memory, struct known_stack **bucket, unsigned count)
{
	struct known_stack **last = NULL, *known;
	unsigned length = 0;

	for (struct known_stack **link = bucket; *link; link = &(*link)->next, length++)
		last = link;
	size_t bytes = known_stack_bytes(count);
	bool full = memory->bytes + bytes > THREAD_BYTES_MAX ||
		    atomic_load_explicit(&memory->process->remembered_bytes, memory_order_relaxed) + bytes >
			    PROCESS_BYTES_MAX;
	if (last && (full || length >= BUCKET_LENGTH_MAX)) {
		known = *last;
		*last = NULL;
		if (known->room >= count)
			return known;
		bytes_add(memory, -(uint64_t)known_stack_bytes(known->room));
		free(known);
	} else if (full) {
		return NULL;
	}
	known = malloc(bytes);
	if (!known)
		return NULL;
	bytes_add(memory, bytes);
	known->room = count;
	known->saved = (struct saved_pointer *)&known->frames[count];
	known->places = (uint32_t *)&known->saved[count];
	return known;
}

/* Returns where the frame's callee saved its frame pointer, usually next to the return address; 0: nowhere. */
READS_STACK static uintptr_t saved_place(const struct stack_trace *trace, uintptr_t base, unsigned frame)
{
	for (uintptr_t place = trace->places[frame] - sizeof place; place >= base; place -= sizeof place)
		if (*(const uintptr_t *)place == trace->frame_pointers[frame])
			return place;
	return 0;
}

/* Returns false if the end of a frame of variable size is unknown, because such a stack cannot be recognised again. */
static bool saved_pointers_find(struct known_stack *known, const struct stack_trace *trace, uintptr_t base)
{
	known->saved_count = 0;
	for (unsigned i = 0; i + 1 < trace->count; i++) {
		/* The frame pointer is next to the return address of the function that needs it. */
		if (trace->frame_pointers[i] + sizeof(uintptr_t) != trace->places[i + 1])
			continue;
		uintptr_t place = saved_place(trace, base, i);
		if (!place)
			return false;
		known->saved[known->saved_count++] =
			(struct saved_pointer){ (uint32_t)(place - base), i, trace->frame_pointers[i] };
	}
	return true;
}

static void stack_remember(struct stack_memory *memory, uintptr_t base, const struct stack_trace *trace, unsigned first,
			   uint64_t identity)
{
	struct known_stack **bucket = bucket_of(memory, base);

	if (!trace->repeatable || trace->count == 0 || trace->places[trace->count - 1] - base > UINT32_MAX)
		return;
	struct known_stack *known = known_stack_get(memory, bucket, trace->count);
	if (!known)
		return;
	known->count = trace->count;
	known->first = first;
	known->identity = identity;
	for (unsigned i = 0; i < trace->count; i++) {
		known->places[i] = (uint32_t)(trace->places[i] - base);
		known->frames[i].return_address = trace->frames[i].return_address;
		known->frames[i].next = i + 1 < trace->count ? &known->frames[i + 1] : NULL;
	}
	/* A stack that cannot be recognised keeps its entry, but is never found. */
	known->base = saved_pointers_find(known, trace, base) ? base : 0;
	known->next = *bucket;
	*bucket = known;
}

static void frame_add(struct stack_trace *trace, uintptr_t place, uintptr_t address, uintptr_t frame_pointer)
{
	/* Each stack grows downwards; a step upwards leads to another stack, which may be gone next time. */
	if (trace->count > 0 && place <= trace->places[trace->count - 1])
		trace->repeatable = false;
	trace->places[trace->count] = place;
	trace->frame_pointers[trace->count] = frame_pointer;
	trace->frames[trace->count++].return_address = address;
	trace->complete = trace->count == STACK_DEPTH_MAX;
}

struct unwinding {
	const struct stack_unwinder *unwinder;
	struct stack_trace *trace;
};

READS_STACK static _Unwind_Reason_Code frame_unwound(struct _Unwind_Context *context, void *argument)
{
	const struct unwinding *unwinding = argument;
	struct stack_trace *trace = unwinding->trace;
	int interrupted = 0;
	uintptr_t address = unwinding->unwinder->address(context, &interrupted);
	/* The frame address is that of the callee: its return address is just below. */
	uintptr_t place = unwinding->unwinder->frame_address(context) - sizeof(uintptr_t);

	if (address == 0) {
		trace->complete = true;
		return _URC_END_OF_STACK;
	}
	if (trace->count == 0 && place < trace->lowest)
		return _URC_NO_REASON;
	trace->frame_pointer = unwinding->unwinder->general_register(context, DWARF_FRAME_POINTER);
	/* A signal frame has no return address, and will not recur at the same place. */
	if (interrupted || *(const uintptr_t *)place != address)
		trace->repeatable = false;
	frame_add(trace, place, address, trace->frame_pointer);
	return trace->complete ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* Reads memory that may not be mapped. */
static bool memory_read(uintptr_t address, void *buffer, size_t size)
{
	struct iovec here = { buffer, size }, there = { (void *)address, size };

	return syscall(SYS_process_vm_readv, (long)getpid(), &here, 1L, &there, 1L, 0L) == (long)size;
}

/* Code without unwind tables (generated at run time) is unwound by frame pointers. */
static void frames_follow(struct stack_trace *trace)
{
	uintptr_t pointer = trace->frame_pointer;

	while (!trace->complete) {
		uintptr_t lowest = trace->count ? trace->places[trace->count - 1] + sizeof pointer : trace->lowest;
		uintptr_t place = pointer + sizeof pointer, frame[2];

		if (pointer % sizeof pointer != 0 || place < lowest || place - lowest > FRAME_SIZE_MAX ||
		    !memory_read(pointer, frame, sizeof frame) || frame[1] == 0)
			return;
		frame_add(trace, place, frame[1], frame[0]);
		pointer = frame[0];
	}
}

static bool is_left_out(const struct stack_process *process, uintptr_t address)
{
	for (unsigned i = 0; i < process->range_count; i++)
		/* A return address follows its call, which may be a function's last instruction. */
		if (address - 1 - process->ranges[i].start < process->ranges[i].end - process->ranges[i].start)
			return true;
	return false;
}

static void stack_unwind(const struct stack_unwinder *unwinder, uintptr_t frame_pointer, struct stack_trace *trace)
{
	struct unwinding unwinding = { unwinder, trace };

	trace->lowest = frame_pointer + sizeof(uintptr_t);
	trace->frame_pointer = frame_pointer;
	trace->count = 0;
	trace->repeatable = true;
	trace->complete = false;
	if (unwinder->backtrace)
		unwinder->backtrace(frame_unwound, &unwinding);
	frames_follow(trace);
	for (unsigned i = 0; i < trace->count; i++)
		trace->frames[i].next = i + 1 < trace->count ? &trace->frames[i + 1] : NULL;
}

/* MurmurHash3's finaliser (64 bit): each bit of an address affects each bit of the result. */
static uint64_t identity_of(const struct stack_trace *trace, unsigned first)
{
	uint64_t identity = 0;

	for (unsigned i = first; i < trace->count; i++) {
		identity = (identity ^ trace->frames[i].return_address) + (uint64_t)(i - first + 1);
		identity = (identity ^ identity >> 33) * UINT64_C(0xff51afd7ed558ccd);
		identity = (identity ^ identity >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
		identity ^= identity >> 33;
	}
	return identity;
}

__attribute__((noinline)) static struct stack_chain stack_learn(struct stack_process *process,
								struct stack_memory *memory, uintptr_t frame_pointer,
								struct stack_trace *trace)
{
	unsigned first = 0;

	stack_unwind(&process->unwinder, frame_pointer, trace);
	while (first < trace->count && is_left_out(process, trace->frames[first].return_address))
		first++;
	uint64_t identity = identity_of(trace, first);
	if (memory)
		stack_remember(memory, frame_pointer, trace, first, identity);
	return (struct stack_chain){ first < trace->count ? &trace->frames[first] : NULL, identity };
}

struct stack_chain stack_take(struct stack_process *process, struct stack_memory *memory, uintptr_t frame_pointer,
			      struct stack_trace *trace)
{
	const struct known_stack *known = memory ? stack_find(memory, frame_pointer) : NULL;

	return known ? known_chain(known) : stack_learn(process, memory, frame_pointer, trace);
}
