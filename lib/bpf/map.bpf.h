/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Definitions of BPF maps: BPF_MAP(threads, HASH, __u32, struct thread, 1024). Sizes of 1 are set by user space. */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define BPF_MAP(NAME, TYPE, KEY, VALUE, ENTRIES)                                                                       \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_##TYPE);                                                                     \
		__uint(max_entries, ENTRIES);                                                                          \
		__type(key, KEY);                                                                                      \
		__type(value, VALUE);                                                                                  \
	} NAME SEC(".maps")

/* An array that user space maps into its memory. */
#define BPF_MAPPED_ARRAY(NAME, VALUE, ENTRIES)                                                                         \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                                      \
		__uint(map_flags, BPF_F_MMAPABLE);                                                                     \
		__uint(max_entries, ENTRIES);                                                                          \
		__type(key, __u32);                                                                                    \
		__type(value, VALUE);                                                                                  \
	} NAME SEC(".maps")

#define BPF_RING(NAME, BYTES)                                                                                          \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_RINGBUF);                                                                    \
		__uint(max_entries, BYTES);                                                                            \
	} NAME SEC(".maps")
