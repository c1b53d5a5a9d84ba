/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Number of scratch slots per CPU (slots.bpf.h); user space sets the sizes of the maps. */
#pragma once

#define SCRATCH_SLOTS 4u
