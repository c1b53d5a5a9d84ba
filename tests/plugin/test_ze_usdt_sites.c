/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tracer's launch probes on the running Linux kernel, by uprobes that only count: registers survive them, also
 * between signals, and so do forked processes and those whose system calls are restricted.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ze-usdt/probes.h"
#include "ze-usdt/tracer/probe_sites.h"
#include "ze-usdt/usdt_provider.h"
#include "../run_suite.h"

#define SYSTEM_CALL_UPROBE 336L
#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"
#define CPUS_MAX 1024
#define FIRED 1000u

struct registers_pattern {
	uint8_t vectors[16][32];
	uint64_t general[14];
};
int registers_survive(void (*function)(void), const struct registers_pattern *pattern);

static const struct probe {
	const char *name;
	void (*function)(void); /* of probe_sites.h */
	volatile const uint16_t *semaphore;
	unsigned arguments; /* registers that the function reads from the stack */
	bool is_nop10;
} probes[] = {
#define PROBE(name, function, semaphore, arguments, is_nop10)                                                          \
	{                                                                                                              \
		name, (void (*)(void))(uintptr_t)function, &semaphore, arguments, is_nop10                             \
	}
	PROBE(ZE_PROBE_LAUNCH_KERNEL, probe_launch_kernel, level_zero_launch_kernel_semaphore, 1, false),
	PROBE(ZE_PROBE_LAUNCH_KERNEL_NOP10, probe_launch_kernel, level_zero_launch_kernel_semaphore, 1, true),
	PROBE(ZE_PROBE_NEW_LAUNCH, probe_new_launch, level_zero_new_launch_semaphore, 2, false),
	PROBE(ZE_PROBE_NEW_LAUNCH_NOP10, probe_new_launch, level_zero_new_launch_semaphore, 2, true),
#undef PROBE
};
#define PROBE_COUNT (int)(sizeof probes / sizeof probes[0])

struct site {
	uint64_t address, semaphore; /* in the file */
	uint8_t *here;               /* in this process */
};

struct uprobe {
	int events[CPUS_MAX];
	long count;
};

/* Whether Linux makes a call of a 10-byte no-operation, and only then refuses no uprobe at it. */
static bool has_calls(void)
{
	return syscall(SYSTEM_CALL_UPROBE) < 0 && errno == EPROTO;
}

static uint64_t file_offset(Elf *elf, uint64_t address)
{
	size_t count;
	GElf_Phdr segment;

	ck_assert_int_eq(elf_getphdrnum(elf, &count), 0);
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    address - segment.p_vaddr < segment.p_filesz)
			return address - segment.p_vaddr + segment.p_offset;
	ck_abort_msg("no segment has %#lx", (unsigned long)address);
}

/* libelf reads this program's notes. */
static struct site site_find(const struct probe *probe)
{
	struct site site = { 0 };
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_uint_ne(elf_version(EV_CURRENT), EV_NONE);
	Elf *elf = elf_begin(file, ELF_C_READ, NULL);
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		GElf_Nhdr note;
		size_t owner, description;

		ck_assert_ptr_nonnull(gelf_getshdr(section, &header));
		Elf_Data *data = header.sh_type == SHT_NOTE ? elf_getdata(section, NULL) : NULL;
		for (size_t next, at = 0; data && (next = gelf_getnote(data, at, &note, &owner, &description));
		     at = next) {
			const char *bytes = (const char *)data->d_buf + description;
			uint64_t addresses[3];

			if (note.n_type != 3 || note.n_descsz <= sizeof addresses ||
			    strcmp(bytes + sizeof addresses + sizeof ZE_PROBE_PROVIDER, probe->name) != 0)
				continue;
			memcpy(addresses, bytes, sizeof addresses);
			site.address = file_offset(elf, addresses[0]);
			site.semaphore = file_offset(elf, addresses[2]);
			uint64_t semaphore = (uint64_t)(uintptr_t)probe->semaphore;
			site.here = (uint8_t *)(uintptr_t)(semaphore - addresses[2] + addresses[0]);
		}
	}
	ck_assert_ptr_nonnull(site.here);
	elf_end(elf);
	close(file);
	return site;
}

/* Returns 0 or a negative errno. */
static int uprobe_attach(struct uprobe *uprobe, const struct site *site)
{
	unsigned type = 0;
	FILE *file = fopen(UPROBE_TYPE, "re");

	*uprobe = (struct uprobe){ .count = sysconf(_SC_NPROCESSORS_CONF) };
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%u", &type), 1);
	fclose(file);
	struct perf_event_attr attributes = { .size = sizeof attributes,
					      .type = type,
					      .config = site->semaphore << 32,
					      .config1 = (uint64_t)(uintptr_t) "/proc/self/exe",
					      .config2 = site->address };
	for (long cpu = 0; cpu < uprobe->count; cpu++) {
		uprobe->events[cpu] =
			(int)syscall(SYS_perf_event_open, &attributes, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (uprobe->events[cpu] < 0 && errno != ENODEV) /* this CPU is offline */
			return -errno;
	}
	return 0;
}

static uint64_t uprobe_hits(const struct uprobe *uprobe)
{
	uint64_t sum = 0;

	for (long cpu = 0; cpu < uprobe->count; cpu++) {
		uint64_t count = 0;

		if (uprobe->events[cpu] >= 0)
			ck_assert_int_eq(read(uprobe->events[cpu], &count, sizeof count), sizeof count);
		sum += count;
	}
	return sum;
}

static void uprobe_detach(struct uprobe *uprobe)
{
	for (long cpu = 0; cpu < uprobe->count; cpu++)
		if (uprobe->events[cpu] >= 0)
			close(uprobe->events[cpu]);
}

static void fire(const struct probe *probe, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		if (probe->arguments == 1)
			probe_launch_kernel(1, 2, 3, "kernel", 4, 0, 5, NULL);
		else
			probe_new_launch(1, 2, 3, "kernel", 4, 0, 5, NULL, 6);
}

static volatile sig_atomic_t signals;
static const struct probe *signalled;

static void signal_count(int number)
{
	signals = signals + 1;
	fire(signalled, 1);
}

/*
 * The probe's function reads its stack arguments from the frame of registers_survive(): %rax and, of new_launch, %r10
 * have other values then, and no others. Returns how many other ones have.
 */
static unsigned registers_lost(const struct probe *probe, unsigned times)
{
	struct registers_pattern pattern;
	unsigned lost = 0;

	for (size_t i = 0; i < sizeof pattern; i++)
		((uint8_t *)&pattern)[i] = (uint8_t)(i * 37 + 11);
	for (unsigned i = 0; i < times; i++)
		lost += (unsigned)registers_survive(probe->function, &pattern) - probe->arguments;
	return lost;
}

TEST_LOOP(registers_survive_signals_and_probes, 0, PROBE_COUNT)
{
	const struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { 0 };
	const struct probe *probe = &probes[_i];
	struct site site = site_find(probe);
	struct uprobe uprobe;
	uint8_t original[16];

	if (!__builtin_cpu_supports("avx"))
		return;
	ck_assert_uint_eq(registers_lost(probe, FIRED), 0);
	memcpy(original, site.here, sizeof original);
	ck_assert_uint_eq(*probe->semaphore, 0);
	int result = uprobe_attach(&uprobe, &site);
	if (probe->is_nop10 && !has_calls()) {
		ck_assert_int_ne(result, 0);
		uprobe_detach(&uprobe);
		return;
	}
	ck_assert_int_eq(result, 0);
	ck_assert_uint_gt(*probe->semaphore, 0);
	signalled = probe;
	signal(SIGALRM, signal_count);
	setitimer(ITIMER_REAL, &often, NULL);
	unsigned times = 0;
	for (; signals < 100; times += FIRED)
		ck_assert_uint_eq(registers_lost(probe, FIRED), 0);
	setitimer(ITIMER_REAL, &never, NULL);
	ck_assert_uint_eq(uprobe_hits(&uprobe), times + (unsigned)signals);
	/* A breakpoint, or a call behind the instruction that skips the red zone. */
	if (!probe->is_nop10)
		ck_assert_uint_eq(site.here[0], 0xcc);
	else
		ck_assert_uint_eq(site.here[5], 0xe8);
	uprobe_detach(&uprobe);
	ck_assert_uint_eq(*probe->semaphore, 0);
	ck_assert_uint_eq(registers_lost(probe, FIRED), 0);
}

enum restriction { NONE, STRICT, FILTER, RESTRICTION_COUNT };

/* The system calls that remain are exit() and, of the strict mode, read() and write(). */
static void restrict_system_calls(enum restriction restriction)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof instructions / sizeof *instructions, instructions };

	if (restriction == STRICT && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		_exit(1);
	if (restriction == FILTER &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0))
		_exit(1);
}

TEST_LOOP(forked_and_restricted_processes_survive, 0, PROBE_COUNT)
{
	const struct probe *probe = &probes[_i];
	struct site site = site_find(probe);
	struct uprobe uprobe;
	unsigned fired = 0;

	int result = uprobe_attach(&uprobe, &site);
	if (probe->is_nop10 && !has_calls()) {
		uprobe_detach(&uprobe);
		return;
	}
	ck_assert_int_eq(result, 0);
	/* First without hits before the fork, then with the site replaced. */
	for (unsigned before = 0; before <= FIRED; before += FIRED) {
		fire(probe, before);
		fired += before;
		for (enum restriction restriction = NONE; restriction < RESTRICTION_COUNT; restriction++) {
			pid_t child = fork();
			int status;

			if (child == 0) {
				restrict_system_calls(restriction);
				fire(probe, FIRED);
				syscall(SYS_exit, 0);
			}
			ck_assert_int_eq(waitpid(child, &status, 0), child);
			ck_assert_msg(status == 0, "restriction %d after %u hits: status %#x", restriction, before,
				      status);
			fired += FIRED;
		}
	}
	ck_assert_uint_eq(uprobe_hits(&uprobe), fired);
	uprobe_detach(&uprobe);
}

/* The plugin recognizes the tracer's registers, in which it reads the arguments without a look-up. */
TEST(arguments_are_known_to_be_in_registers)
{
	struct usdt_provider provider;
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_reader bytes = elf_reader_of_file(file, (uint64_t)lseek(file, 0, SEEK_END));

	ck_assert(usdt_provider_find(&bytes, &provider));
	ck_assert_uint_eq(provider.sites[PROVIDER_LAUNCH_KERNEL], 1);
	ck_assert_uint_eq(provider.in_registers, 1);
	ck_assert_uint_eq(provider.nop10_sites, 1);
	ck_assert_uint_eq(provider.new_sites, 1);
	ck_assert_uint_eq(provider.new_nop10_sites, 1);
	ck_assert_uint_eq(provider.sites[PROVIDER_SHARE_COUNTS], 1);
	close(file);
}

int main(void)
{
	if (geteuid() != 0 || access(UPROBE_TYPE, R_OK) != 0) {
		puts("1..0 # SKIP requires root and CONFIG_UPROBE_EVENTS=y");
		return 0;
	}
	return run_all_tests(0, NULL, NULL);
}
