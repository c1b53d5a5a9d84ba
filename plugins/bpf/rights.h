/* SPDX-License-Identifier: Apache-2.0 */
/* What this process may do, and what the Linux kernel keeps from everybody. */
#ifndef IAPROF_BPF_RIGHTS_H
#define IAPROF_BPF_RIGHTS_H

#include <stdbool.h>
#include <iaprof/host.h>

/* Of linux/capability.h, some of which are newer than the headers may be. */
enum rights_capability {
	RIGHTS_PTRACE = 19,
	RIGHTS_ADMIN = 21,
	RIGHTS_SYSLOG = 34,
	RIGHTS_PERFMON = 38,
	RIGHTS_BPF = 39,
};

/* Whether a capability is in effect in the initial user namespace, which alone counts here: itself, or by CAP_SYS_ADMIN
 * where Linux takes that for it. */
bool rights_have(enum rights_capability capability);

/* The value of a file in /proc/sys/kernel, or -1. */
long rights_setting(const char *name);

enum rights_lockdown { LOCKDOWN_UNKNOWN, LOCKDOWN_NONE, LOCKDOWN_INTEGRITY, LOCKDOWN_CONFIDENTIALITY };

/* From /sys/kernel/security/lockdown; LOCKDOWN_UNKNOWN: Linux has no such file, so there is none, or it is hidden. */
enum rights_lockdown rights_lockdown(void);

/* Why perf_event_open() for a CPU gave EPERM or EACCES, and what to do. Static or in text. */
const char *rights_explain_perf(char *text, size_t size);

/* Why loading BPF programs gave EPERM, and what to do. */
const char *rights_explain_bpf(void);

/* For check(): items for lockdown and for the rights to load BPF programs and to open perf events. */
void rights_check_bpf(const struct iaprof_host *host);
void rights_check_perf(const struct iaprof_host *host);

#endif
