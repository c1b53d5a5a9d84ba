/* SPDX-License-Identifier: Apache-2.0 */
/* See rights.h. */
#include "process/rights.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>
#include "base/cleanup.h"
#include "base/machine.h"

/*
 * Debian's value of kernel.perf_event_paranoid that reserves perf events for CAP_SYS_ADMIN; the maximum of Linux itself
 * is 2.
 */
#define PARANOID_DEBIAN 3

/*
 * A rootless container has all capabilities in its user namespace, where Linux does not accept them for BPF and perf
 * events.
 */
static bool is_initial_namespace(void)
{
	unsigned inside = 0, outside = 0, count = 0;
	CLEANUP_FCLOSE FILE *file = fopen("/proc/self/uid_map", "re");
	return !file || fscanf(file, "%u %u %u", &inside, &outside, &count) != 3 ||
	       (!inside && !outside && count == UINT32_MAX);
}

static bool has(enum rights_capability capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	return is_initial_namespace() && syscall(SYS_capget, &header, data) == 0 &&
	       data[capability / 32].effective >> capability % 32 & 1;
}

bool rights_have(enum rights_capability capability)
{
	bool by_admin = capability == RIGHTS_PERFMON || capability == RIGHTS_BPF;
	return has(capability) || (by_admin && has(RIGHTS_ADMIN));
}

long rights_setting(const char *name)
{
	char path[128], text[32], *end;
	snprintf(path, sizeof path, "/proc/sys/%s", name);
	line_read(path, text, sizeof text);
	long value = strtol(text, &end, 10);
	return end == text ? -1 : value;
}

enum rights_lockdown rights_lockdown(void)
{
	char text[128]; /* "none [integrity] confidentiality" */
	return line_read("/sys/kernel/security/lockdown", text, sizeof text) || !text[0] ? LOCKDOWN_UNKNOWN
	       : strstr(text, "[confidentiality]")                                       ? LOCKDOWN_CONFIDENTIALITY
	       : strstr(text, "[integrity]")                                             ? LOCKDOWN_INTEGRITY
											 : LOCKDOWN_NONE;
}

const char *rights_explain_perf(char *text, size_t size)
{
	long paranoid = rights_setting("kernel/perf_event_paranoid");
	if (paranoid >= PARANOID_DEBIAN && !has(RIGHTS_ADMIN))
		snprintf(text, size,
			 "kernel.perf_event_paranoid=%ld reserves perf events for CAP_SYS_ADMIN: run as root, or set "
			 "it to 2 and grant CAP_PERFMON",
			 paranoid);
	else if (!rights_have(RIGHTS_PERFMON))
		snprintf(text, size,
			 "requires CAP_PERFMON (run as root) or kernel.perf_event_paranoid at most 0 (it is %ld)",
			 paranoid);
	else
		snprintf(text, size,
			 "forbidden by a container's seccomp filter or a security module (SELinux, AppArmor), despite "
			 "CAP_PERFMON and kernel.perf_event_paranoid=%ld",
			 paranoid);
	return text;
}

const char *rights_explain_bpf(void)
{
	if (!is_initial_namespace())
		return "requires CAP_BPF and CAP_PERFMON of the host, which a user namespace (rootless container) "
		       "lacks: run as root outside of it";
	if (!rights_have(RIGHTS_BPF) && !rights_have(RIGHTS_PERFMON))
		return "requires CAP_BPF and CAP_PERFMON: run as root";
	if (!rights_have(RIGHTS_BPF))
		return "requires CAP_BPF in addition to CAP_PERFMON: run as root, or grant both";
	if (!rights_have(RIGHTS_PERFMON))
		return "requires CAP_PERFMON in addition to CAP_BPF: run as root, or grant both";
	if (rights_lockdown() == LOCKDOWN_CONFIDENTIALITY)
		return "forbidden by kernel lockdown (confidentiality), even for root: boot with lockdown=integrity, "
		       "or without Secure Boot";
	return "forbidden by a container's seccomp filter or a security module (SELinux, AppArmor), despite CAP_BPF "
	       "and CAP_PERFMON";
}

static void lockdown_check(const struct iaprof_host *host)
{
	static const char name[] = "kernel lockdown";
	switch (rights_lockdown()) {
	case LOCKDOWN_NONE:
		host->check_item(host, IAPROF_CHECK_GOOD, name, "none");
		break;
	case LOCKDOWN_INTEGRITY:
		host->check_item(host, IAPROF_CHECK_GOOD, name, "integrity, which lets profilers read");
		break;
	case LOCKDOWN_CONFIDENTIALITY:
		host->check_item(host, IAPROF_CHECK_MISSING, name,
				 "confidentiality: BPF programs cannot read the Linux kernel's memory and there are no "
				 "kprobes, so nothing can be profiled: boot with lockdown=integrity, or without Secure "
				 "Boot");
		break;
	default: /* the file exists wherever Linux supports lockdown and /sys/kernel/security is mounted */
		break;
	}
}

void rights_check_bpf(const struct iaprof_host *host)
{
	static const char name[] = "right to load BPF programs";
	long unprivileged = rights_setting("kernel/unprivileged_bpf_disabled");
	lockdown_check(host);
	if (rights_have(RIGHTS_BPF) && rights_have(RIGHTS_PERFMON))
		host->check_item(host, IAPROF_CHECK_GOOD, name, "CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN");
	else
		host->check_item(host, IAPROF_CHECK_MISSING, name, "%s%s", rights_explain_bpf(),
				 unprivileged == 0
					 ? " (kernel.unprivileged_bpf_disabled=0 does not suffice for tracing "
					   "programs)"
					 : "");
}

void rights_check_perf(const struct iaprof_host *host)
{
	static const char name[] = "right to sample CPUs";
	char text[256];
	long paranoid = rights_setting("kernel/perf_event_paranoid");
	bool is_allowed = paranoid >= PARANOID_DEBIAN
				  ? has(RIGHTS_ADMIN)
				  : rights_have(RIGHTS_PERFMON) || (paranoid >= 0 && paranoid < 1) || paranoid == -1;
	if (is_allowed)
		host->check_item(host, IAPROF_CHECK_GOOD, name, "kernel.perf_event_paranoid is %ld%s", paranoid,
				 rights_have(RIGHTS_PERFMON) ? ", which CAP_PERFMON overrides" : "");
	else
		host->check_item(host, IAPROF_CHECK_MISSING, name, "%s", rights_explain_perf(text, sizeof text));
}
