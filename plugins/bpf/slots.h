/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* How many scratch slots a CPU has (slots.bpf.h); user space sizes the maps that have them. */
#ifndef IAPROF_BPF_SLOTS_H
#define IAPROF_BPF_SLOTS_H

#define SCRATCH_SLOTS 4u

#endif
