/* SPDX-License-Identifier: Apache-2.0 */
/* See support.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include "process/rights.h"
#include "bpf/support.h"

/* Inode of the initial PID namespace, the same on every kernel (PROC_PID_INIT_INO, include/linux/proc_ns.h). */
#define INITIAL_PID_NAMESPACE 0xeffffffcu

static int process_ids_check(const struct iaprof_host *host)
{
	struct stat namespace;

	if (stat("/proc/self/ns/pid", &namespace) == 0 && namespace.st_ino != INITIAL_PID_NAMESPACE)
		return host->fail(host, ENOTSUP,
				  "in a PID namespace (a container?) process ids mean something else than in the Linux "
				  "kernel: run on the host, or with the host's PID namespace (--pid=host)");
	return 0;
}

int bpf_support_check(const struct iaprof_host *host)
{
	/* "return 0": the smallest program that requires the same privileges. */
	static const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int result = process_ids_check(host);
	if (result)
		return result;

	struct bpf_log log = bpf_log_begin(host);
	int descriptor = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "iaprof_probe", "Dual BSD/GPL", program,
				       sizeof program / sizeof program[0], NULL);
	bpf_log_end(&log);
	if (descriptor >= 0) {
		close(descriptor);
	} else if (descriptor == -ENOSYS) {
		return host->fail(host, ENOSYS, "this Linux kernel has no BPF: it needs CONFIG_BPF_SYSCALL=y");
	} else if (descriptor == -EPERM || descriptor == -EACCES) {
		return host->fail(host, -descriptor, "load BPF programs: %s", rights_explain_bpf());
	} else if (descriptor == -EMFILE || descriptor == -ENFILE || descriptor == -ENOMEM) {
		return host->fail(host, -descriptor, "load BPF programs: %s", strerror(-descriptor));
	} else {
		return host->fail(host, -descriptor,
				  "the Linux kernel refuses every BPF program (%s): it needs CONFIG_BPF_EVENTS=y",
				  strerror(-descriptor));
	}

	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		return host->fail(host, errno,
				  "/sys/kernel/btf/vmlinux: %s: the Linux kernel needs CONFIG_DEBUG_INFO_BTF=y",
				  strerror(errno));
	return 0;
}

/* Descriptors that a skeleton may need at the same time: programs, maps, BTF, and feature probes. */
#define DESCRIPTORS_ENOUGH 64u

/* Number of free descriptors, up to DESCRIPTORS_ENOUGH. */
static unsigned descriptors_left(void)
{
	int descriptors[DESCRIPTORS_ENOUGH];
	unsigned count = 0;
	int origin = open("/", O_PATH | O_CLOEXEC);
	if (origin < 0)
		return 0;
	while (count < DESCRIPTORS_ENOUGH && (descriptors[count] = fcntl(origin, F_DUPFD_CLOEXEC, 0)) >= 0)
		count++;
	for (unsigned i = 0; i < count; i++)
		close(descriptors[i]);
	close(origin);
	return count;
}

int bpf_load_fail(const struct iaprof_host *host, int error, const char *what, const char *version)
{
	unsigned left = descriptors_left();
	switch (-error) {
	case EPERM:
		return host->fail(host, error, "%s: %s", what, rights_explain_bpf());
	case EMFILE:
	case ENFILE:
		return host->fail(host, error, "%s: %s", what, strerror(-error));
	case ENOMEM:
		return host->fail(host, error, "%s: not enough memory for its maps: a smaller map-size= needs less",
				  what);
	case EACCES:
		return host->fail(host, error, "%s: the Linux kernel's verifier refuses it: -vv shows why", what);
	case E2BIG:
		return host->fail(
			host, error,
			"%s: it or a map of it is larger than this Linux kernel allows: a smaller map-size= may "
			"do, or Linux %s or newer",
			what, version);
	default:
		break;
	}
	/* libbpf returns another error if one of its own opens failed. */
	if (left < DESCRIPTORS_ENOUGH)
		return host->fail(host, EMFILE, "%s: %s, with room for %u more open files only", what, strerror(-error),
				  left);
	if (rights_lockdown() == LOCKDOWN_CONFIDENTIALITY)
		return host->fail(host, error, "%s: %s: %s", what, strerror(-error), rights_explain_bpf());
	return host->fail(host, error, "%s: %s (requires Linux %s or newer; -vv shows details)", what, strerror(-error),
			  version);
}

/*
 * libbpf's log function has no context argument, so the host is stored per thread, and set only for the duration of a
 * call.
 */
static _Thread_local const struct iaprof_host *log_host;

__attribute__((format(printf, 2, 0))) static int log_print(enum libbpf_print_level level, const char *format,
							   va_list arguments)
{
	char *text = NULL;

	if (!log_host || vasprintf(&text, format, arguments) < 0)
		return 0;
	char *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_host->log(log_host, IAPROF_LOG_DEBUG, "%s", line);
	free(text);
	return 0;
}

struct bpf_log bpf_log_begin(const struct iaprof_host *host)
{
	struct bpf_log log = { .outer_host = log_host };
	sigset_t waiting;

	sigemptyset(&waiting);
	sigaddset(&waiting, SIGHUP);
	sigaddset(&waiting, SIGINT);
	sigaddset(&waiting, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &waiting, &log.outer_signals);
	log_host = host;
	log.outer_print = libbpf_set_print(log_print);
	return log;
}

void bpf_log_end(struct bpf_log *log)
{
	libbpf_set_print(log->outer_print);
	log_host = log->outer_host;
	pthread_sigmask(SIG_SETMASK, &log->outer_signals, NULL);
}

uint32_t bpf_processor_count(void)
{
	int possible = libbpf_num_possible_cpus(); /* negative without /sys */
	long configured = sysconf(_SC_NPROCESSORS_CONF);
	return (uint32_t)(possible > configured ? possible : configured > 0 ? configured : 1);
}

uint32_t bpf_ring_size(uint64_t wanted, uint32_t minimum, uint32_t maximum)
{
	uint32_t size = minimum;
	while (size < maximum && size < wanted)
		size *= 2;
	return size;
}

int bpf_map_sizes_set(const struct iaprof_host *host, const struct bpf_map_size *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int result = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
		if (result == 0 && sizes[i].value_size)
			result = bpf_map__set_value_size(sizes[i].map, sizes[i].value_size);
		if (result)
			return host->fail(host, result, "set the size of BPF map %s: %s", bpf_map__name(sizes[i].map),
					  strerror(-result));
	}
	return 0;
}

uint64_t bpf_program_missed(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof info;

	if (bpf_program__fd(program) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return 0;
	return info.recursion_misses;
}

struct bpf_link *bpf_uprobe_attach(const struct bpf_program *program, bool is_return, uint64_t cookie, int descriptor,
				   uint64_t offset)
{
	const struct bpf_uprobe_opts options = {
		.sz = sizeof options,
		.bpf_cookie = cookie,
		.retprobe = is_return,
	};
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
	return bpf_program__attach_uprobe_opts(program, -1, path, offset, &options);
}
