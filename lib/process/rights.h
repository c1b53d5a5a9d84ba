/* SPDX-License-Identifier: Apache-2.0 */
/* The privileges of this process, and restrictions that apply to every process. */
#pragma once

#include <stdbool.h>
#include <iaprof/host.h>

/* Values of linux/capability.h; installed headers may lack the newer ones. */
enum rights_capability {
	RIGHTS_PTRACE = 19,
	RIGHTS_ADMIN = 21,
	RIGHTS_SYSLOG = 34,
	RIGHTS_PERFMON = 38,
	RIGHTS_BPF = 39,
};

/*
 * Returns true if a capability, or CAP_SYS_ADMIN where Linux accepts it instead, is effective in the initial user
 * namespace, the only one that counts here.
 */
bool rights_have(enum rights_capability capability);

/* Returns the value of a file in /proc/sys, such as "kernel/kptr_restrict", or -1. */
long rights_setting(const char *name);

enum rights_lockdown { LOCKDOWN_UNKNOWN, LOCKDOWN_NONE, LOCKDOWN_INTEGRITY, LOCKDOWN_CONFIDENTIALITY };

/* Reads /sys/kernel/security/lockdown; LOCKDOWN_UNKNOWN: the file does not exist (no lockdown) or is hidden. */
enum rights_lockdown rights_lockdown(void);

/* Returns cause and remedy of EPERM or EACCES of perf_event_open() for a CPU, as a static string or in text. */
const char *rights_explain_perf(char *text, size_t size);

/* Returns cause and remedy of EPERM when BPF programs are loaded. */
const char *rights_explain_bpf(void);

/* For check(): report lockdown and the privileges to load BPF programs and to open perf events. */
void rights_check_bpf(const struct iaprof_host *host);
void rights_check_perf(const struct iaprof_host *host);
