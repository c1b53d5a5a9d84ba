/* SPDX-License-Identifier: Apache-2.0 */
/* See recorded_machine.h. */
#include "recorded_machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/string_table.h"
#include "broker/broker.h"
#include "broker/target_read.h"

#define READ_FORMAT_LOST (1u << 4) /* PERF_FORMAT_LOST of linux/perf_event.h, since Linux 6.0 */
#define COMM_EXEC (1u << 13)       /* PERF_RECORD_MISC_COMM_EXEC */
#define OWNERS_MAX 16

/* glibc has functions of these names for 64-bit offsets, which meson asks for. */
#ifdef __GLIBC__
#define NAME64(name) name "64"
#else
#define NAME64(name) name
#endif

struct machine machine;
static struct string_table texts;
static struct {
	uint32_t pid, user;
} owners[OWNERS_MAX];

/* System calls of the core */

int wrapped_open(const char *path, int flags, ...) __asm__(NAME64("__wrap_open"));
FILE *wrapped_fopen(const char *path, const char *mode) __asm__(NAME64("__wrap_fopen"));
FILE *real_fopen(const char *path, const char *mode) __asm__(NAME64("__real_fopen"));
int wrapped_stat(const char *path, struct stat *status) __asm__(NAME64("__wrap_stat"));
void *wrapped_mmap(void *address, size_t size, int protection, int flags, int descriptor,
		   off_t offset) __asm__(NAME64("__wrap_mmap"));
void *real_mmap(void *address, size_t size, int protection, int flags, int descriptor,
		off_t offset) __asm__(NAME64("__real_mmap"));
ssize_t __wrap_broker_read(struct broker *broker, uint32_t pid, enum broker_source file, bool is_next, void *bytes,
			   size_t size);
void __wrap_broker_ranks(struct broker *broker, const uint32_t *pids, size_t count, struct process_rank *ranks);
DIR *__wrap_opendir(const char *path);
ssize_t __wrap_readlink(const char *path, char *text, size_t size);
int __wrap_ioctl(int descriptor, unsigned long request, ...);
int __real_ioctl(int descriptor, unsigned long request, ...);
long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __real_clock_gettime(clockid_t clock, struct timespec *time);

/* Returns the path in the folder of the machine, or the same path. */
static const char *place_of(const char *path, char place[512])
{
	if (!machine.folder[0] || (strncmp(path, "/proc", 5) != 0 && strncmp(path, "/sys/", 5) != 0))
		return path;
	snprintf(place, 512, "%s%s", machine.folder, path);
	return place;
}

int wrapped_open(const char *path, int flags, ...)
{
	char place[512];
	va_list arguments;
	va_start(arguments, flags);
	int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
	va_end(arguments);
	if (machine.refused_path && !strcmp(path, machine.refused_path)) {
		errno = machine.refused_error;
		return -1;
	}
	return openat(AT_FDCWD, place_of(path, place), flags, mode);
}

FILE *wrapped_fopen(const char *path, const char *mode)
{
	char place[512];
	return real_fopen(place_of(path, place), mode);
}

int wrapped_stat(const char *path, struct stat *status)
{
	char place[512];
	unsigned pid;
	int result = fstatat(AT_FDCWD, place_of(path, place), status, 0);
	if (!result && sscanf(path, "/proc/%u", &pid) == 1)
		for (size_t i = 0; i < OWNERS_MAX; i++)
			if (owners[i].pid == pid)
				status->st_uid = owners[i].user;
	return result;
}

DIR *__wrap_opendir(const char *path)
{
	int descriptor = wrapped_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return descriptor < 0 ? NULL : fdopendir(descriptor);
}

ssize_t __wrap_readlink(const char *path, char *text, size_t size)
{
	char place[512];
	return readlinkat(AT_FDCWD, place_of(path, place), text, size);
}

ssize_t __wrap_broker_read(struct broker *broker, uint32_t pid, enum broker_source file, bool is_next, void *bytes,
			   size_t size)
{
	static struct target_file open_file = { .descriptor = -1 };
	const struct broker_read request = {
		.source = file,
		.pid = pid,
		.size = size < BROKER_BYTES_MAX ? (uint32_t)size : BROKER_BYTES_MAX,
		.is_next = is_next,
	};
	(void)broker;
	return target_read(&open_file, &request, NULL, 0, -1, bytes);
}

void __wrap_broker_ranks(struct broker *broker, const uint32_t *pids, size_t count, struct process_rank *ranks)
{
	const struct broker_read request = { .source = BROKER_RANKS, .size = (uint32_t)(count * sizeof *ranks) };
	(void)broker;
	ck_assert_int_eq(target_read(NULL, &request, pids, count * sizeof *pids, -1, ranks), request.size);
}

static struct machine_ring *ring_of(int descriptor)
{
	for (size_t i = 0; machine.folder[0] && i < MACHINE_CPUS; i++)
		if (machine.rings[i].opened && machine.rings[i].descriptor == descriptor)
			return &machine.rings[i];
	return NULL;
}

static int event_open(const struct perf_event_attr *attributes, int pid, int cpu, int group, unsigned long flags)
{
	int ends[2];
	errno = cpu == machine.offline ? ENODEV : machine.open_error;
	if (!errno && attributes->read_format & READ_FORMAT_LOST && !machine.has_lost)
		errno = EINVAL;
	if (errno)
		return -1;
	ck_assert(pid == -1 && group == -1 && flags == PERF_FLAG_FD_CLOEXEC);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	struct machine_ring *ring = &machine.rings[cpu];
	*ring = (struct machine_ring){
		.descriptor = ends[0], .other_end = ends[1], .opened = ring->opened + 1, .attributes = *attributes
	};
	return ends[0];
}

long __wrap_syscall(long number, ...)
{
	long words[6];
	va_list arguments;
	va_start(arguments, number);
	for (size_t i = 0; i < 6; i++)
		words[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_perf_event_open && machine.folder[0])
		return event_open((const struct perf_event_attr *)words[0], (int)words[1], (int)words[2], (int)words[3],
				  (unsigned long)words[4]);
	return __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

void *wrapped_mmap(void *address, size_t size, int protection, int flags, int descriptor, off_t offset)
{
	struct machine_ring *ring = descriptor < 0 ? NULL : ring_of(descriptor);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (!ring)
		return real_mmap(address, size, protection, flags, descriptor, offset);
	errno = machine.map_error;
	if (errno)
		return MAP_FAILED;
	ck_assert(flags == MAP_SHARED && protection == (PROT_READ | PROT_WRITE) && !offset && size > page);
	ring->page = real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(ring->page, MAP_FAILED);
	ring->data = (unsigned char *)ring->page + page;
	ring->size = size - page;
	return ring->page;
}

int __wrap_ioctl(int descriptor, unsigned long request, ...)
{
	va_list arguments;
	va_start(arguments, request);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	struct machine_ring *ring = ring_of(descriptor);
	if (!ring)
		return __real_ioctl(descriptor, request, argument);
	errno = request == PERF_EVENT_IOC_ENABLE ? machine.start_error : 0;
	if (errno)
		return -1;
	ck_assert(request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE);
	ring->enabled = request == PERF_EVENT_IOC_ENABLE;
	return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	if (!machine.folder[0] || clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, time);
	uint64_t now = MACHINE_BEGIN + machine.now;
	machine.now += machine.step;
	*time = (struct timespec){ .tv_sec = (time_t)(now / SECOND), .tv_nsec = (long)(now % SECOND) };
	return 0;
}

/* The receiver */

static void log_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void log_add(const char *format, ...)
{
	char line[8192];
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	ck_assert(size > 0 && (size_t)size < sizeof line);
	machine.log = realloc(machine.log, machine.log_size + (size_t)size + 1);
	ck_assert_ptr_nonnull(machine.log);
	memcpy(machine.log + machine.log_size, line, (size_t)size + 1);
	machine.log_size += (size_t)size;
}

static uint64_t since_begin(uint64_t time)
{
	return time - MACHINE_BEGIN;
}

static uint32_t intern(void *context, const char *text, size_t length)
{
	return string_table_add(&texts, text, length, NULL);
}

static void log_process(const struct iaprof_record_process *record)
{
	static const char *const events[] = {
		[IAPROF_PROCESS_EXISTING] = "existing", [IAPROF_PROCESS_FORK] = "fork",
		[IAPROF_PROCESS_EXEC] = "exec",         [IAPROF_PROCESS_NAME] = "name",
		[IAPROF_PROCESS_EXIT] = "exit",         [IAPROF_PROCESS_UNREADABLE] = "unreadable"
	};
	const char *name = string_table_text(&texts, record->name);
	log_add("%" PRIu64 " %s %" PRIu32, since_begin(record->header.time), events[record->event], record->pid);
	if (record->parent_pid)
		log_add(" of %" PRIu32, record->parent_pid);
	log_add("%s%s\n", *name ? " " : "", name);
}

static int emit(void *context, const struct iaprof_batch *batch)
{
	const struct iaprof_record *record = NULL;
	machine.batches++;
	while ((record = iaprof_batch_next(batch, record)))
		if (record->type == IAPROF_RECORD_PROCESS) {
			log_process((const struct iaprof_record_process *)record);
		} else {
			const struct iaprof_record_mapping *mapping = (const struct iaprof_record_mapping *)record;
			log_add("%" PRIu64 " map %" PRIu32 " %" PRIx64 "+%" PRIx64 " %" PRIx64 " %s%s%s%s\n",
				since_begin(record->time), mapping->pid, mapping->start, mapping->size,
				mapping->file_offset, string_table_text(&texts, mapping->path),
				mapping->flags & IAPROF_MAPPING_DELETED ? " deleted" : "",
				mapping->flags & IAPROF_MAPPING_EXISTING ? " existing" : "",
				mapping->flags & IAPROF_MAPPING_COPIED ? " copied" : "");
		}
	return machine.emit_result;
}

static void lost(void *context, const char *reason, uint64_t begin, uint64_t count)
{
	log_add("lost since %" PRIu64 ": ", since_begin(begin));
	if (count != IAPROF_COUNT_UNKNOWN)
		log_add("%" PRIu64 " ", count);
	log_add("%s\n", reason);
}

const struct sideband_output machine_output = { .intern = intern, .emit = emit, .lost = lost };

void expect(const char *lines)
{
	ck_assert_str_eq(machine.log ? machine.log : "", lines);
	forget();
}

size_t count_lines(const char *begin)
{
	size_t count = 0;
	for (const char *line = machine.log; line && *line; line = strchr(line, '\n') + 1)
		count += !strncmp(line, begin, strlen(begin));
	return count;
}

void forget(void)
{
	free(machine.log);
	machine.log = NULL;
	machine.log_size = 0;
}

/* Files */

static void make_folders(const char *path, char place[512])
{
	ck_assert_ptr_eq(place_of(path, place), place);
	for (char *slash = place + strlen(machine.folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		ck_assert(!mkdir(place, 0755) || errno == EEXIST);
		*slash = '/';
	}
}

void machine_file(const char *path, const char *text)
{
	char place[512];
	make_folders(path, place);
	int descriptor = openat(AT_FDCWD, place, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
	close(descriptor);
}

void machine_link(const char *path, const char *to)
{
	char place[512];
	make_folders(path, place);
	unlink(place);
	ck_assert_int_eq(symlink(to, place), 0);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *position)
{
	return remove(path);
}

void machine_remove(const char *path)
{
	char place[512];
	nftw(place_of(path, place), remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void machine_gone(uint32_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%" PRIu32, pid);
	machine_remove(path);
}

void machine_owner(uint32_t pid, uint32_t user)
{
	size_t i = 0;
	while (owners[i].pid && owners[i].pid != pid)
		ck_assert_uint_lt(++i, OWNERS_MAX);
	owners[i].pid = pid;
	owners[i].user = user;
}

void machine_status(uint32_t pid, uint32_t parent, const char *name, char state, unsigned flags, unsigned threads,
		    unsigned start)
{
	char path[64], text[512];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
	snprintf(text, sizeof text, "%" PRIu32 " (%s) %c %" PRIu32 " 7 7 0 -1 %u 1 2 3 4 5 6 0 0 20 0 %u 0 %u 8 9\n",
		 pid, name, state, parent, flags, threads, start);
	machine_file(path, text);
}

void machine_process(uint32_t pid, uint32_t parent, const char *name, const char *maps)
{
	char path[64];
	machine_status(pid, parent, name, 'S', 0, 1, 1000 + pid);
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", pid);
	machine_file(path, maps);
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/root", pid);
	machine_link(path, "/");
}

void machine_cpus(const char *list)
{
	char text[128];
	snprintf(text, sizeof text, "%s\n", list);
	machine_file("/sys/devices/system/cpu/online", text);
}

void machine_begin(void)
{
	machine = (struct machine){ .has_lost = true, .offline = -1, .folder = "/tmp/iaprof-test-XXXXXX" };
	ck_assert_ptr_nonnull(mkdtemp(machine.folder));
	machine_cpus("0-1");
	machine_file("/proc/uptime", "1 1\n");
}

void machine_end(void)
{
	char folder[sizeof machine.folder];
	memcpy(folder, machine.folder, sizeof folder);
	machine.folder[0] = '\0';
	machine_remove(folder);
	for (size_t i = 0; i < MACHINE_CPUS; i++)
		if (machine.rings[i].opened && machine.rings[i].other_end >= 0)
			close(machine.rings[i].other_end);
	forget();
	string_table_free(&texts);
}

/* Ring buffers */

bool ring_put(unsigned cpu, const void *bytes, size_t size)
{
	struct machine_ring *ring = &machine.rings[cpu];
	uint64_t head = ring->page->data_head, tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE);
	if (head + size - tail > ring->size) {
		ring->lost++;
		return false;
	}
	for (size_t i = 0; i < size; i++)
		ring->data[(head + i) & (ring->size - 1)] = ((const unsigned char *)bytes)[i];
	__atomic_store_n(&ring->page->data_head, head + size, __ATOMIC_RELEASE);
	return true;
}

void ring_count_lost(unsigned cpu)
{
	struct machine_ring *ring = &machine.rings[cpu];
	uint64_t values[2];
	while (read(ring->descriptor, values, sizeof values) > 0)
		;
	values[0] = 0;
	values[1] = ring->lost;
	ck_assert_int_eq(write(ring->other_end, values, sizeof values), sizeof values);
}

void ring_hang_up(unsigned cpu)
{
	close(machine.rings[cpu].other_end);
	machine.rings[cpu].other_end = -1;
}

/* Records: a header, a body, a text that is padded with NULs, and the trailer of SIDEBAND_SAMPLE_TYPE. */
static bool put_record(unsigned cpu, uint64_t time, uint32_t type, unsigned misc, const void *body, size_t body_size,
		       const char *text)
{
	_Alignas(8) unsigned char bytes[8192] = { 0 };
	struct {
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
	} trailer = { .pid = 7, .tid = 8, .time = MACHINE_BEGIN + time, .cpu = cpu };
	size_t text_size = text ? (strlen(text) + 1 + 7) & ~(size_t)7 : 0;
	size_t size = sizeof(struct perf_event_header) + body_size + text_size + sizeof trailer;
	struct perf_event_header header = { .type = type, .misc = (uint16_t)misc, .size = (uint16_t)size };
	ck_assert_uint_le(size, sizeof bytes);
	memcpy(bytes, &header, sizeof header);
	memcpy(bytes + sizeof header, body, body_size);
	if (text)
		memcpy(bytes + sizeof header + body_size, text, strlen(text));
	memcpy(bytes + size - sizeof trailer, &trailer, sizeof trailer);
	return ring_put(cpu, bytes, size);
}

static bool put_task(unsigned cpu, uint64_t time, uint32_t type, uint32_t pid, uint32_t parent, uint32_t tid)
{
	struct {
		uint32_t pid, parent_pid, tid, parent_tid;
		uint64_t time;
	} body = { pid, parent, tid, parent, MACHINE_BEGIN + time };
	return put_record(cpu, time, type, 0, &body, sizeof body, NULL);
}

bool put_fork(unsigned cpu, uint64_t time, uint32_t pid, uint32_t parent)
{
	return put_task(cpu, time, PERF_RECORD_FORK, pid, parent, pid);
}

bool put_thread(unsigned cpu, uint64_t time, uint32_t pid, uint32_t tid)
{
	return put_task(cpu, time, PERF_RECORD_FORK, pid, pid, tid);
}

bool put_exit(unsigned cpu, uint64_t time, uint32_t pid, uint32_t tid)
{
	return put_task(cpu, time, PERF_RECORD_EXIT, pid, 1, tid);
}

static bool put_comm(unsigned cpu, uint64_t time, unsigned misc, uint32_t pid, uint32_t tid, const char *name)
{
	const uint32_t body[] = { pid, tid };
	return put_record(cpu, time, PERF_RECORD_COMM, misc, body, sizeof body, name);
}

bool put_name(unsigned cpu, uint64_t time, uint32_t pid, uint32_t tid, const char *name)
{
	return put_comm(cpu, time, 0, pid, tid, name);
}

bool put_exec(unsigned cpu, uint64_t time, uint32_t pid, const char *name)
{
	return put_comm(cpu, time, COMM_EXEC, pid, pid, name);
}

bool put_mapping(unsigned cpu, uint64_t time, uint32_t pid, uint64_t start, uint32_t protection, const char *path)
{
	struct {
		uint32_t pid, tid;
		uint64_t start, size, file_offset;
		uint32_t device_major, device_minor;
		uint64_t inode, inode_generation;
		uint32_t protection, flags;
	} body = { pid, pid, start, 0x1000, 0x2000, 254, 1, 4711, 42, protection, 2 };
	return put_record(cpu, time, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &body, sizeof body, path);
}

bool put_lost(unsigned cpu, uint64_t time, uint64_t count)
{
	const uint64_t body[] = { 1, count };
	return put_record(cpu, time, PERF_RECORD_LOST, 0, body, sizeof body, NULL);
}
