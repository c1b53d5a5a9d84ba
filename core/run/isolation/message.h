/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between iaprof and the process of an isolated plugin: calls of callbacks and their results, messages for the
 * user, and services that need an answer. Each is one packet (child/channel.h). Records do not pass through here, but
 * through shared memory (record_ring.h).
 */
#pragma once

#include "child/channel.h"

/* Largest payload, in bytes: command_environment() has the largest arguments. */
#define MESSAGE_BYTES_MAX ((size_t)64 << 10)

enum message_kind {
	/* To the plugin's process. */
	MESSAGE_CALL = 1, /* number: enum isolated_callback */
	MESSAGE_ANSWER,   /* value: the result of the service that was asked for */
	/* Bytes or a file: see packing.h. */
	MESSAGE_TARGET,
	MESSAGE_MAPPED_FILE,
	MESSAGE_UNWIND_TABLE,
	MESSAGE_UNWIND_PROCESS,
	MESSAGE_PROFILE, /* of the next call of profile() */
	/* From the plugin's process. */
	MESSAGE_RETURN,         /* value: result of the callback; number: enum return_flag; bytes: the error */
	MESSAGE_LOG,            /* value: enum iaprof_log_level; bytes: text */
	MESSAGE_ENDED,          /* the source has finished, or failed outside of a call; bytes: the error */
	MESSAGE_CRASHED,        /* bytes: "crashed with SIGSEGV", NUL, name of the callback */
	MESSAGE_CHECK_ITEM,     /* value: enum iaprof_check_state; bytes: name, NUL, text */
	MESSAGE_ENVIRONMENT,    /* value: enum iaprof_environment_change; bytes: name, NUL, value; has an ANSWER */
	MESSAGE_INJECT,         /* bytes: injection_pack(); has an ANSWER, bytes: the error */
	MESSAGE_WATCH_FILES,    /* has an ANSWER */
	MESSAGE_WATCH_UNWIND,   /* has an ANSWER */
	MESSAGE_REQUEST_UNWIND, /* number: pid; bytes: execution, 8 bytes */
	MESSAGE_REQUESTS,       /* bytes: struct sink_requests */
	MESSAGE_END_RUN,
	MESSAGE_DELIVERY, /* bytes: struct iaprof_delivery */
	/*
	 * From a sink's process, through a socket of its own; each has an ANSWER: value: a negative errno or a result;
	 * bytes: the error. number: of the output.
	 */
	MESSAGE_OUTPUT_OPEN, /* bytes: the variant; value: 1 if there is one; number: flags. The result is a number */
	MESSAGE_OUTPUT_WRITE,
	MESSAGE_OUTPUT_FLUSH,
	MESSAGE_OUTPUT_CLOSE,
	MESSAGE_OUTPUT_DISCARD,
	MESSAGE_OUTPUT_IS_SINGLE,
	MESSAGE_SCREEN_ACQUIRE, /* bytes: what restores the terminal */
	MESSAGE_SCREEN_RELEASE,
};

/* The callbacks that iaprof calls, and those that the plugin's process calls by itself. */
enum isolated_callback {
	ISOLATED_NONE = 0,
	ISOLATED_CONFIGURE,
	ISOLATED_PROBE,
	ISOLATED_CHECK,
	ISOLATED_PREPARE,
	ISOLATED_START,
	ISOLATED_STOP,
	ISOLATED_FINISH,
	ISOLATED_DESTROY,
	ISOLATED_THREAD,
	ISOLATED_DESCRIPTOR,
	ISOLATED_TIMER,
	ISOLATED_MAPPED_FILE,
	ISOLATED_UNWIND,
	ISOLATED_RECORDS, /* bytes: struct sink_batch */
	ISOLATED_PROFILE,
	ISOLATED_CALLBACK_COUNT
};

enum return_flag {
	RETURN_OFFLINE = 1u << 0, /* configure() called host->offline() */
};

/* The records of a call of records(), in shared memory. */
struct sink_batch {
	uint64_t size;
	uint64_t count;
};

/* Data that a sink requested in configure(). */
struct sink_requests {
	uint32_t requests; /* enum iaprof_request */
	uint32_t pad;
	uint64_t time_resolution, default_interval; /* ns, 0: not requested */
};

struct message_head {
	int32_t value;
	uint32_t number;
};

/* A packet, and what message_receive() adds. */
struct message {
	struct channel_header header; /* type: enum message_kind */
	struct message_head head;
	char bytes[MESSAGE_BYTES_MAX + 1]; /* with a NUL after those that were received */
	uint32_t size;                     /* of bytes */
};

/* Returns the name as messages show it: "mapped file"; "" for ISOLATED_NONE and unknown numbers. */
const char *isolated_callback_name(uint32_t callback);
/* Returns the callback with a name; ISOLATED_NONE for others and NULL. */
enum isolated_callback isolated_callback_find(const char *name);

/*
 * Sends a message. Returns as channel_send(), or -E2BIG if bytes are more than MESSAGE_BYTES_MAX. Any thread;
 * async-signal-safe with CHANNEL_NOW.
 */
int message_send(int socket, uint32_t kind, int32_t value, uint32_t number, const void *bytes, size_t size,
		 const struct deadline *deadline);
/* The same with a copy of a descriptor, and without bytes. */
int message_send_file(int socket, uint32_t kind, int descriptor, const struct deadline *deadline);
/* Receives a message. descriptor, result: as channel_receive_packet(). */
int message_receive(int socket, struct message *message, int *descriptor, const struct deadline *deadline);
