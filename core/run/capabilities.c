/* SPDX-License-Identifier: Apache-2.0 */
/* Drops capabilities: see capabilities.h. */
#include "run/capabilities.h"

#include <cap-ng.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>

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
	capng_get_caps_process();
	for (unsigned capability = 0; capability <= CAP_LAST_CAP; capability++) {
		bool is_kept = false;
		for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
			is_kept |= kept[i] == capability;
		if (!is_kept)
			capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE, capability);
	}
	/* Fails only for a process without capabilities. */
	capng_apply(CAPNG_SELECT_CAPS);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
