/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What iaprof-injector sends to iaprof (child/channel.h): log messages, whose type is their level (enum
 * iaprof_log_level), and once whether it has begun. It ends when the channel does.
 */
#pragma once

#define INJECTOR_PROGRAM "iaprof-injector"
/* Size of a text; a longer one is cut. */
#define INJECTOR_TEXT_MAX 1024u

enum injector_message {
	INJECTOR_HAS_BEGUN = 100,
	INJECTOR_HAS_FAILED = 101, /* text: why */
};
