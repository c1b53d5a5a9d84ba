/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between iaprof and iaprof-injector (child/channel.h). It sends log messages, whose type is their level (enum
 * iaprof_log_level), and once whether the library can be loaded. It ends when the channel does.
 */
#pragma once

#define INJECTOR_PROGRAM "iaprof-injector"
/* Size of a text; a longer one is cut. */
#define INJECTOR_TEXT_MAX 1024u

enum injector_message {
	INJECTOR_IS_READY = 100,   /* to iaprof */
	INJECTOR_HAS_FAILED = 101, /* to iaprof; text: why */
	INJECTOR_BEGIN = 102,      /* from iaprof */
};
