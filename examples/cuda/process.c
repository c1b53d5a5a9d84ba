/* SPDX-License-Identifier: Apache-2.0 */
/* See process.h. */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph_executions.h"
#include "stall_words.h"

#define MACHINE_CUDA 190 /* EM_CUDA in elf.h */
#define MESSAGES_AT_ONCE 64
#define NUMBERS_MAX 65536u
#define MODULES_MAX 65536u
/* Limit on stored stacks, 4 MiB; launches of further kernels that are counted at the end have no stack. */
#define KEPT_ADDRESSES_MAX ((size_t)1 << 19)
#define MESSAGES_MAX 20u
#define IN_GRAPHS_MAX 65536u
#define FILES_MAX 256u
#define FILE_SIZE_MAX (UINT64_C(256) << 20)
#define FILE_TIME (UINT64_C(10) * 1000 * 1000 * 1000)
struct module {
	uint32_t module, object;
	uint64_t crc;
	uint64_t time; /* of its CODE_OBJECT record, before which no kernel of it is announced */
};

/* A launched kernel, with the stack of its last launch, which launches that are counted at the end get, too. */
struct launched {
	uint32_t kernel; /* KERNEL id */
	uint32_t tid;
	uint32_t depth;
	uint64_t *addresses;
	enum launched_kind { A_KERNEL, GRAPHS_OR_COPIES, GRAPH_NODES } kind;
};

struct process {
	struct session *session;
	int socket;
	bool is_closed;
	uint32_t pid;
	uint32_t messages;
	uint64_t started;
	uint64_t cupti_begin, cupti_end;
	struct cuda_ring *ring;
	bool is_refused; /* said why the program is not profiled */
	uint64_t ring_size, tail;
	uint64_t dropped[CUDA_DROP_COUNT];
	ARRAY(uint32_t) functions;       /* KERNEL ids of sampled functions, by id - 1 */
	ARRAY(struct launched) launched; /* by id - 1 */
	size_t kept;                     /* addresses of their stacks */
	ARRAY(struct module) modules;
	struct graph_executions graphs;
	ARRAY(struct cuda_execution) in_graphs; /* executions that wait for the launches before them */
};

struct process *process_new(struct session *session, int socket)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	struct process *process = calloc(1, sizeof *process);
	if (!process || getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0) {
		free(process);
		close(socket);
		return NULL;
	}
	process->session = session;
	process->socket = socket;
	process->pid = (uint32_t)peer.pid;
	process->started = session->host->clock(session->host);
	process->graphs = (struct graph_executions){ .session = session, .pid = process->pid };
	return process;
}

void process_finish(struct process *process)
{
	(void)shutdown(process->socket, SHUT_WR);
}

uint32_t process_id(const struct process *process)
{
	return process->pid;
}

void process_free(struct process *process)
{
	process_settle(process);
	graph_executions_end(&process->graphs);
	array_free(&process->in_graphs);
	for (size_t i = 0; i < process->launched.count; i++)
		free(process->launched.items[i].addresses);
	array_free(&process->launched);
	array_free(&process->functions);
	array_free(&process->modules);
	if (process->ring)
		munmap(process->ring, CUDA_RING_HEAD_SIZE + process->ring_size);
	close(process->socket);
	free(process);
}

/* Returns whether a descriptor is a file in memory of this size that can no longer be made smaller. */
static bool is_sealed(int descriptor, uint64_t size, int seals)
{
	struct stat status;
	int found = fcntl(descriptor, F_GET_SEALS);
	return found >= 0 && (found & seals) == seals && !fstat(descriptor, &status) &&
	       (uint64_t)status.st_size == size;
}

static void open_ring(struct process *process, const struct cuda_hello *hello, int descriptor)
{
	uint64_t size = hello->ring_size;
	if (memcmp(hello->token, process->session->token, sizeof hello->token) != 0) {
		process->session->strangers++;
		process->is_closed = true;
		return;
	}
	if (process->ring || size < 4096 || size > CUDA_RING_SIZE || size & (size - 1) ||
	    !is_sealed(descriptor, CUDA_RING_HEAD_SIZE + size, F_SEAL_SHRINK))
		return;
	void *memory = mmap(NULL, CUDA_RING_HEAD_SIZE + size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	if (memory == MAP_FAILED)
		return;
	process->ring = memory;
	process->ring_size = size;
	if (hello->time < process->started)
		process->started = hello->time;
}

void session_forget_files(struct session *session, uint64_t now)
{
	size_t over = 0;
	while (over < session->files.count && session->files.items[over].until <= now)
		close(session->files.items[over++].descriptor);
	if (!over)
		return;
	session->files.count -= over;
	memmove(session->files.items, session->files.items + over, session->files.count * sizeof *session->files.items);
}

static void add_cubin(struct process *process, const struct cuda_cubin *cubin, int descriptor)
{
	struct session *session = process->session;
	struct held_file file = { .until = session->host->clock(session->host) + FILE_TIME };
	struct module module = { .module = cubin->module, .object = session->next_object + 1, .crc = cubin->crc };
	char path[64];
	if (cubin->size > FILE_SIZE_MAX || process->modules.count >= MODULES_MAX || session->files.count >= FILES_MAX ||
	    !is_sealed(descriptor, cubin->size, F_SEAL_SHRINK | F_SEAL_WRITE) ||
	    (file.descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) < 0) {
		session->unknown++;
		return;
	}
	if (!array_push(&session->files, file)) {
		close(file.descriptor);
		return;
	}
	if (!array_push(&process->modules, module))
		return;
	session->next_object++;
	snprintf(path, sizeof path, "/proc/self/fd/%d", file.descriptor);
	struct iaprof_record_code_object object = { .header = session_header(session, IAPROF_RECORD_CODE_OBJECT,
									     sizeof object),
						    .id = module.object,
						    .pid = process->pid,
						    .machine = MACHINE_CUDA,
						    .path = record_batch_text(session->batch, path) };
	if (cubin->time < object.header.time)
		object.header.time = cubin->time;
	process->modules.items[process->modules.count - 1].time = object.header.time;
	session_send(session, &object);
}

/* Returns false if there is no message. */
static bool read_message(struct process *process)
{
	union {
		struct cuda_hello hello;
		struct cuda_cubin cubin;
	} message = { 0 };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec part = { &message, sizeof message };
	struct msghdr whole = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes
	};
	ssize_t size = recvmsg(process->socket, &whole, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (size <= 0) {
		process->is_closed |= !size || (errno != EAGAIN && errno != EINTR);
		return false;
	}
	int descriptors[8], count = 0;
	for (struct cmsghdr *head = CMSG_FIRSTHDR(&whole); head; head = CMSG_NXTHDR(&whole, head)) {
		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (head->cmsg_len - CMSG_LEN(0)) / sizeof(int) && count < 8; i++)
			memcpy(&descriptors[count++], CMSG_DATA(head) + i * sizeof(int), sizeof(int));
	}
	if (count == 1 && message.hello.magic == CUDA_MAGIC && message.hello.type == CUDA_HELLO &&
	    size == sizeof message.hello)
		open_ring(process, &message.hello, descriptors[0]);
	else if (count == 1 && process->ring && message.cubin.magic == CUDA_MAGIC && message.cubin.type == CUDA_CUBIN &&
		 size == sizeof message.cubin)
		add_cubin(process, &message.cubin, descriptors[0]);
	else
		process->session->unknown++;
	for (int i = 0; i < count; i++)
		close(descriptors[i]);
	return true;
}

static uint32_t text_of(const struct session *session, const char *text, uint32_t length)
{
	return session->host->intern_string(session->host, text, length);
}

static void take_device(struct session *session, const struct cuda_device *record, const char *text)
{
	char copy[512];
	if (record->id >= DEVICES_MAX || session->devices & (uint64_t)1 << record->id)
		return;
	session->devices |= (uint64_t)1 << record->id;
	snprintf(copy, sizeof copy, "%.*s", (int)(record->length < 500 ? record->length : 500), text);
	char *name = strchr(copy, ' ');
	if (name)
		*name++ = '\0';
	struct iaprof_record_device device = {
		.header = session_header(session, IAPROF_RECORD_DEVICE, sizeof device),
		.id = record->id + 1,
		.name = record_batch_text(session->batch, name && *name ? name : "CUDA device"),
		.address = strcmp(copy, "-") == 0 ? 0 : record_batch_text(session->batch, copy),
		.machine = MACHINE_CUDA,
		.kind = IAPROF_DEVICE_GPU,
		.sample_unit = record_batch_text(session->batch, "scheduler")
	};
	session_send(session, &device);
	if (device.address)
		gpu_counters_add(session->counters, device.id, copy);
}

/* CUPTI's indexes are the reasons' ids. */
static void take_reason(struct session *session, const struct cuda_reason *record, const char *text)
{
	char name[CUDA_NAME_MAX];
	if (record->index >= REASONS_MAX || session->reasons[record->index])
		return;
	snprintf(name, sizeof name, "%.*s", (int)record->length, text);
	/* Part of another reason's samples: those in which no other warp of the scheduler was issued either. */
	if (is_part_of_a_reason(name)) {
		session->parts |= (uint64_t)1 << record->index;
		return;
	}
	struct iaprof_record_stall_reason reason = {
		.header = session_header(session, IAPROF_RECORD_STALL_REASON, sizeof reason),
		.id = record->index,
		.name = record_batch_text(session->batch, stall_name_of(name)),
		.flags = stall_waits_for_result(name) ? IAPROF_STALL_REASON_WAITS : 0,
		.stall_class = stall_class_of(name)
	};
	session->reasons[record->index] = reason.name;
	if (record->index >= session->reason_count)
		session->reason_count = record->index + 1;
	session_send(session, &reason);
}

/* Announces a kernel by its name: CUPTI states no address. module: that of its code, or NULL. Returns its id. */
static uint32_t add_kernel(struct process *process, const struct module *module, uint32_t name)
{
	struct session *session = process->session;
	struct iaprof_record_kernel kernel = { .header = session_header(session, IAPROF_RECORD_KERNEL, sizeof kernel),
					       .id = ++session->next_kernel,
					       .code_object = module ? module->object : 0,
					       .pid = process->pid,
					       .name = name };
	kernel.header.time = module ? module->time : process->started;
	session_send(session, &kernel);
	return kernel.id;
}

static void take_function(struct process *process, const struct cuda_function *record, const char *text)
{
	struct session *session = process->session;
	const struct module *found = NULL;
	if (record->id != process->functions.count + 1 || record->id > NUMBERS_MAX ||
	    !array_reserve(&process->functions, record->id)) {
		session->unknown++;
		return;
	}
	for (size_t i = process->modules.count; i-- > 0 && !found;)
		if (process->modules.items[i].crc == record->crc)
			found = &process->modules.items[i];
	process->functions.items[process->functions.count++] =
		add_kernel(process, found, text_of(session, text, record->length));
}

static enum launched_kind kind_of(const char *name, uint32_t length)
{
	static const struct {
		const char *name;
		enum launched_kind kind;
	} kinds[] = { { CUDA_GRAPHS, GRAPHS_OR_COPIES },
		      { CUDA_COPIES, GRAPHS_OR_COPIES },
		      { CUDA_GRAPH_NODES, GRAPH_NODES } };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (length == strlen(kinds[i].name) && memcmp(name, kinds[i].name, length) == 0)
			return kinds[i].kind;
	return A_KERNEL;
}

/* A kernel that was launched: CUPTI does not state its module, so that it counts for all of this name. */
static void take_kernel(struct process *process, const struct cuda_kernel *record, const char *text)
{
	struct session *session = process->session;
	if (record->id != process->launched.count + 1 || record->id > NUMBERS_MAX ||
	    !array_reserve(&process->launched, record->id)) {
		session->unknown++;
		return;
	}
	process->launched.items[process->launched.count++] =
		(struct launched){ .kernel = add_kernel(process, NULL, text_of(session, text, record->length)),
				   .kind = kind_of(text, record->length) };
}

/* Returns a kernel by the library's id, or NULL. */
static struct launched *find_launched(struct process *process, uint64_t id)
{
	if (id && id <= process->launched.count)
		return &process->launched.items[id - 1];
	process->session->unknown++;
	return NULL;
}

/* Stores a stack, because stack ids are valid only for seconds. */
static void keep_stack(struct process *process, struct launched *launched, uint32_t tid, const uint64_t *addresses,
		       size_t depth)
{
	if (process->kept - launched->depth + depth > KEPT_ADDRESSES_MAX)
		return;
	uint64_t *kept = depth ? realloc(launched->addresses, depth * sizeof *kept) : NULL;
	if (!kept)
		return;
	memcpy(kept, addresses, depth * sizeof *kept);
	process->kept += depth - launched->depth;
	launched->addresses = kept;
	launched->depth = (uint32_t)depth;
	launched->tid = tid;
}

/* Returns the number of frames of the library and of CUPTI, which calls it. */
static size_t own_frames(const struct process *process, const uint64_t *addresses, size_t depth)
{
	uint64_t hook = depth ? addresses[0] : 0;
	size_t count = 0;
	/* The hook and the callback are next to each other. */
	while (count < depth && addresses[count] - hook + 65536 < 131072)
		count++;
	while (count < depth && addresses[count] >= process->cupti_begin && addresses[count] < process->cupti_end)
		count++;
	return count;
}

/* Writes the stack of a launch: the ranges that the thread is in, and its functions. Returns its depth. */
static size_t stack_of(const struct process *process, const struct cuda_launch_event *event,
		       uint64_t stack[static IAPROF_STACK_DEPTH_MAX])
{
	const uint64_t *addresses = (const uint64_t *)event->addresses;
	struct session *session = process->session;
	size_t skipped = own_frames(process, addresses, event->depth), rest = event->depth - skipped;
	size_t count = range_frames_get(&session->ranges, session->host, &event->ranges, stack);
	if (rest > IAPROF_STACK_DEPTH_MAX - count)
		rest = IAPROF_STACK_DEPTH_MAX - count;
	memcpy(stack + count, addresses + skipped, rest * sizeof *stack);
	return count + rest;
}

/* A graph was launched, or a node of it was made, or memory copied. */
static void take_graph(struct process *process, enum launched_kind kind, const struct iaprof_record_launch *launch,
		       const uint64_t *addresses, size_t depth)
{
	uint32_t stack = kept_stacks_add(&process->graphs.stacks, addresses, depth);
	process->session->unkept += depth && !stack;
	if (kind == GRAPH_NODES)
		graph_nodes_made(&process->graphs.nodes, launch->correlation, stack);
	else
		graph_launches_add(&process->graphs.launches,
				   &(struct graph_launch){ .correlation = launch->correlation,
							   .tid = launch->tid,
							   .thread_name = launch->thread_name,
							   .stack = stack });
}

void process_launched(struct process *process, const struct cuda_launch_event *event)
{
	const struct iaprof_host *host = process->session->host;
	uint64_t stack[IAPROF_STACK_DEPTH_MAX];
	if (process->session->until && event->time > process->session->until)
		return;
	size_t depth = stack_of(process, event, stack);
	char name[sizeof event->thread_name + 1] = "";
	memcpy(name, event->thread_name, sizeof event->thread_name);
	struct iaprof_record_launch launch = { .header = session_header(process->session, IAPROF_RECORD_LAUNCH,
									sizeof launch),
					       .pid = process->pid,
					       .tid = event->tid,
					       .user_stack = host->intern_stack(host, process->pid, stack, depth),
					       .count = event->count ? event->count : 1,
					       .first_time = event->time,
					       .thread_name = record_batch_text(process->session->batch, name),
					       .correlation = event->correlation };
	launch.header.time = event->time;
	if (event->kernel > process->launched.count)
		(void)process_read(process); /* the kernel's record precedes the launch */
	struct launched *launched = find_launched(process, event->kernel);
	if (!launched)
		return;
	if (launched->kind != A_KERNEL)
		return take_graph(process, launched->kind, &launch, stack, depth);
	keep_stack(process, launched, event->tid, stack, depth);
	launch.kernel = launched->kernel;
	session_send_launch(process->session, &launch);
}

static void take_launch(struct process *process, const struct cuda_launch *record)
{
	const struct iaprof_host *host = process->session->host;
	struct launched *launched = find_launched(process, record->kernel);
	if (!launched || launched->kind != A_KERNEL)
		return;
	struct iaprof_record_launch launch = {
		.header = session_header(process->session, IAPROF_RECORD_LAUNCH, sizeof launch),
		.pid = process->pid,
		.kernel = launched->kernel,
		.tid = launched->depth ? launched->tid : record->tid,
		.user_stack = host->intern_stack(host, process->pid, launched->addresses, launched->depth),
		.count = record->count ? record->count : 1
	};
	uint64_t now = launch.header.time;
	launch.header.time = record->last_time < now ? record->last_time : now;
	launch.first_time = record->first_time < launch.header.time ? record->first_time : launch.header.time;
	session_send_launch(process->session, &launch);
}

static void take_samples(struct process *process, const struct cuda_samples *record, const struct cuda_sample *samples)
{
	struct session *session = process->session;
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[REASONS_MAX];
		struct iaprof_record_stall_details room;
	} sample = { .head = { .header = session_header(session, IAPROF_RECORD_STALL_SAMPLE, 0) } };
	struct iaprof_record_stall_details details = { .size = sizeof details };
	uint64_t total = 0;
	for (uint32_t i = 0; i < record->count; i++) {
		if (samples[i].reason < REASONS_MAX && session->parts >> samples[i].reason & 1)
			continue;
		if (samples[i].reason < REASONS_MAX)
			sample.counts[samples[i].reason] += samples[i].count;
		total += samples[i].count;
		if (samples[i].reason < REASONS_MAX && samples[i].reason >= session->reason_count)
			session->reason_count = samples[i].reason + 1;
	}
	if (!record->function || record->function > process->functions.count || !session->reason_count || !total) {
		session->unknown++;
		return;
	}
	details.kernel = process->functions.items[record->function - 1];
	memcpy((char *)&sample.counts + session->reason_count * sizeof sample.counts[0], &details, sizeof details);
	sample.head.header.size =
		(uint32_t)(sizeof sample.head + session->reason_count * sizeof sample.counts[0] + sizeof details);
	if (record->end < sample.head.header.time)
		sample.head.header.time = record->end;
	sample.head.begin = record->begin < sample.head.header.time ? record->begin : sample.head.header.time;
	sample.head.address = record->offset;
	sample.head.address_space = IAPROF_ADDRESS_KERNEL;
	sample.head.device = record->device < DEVICES_MAX ? record->device + 1 : 1;
	sample.head.reason_count = (uint16_t)session->reason_count;
	sample.head.array_offset = IAPROF_ARRAY_OFFSET(struct iaprof_record_stall_sample);
	sample.head.pid = process->pid;
	session->samples += total;
	session_send(session, &sample);
}

/* Returns whether the stack of an execution is found by the number of its launch, which names no kernel. */
static bool is_of_launch(const struct cuda_execution *record)
{
	return record->graph || record->copy;
}

_Static_assert((int)CUDA_COPY_HOST_TO_DEVICE == IAPROF_COPY_HOST_TO_DEVICE &&
		       (int)CUDA_COPY_DEVICE_TO_HOST == IAPROF_COPY_DEVICE_TO_HOST &&
		       (int)CUDA_COPY_ON_DEVICE == IAPROF_COPY_ON_DEVICE &&
		       (int)CUDA_COPY_BETWEEN_DEVICES == IAPROF_COPY_BETWEEN_DEVICES &&
		       (int)CUDA_COPY_ON_HOST == IAPROF_COPY_ON_HOST && (int)CUDA_COPY_SET == IAPROF_COPY_SET,
	       "enum cuda_copy");

/* Returns the string id of the engine that copies; 0: none. They run beside each other, on rows of their own. */
static uint32_t engine_of(const struct session *session, uint32_t copy)
{
	static const char *const engines[] = { [CUDA_COPY_HOST_TO_DEVICE] = "copy host to device",
					       [CUDA_COPY_DEVICE_TO_HOST] = "copy device to host",
					       [CUDA_COPY_ON_DEVICE] = "copy on the device",
					       [CUDA_COPY_BETWEEN_DEVICES] = "copy between devices",
					       [CUDA_COPY_ON_HOST] = "copy on the host",
					       [CUDA_COPY_SET] = "memory set" };
	return copy ? record_batch_text(session->batch, engines[copy]) : 0;
}

/* Kernels on one device may overlap: the core divides the time among them. */
static void add_execution(struct process *process, const struct cuda_execution *record)
{
	struct session *session = process->session;
	struct iaprof_record_job job = { .header = session_header(session, IAPROF_RECORD_JOB, sizeof job),
					 .started = record->begin,
					 .id = record->correlation,
					 .pid = process->pid,
					 .device = record->device < DEVICES_MAX ? record->device + 1 : 1,
					 .context = record->stream,
					 .state = IAPROF_JOB_DONE,
					 .time_type = record->copy ? session->copy_type : session->time_type,
					 .copy = record->copy,
					 .bytes = record->bytes };
	struct launched *launched = find_launched(process, record->kernel);
	if (!launched || !job.time_type || record->copy > CUDA_COPY_SET || record->end < record->begin ||
	    (session->until && record->begin > session->until))
		return;
	job.kernel = launched->kernel;
	job.engine = engine_of(session, record->copy);
	job.correlation = is_of_launch(record) ? graph_executions_add(&process->graphs, launched->kernel, record)
					       : record->correlation;
	if (record->end < job.header.time)
		job.header.time = record->end;
	if (job.started > job.header.time)
		job.started = job.header.time;
	*(record->copy ? &session->copies : &session->executions) += 1;
	session_send(session, &job);
}

void process_settle(struct process *process)
{
	for (size_t i = 0; i < process->in_graphs.count; i++)
		add_execution(process, &process->in_graphs.items[i]);
	process->in_graphs.count = 0;
}

static void take_execution(struct process *process, const struct cuda_execution *record)
{
	if (is_of_launch(record) && process->in_graphs.count >= IN_GRAPHS_MAX)
		process_settle(process);
	if (!is_of_launch(record) || !array_push(&process->in_graphs, *record))
		add_execution(process, record);
}

static void take_unload(struct process *process, const struct cuda_unload *record)
{
	struct session *session = process->session;
	for (size_t i = process->modules.count; i-- > 0;) {
		if (process->modules.items[i].module != record->module)
			continue;
		struct iaprof_record_code_object_unload unload = {
			.header = session_header(session, IAPROF_RECORD_CODE_OBJECT_UNLOAD, sizeof unload),
			.id = process->modules.items[i].object,
			.pid = process->pid
		};
		session_send(session, &unload);
		process->modules.items[i] = process->modules.items[--process->modules.count];
		return;
	}
}

static void take_node(struct process *process, const struct cuda_node *record)
{
	graph_nodes_cloned(&process->graphs.nodes, record->id, record->original);
}

static void take_message(struct process *process, const struct cuda_text *record, const char *text)
{
	const struct iaprof_host *host = process->session->host;
	char line[512];
	size_t length = record->length < sizeof line - 1 ? record->length : sizeof line - 1;
	if (process->messages++ >= MESSAGES_MAX)
		return;
	for (size_t i = 0; i < length; i++)
		line[i] = text[i] >= ' ' && text[i] < 127 ? text[i] : '?';
	line[length] = '\0';
	bool is_refusal = record->kind == CUDA_TEXT_NOT_PROFILED;
	process->session->refusals += is_refusal && process->ring && !process->is_refused;
	process->is_refused |= is_refusal;
	host->log(host, record->kind == CUDA_TEXT_FACT ? IAPROF_LOG_INFO : IAPROF_LOG_WARNING,
		  "process %" PRIu32 ": %s%s", process->pid, is_refusal ? "the program is not profiled: " : "", line);
}

/* A record, copied: the program can change the ring at any time. */
union record {
	struct cuda_record header;
	struct cuda_device device; /* like reason and kernel */
	struct cuda_reason reason;
	struct cuda_function function;
	struct cuda_kernel kernel;
	struct cuda_launch launch;
	struct cuda_execution execution;
	struct cuda_samples samples;
	struct cuda_unload unload;
	struct cuda_node node;
	struct cuda_cupti cupti;
	struct cuda_text message;
	char bytes[sizeof(struct cuda_function) + CUDA_NAME_MAX + 8];
};

/* Returns whether a record has room for its struct, of this size, and a text of this length. */
static bool has(const union record *record, size_t size, uint64_t length)
{
	return record->header.size >= size && length <= record->header.size - size;
}

static void process_record(struct process *process, const union record *record)
{
	struct session *session = process->session;
	const char *bytes = record->bytes;
	switch (record->header.type) {
	case CUDA_RECORD_DEVICE:
		if (has(record, sizeof record->device, record->device.length))
			return take_device(session, &record->device, bytes + sizeof record->device);
		break;
	case CUDA_RECORD_REASON:
		if (has(record, sizeof record->reason, record->reason.length))
			return take_reason(session, &record->reason, bytes + sizeof record->reason);
		break;
	case CUDA_RECORD_FUNCTION:
		if (has(record, sizeof record->function, record->function.length))
			return take_function(process, &record->function, bytes + sizeof record->function);
		break;
	case CUDA_RECORD_KERNEL:
		if (has(record, sizeof record->kernel, record->kernel.length))
			return take_kernel(process, &record->kernel, bytes + sizeof record->kernel);
		break;
	case CUDA_RECORD_LAUNCH:
		if (has(record, sizeof record->launch, 0))
			return take_launch(process, &record->launch);
		break;
	case CUDA_RECORD_SAMPLES:
		if (has(record, sizeof record->samples, (uint64_t)record->samples.count * sizeof(struct cuda_sample)))
			return take_samples(process, &record->samples,
					    (const struct cuda_sample *)(bytes + sizeof record->samples));
		break;
	case CUDA_RECORD_EXECUTION:
		if (has(record, sizeof record->execution, 0))
			return take_execution(process, &record->execution);
		break;
	case CUDA_RECORD_UNLOAD:
		if (has(record, sizeof record->unload, 0))
			return take_unload(process, &record->unload);
		break;
	case CUDA_RECORD_NODE:
		if (has(record, sizeof record->node, 0))
			return take_node(process, &record->node);
		break;
	case CUDA_RECORD_CUPTI:
		if (has(record, sizeof record->cupti, 0)) {
			process->cupti_begin = record->cupti.begin;
			process->cupti_end = record->cupti.end;
			return;
		}
		break;
	case CUDA_RECORD_MESSAGE:
		if (has(record, sizeof record->message, record->message.length))
			return take_message(process, &record->message, bytes + sizeof record->message);
		break;
	default:
		break;
	}
	session->unknown++;
}

static void copy_from(const struct process *process, uint64_t at, void *to, size_t size)
{
	const char *data = (const char *)process->ring + CUDA_RING_HEAD_SIZE;
	uint64_t offset = at & (process->ring_size - 1);
	size_t first = size < process->ring_size - offset ? size : process->ring_size - offset;
	memcpy(to, data + offset, first);
	memcpy((char *)to + first, data, size - first);
}

static void count_drops(struct process *process)
{
	for (int i = 0; i < CUDA_DROP_COUNT; i++) {
		uint64_t now = __atomic_load_n(&process->ring->dropped[i], __ATOMIC_RELAXED);
		if (now > process->dropped[i])
			process->session->dropped[i] += now - process->dropped[i];
		process->dropped[i] = now;
	}
}

/* Returns whether everything was read. */
static bool read_ring(struct process *process)
{
	union record record;
	uint64_t head = __atomic_load_n(&process->ring->head, __ATOMIC_ACQUIRE);
	bool is_damaged = head - process->tail > process->ring_size;
	for (uint32_t i = 0; !is_damaged && i < process->session->records_at_once && process->tail != head; i++) {
		copy_from(process, process->tail, &record.header, sizeof record.header);
		uint32_t size = record.header.size;
		is_damaged =
			size < sizeof record.header || size % 8 || size > sizeof record || size > head - process->tail;
		if (is_damaged)
			break;
		copy_from(process, process->tail, &record, size);
		record.header.size = size;
		process->tail += size;
		process_record(process, &record);
	}
	if (is_damaged) {
		process->session->unknown++;
		process->is_closed = true;
		process->tail = head;
	}
	__atomic_store_n(&process->ring->tail, process->tail, __ATOMIC_RELEASE);
	count_drops(process);
	return process->tail == head;
}

bool process_read(struct process *process)
{
	for (int i = 0; i < MESSAGES_AT_ONCE && !process->is_closed && read_message(process); i++)
		;
	bool is_closed = process->is_closed;
	return !(process->ring ? read_ring(process) && is_closed : is_closed);
}
