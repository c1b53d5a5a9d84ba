/* SPDX-License-Identifier: Apache-2.0 */
/* What --check tells of sources that take stacks in BPF programs. */
#ifndef IAPROF_BPF_STACK_CHECK_H
#define IAPROF_BPF_STACK_CHECK_H

#include <iaprof/host.h>

/* For check(): how deep stacks can be. */
void bpf_check_stack_depth(const struct iaprof_host *host);

#endif
