/* SPDX-License-Identifier: Apache-2.0 */
/* Drops capabilities: see capabilities.h. */
#include "run/capabilities.h"

#include <linux/capability.h>

#include "child/privileges.h"

/* Capabilities that are kept, with their use. */
static const unsigned kept[] = {
	CAP_PERFMON,            /* perf events of CPUs that come online, streams of GPUs after a reset */
	CAP_BPF,                /* BPF programs for libraries that are mapped later */
	CAP_SYS_ADMIN,          /* both, on kernels that require it (perf_event_paranoid 3); mount namespaces */
	CAP_SYS_PTRACE,         /* /proc/PID of other users; tracer=inject */
	CAP_DAC_READ_SEARCH,    /* libraries and folders of other users */
	CAP_DAC_OVERRIDE,       /* outputs in folders of the user who called sudo */
	CAP_SYSLOG,             /* addresses in /proc/kallsyms */
	CAP_CHECKPOINT_RESTORE, /* /proc/PID/map_files */
	CAP_SYS_RESOURCE,       /* locked memory of BPF maps before Linux 5.11, limits of open files */
	CAP_SYS_CHROOT,         /* setns(), together with CAP_SYS_ADMIN */
	CAP_SYS_NICE,           /* priority of this program's helpers and of its loop */
	CAP_IPC_LOCK,           /* rings of perf events of CPUs that come online */
	CAP_KILL,               /* the command, and the injected thread */
	CAP_SETUID,             /* the worker's and the broker's users */
	CAP_SETGID,
	CAP_SETPCAP, /* the worker's capabilities */
};

void capabilities_reduce(void)
{
	/* Fails only for a process without capabilities. */
	(void)privileges_keep(kept, sizeof kept / sizeof *kept, true);
}
