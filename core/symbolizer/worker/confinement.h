/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes every right from a process that parses what other users wrote, in two steps: the worker gives up its user,
 * capabilities and files once; each of its children then loses what it needs to make further processes.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_WORKER_CONFINEMENT_H
#define IAPROF_CORE_SYMBOLIZER_WORKER_CONFINEMENT_H

#include <stdint.h>

/* Sanitizers need memory without limits, and a standard error for what they find. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONFINEMENT_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CONFINEMENT_HAS_SANITIZER 1
#endif
#endif
#ifndef CONFINEMENT_HAS_SANITIZER
#define CONFINEMENT_HAS_SANITIZER 0
#endif

/*
 * No user id of root or of anybody else, no capability, no_new_privs, no core file, no new file of any size, and only
 * the system calls that the worker needs: all others fail with EPERM. Returns 0 or a negative errno.
 */
int confinement_enter(void);
/* Makes what confinement_tighten() needs, once for all children; NULL: out of memory. */
void *confinement_prepare(void);
/*
 * In a child: at most data_limit bytes of memory (UINT64_MAX and sanitizers: no limit), and no system call that makes,
 * signals or limits a process. Returns 0 or a negative errno.
 */
int confinement_tighten(void *prepared, uint64_t data_limit);

#endif
