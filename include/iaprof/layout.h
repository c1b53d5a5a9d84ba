/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* iaprof/layout.h - asserts the layout of the structs of the interface. Also included by BPF programs. */
#ifndef IAPROF_LAYOUT_H
#define IAPROF_LAYOUT_H

#include <stddef.h>

/*
 * Asserts the size of a struct on 64-bit machines, in bytes: a compiler that lays it out differently stops here. The
 * size grows when members are appended.
 */
#if __SIZEOF_POINTER__ != 8
#define IAPROF_ASSERT_SIZE(name, bytes) struct name
#elif defined(__cplusplus)
#define IAPROF_ASSERT_SIZE(name, bytes) static_assert(sizeof(struct name) == (bytes), "layout of struct " #name)
#else
#define IAPROF_ASSERT_SIZE(name, bytes) _Static_assert(sizeof(struct name) == (bytes), "layout of struct " #name)
#endif

/*
 * Whether a struct whose writer stated its size, in bytes, has a member. A size is never compared with sizeof, which
 * grows when members are appended.
 */
#define IAPROF_HAS_MEMBER(object, size, member)                                                                        \
	((size_t)(size) >= (size_t)((const char *)(&(object)->member + 1) - (const char *)(object)))

#endif
