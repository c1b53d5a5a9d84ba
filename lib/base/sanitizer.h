/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HAS_SANITIZER: 1 in a build with a sanitizer, which multiplies memory use, installs its own signal handlers and
 * _exit(), and requires standard error for its reports; otherwise 0.
 */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif
