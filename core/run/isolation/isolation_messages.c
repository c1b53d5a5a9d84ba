/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of an isolated plugin's process: see isolation_state.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "run/isolation/isolation_state.h"
#include "text/plural.h"

/* Messages for the user in a period: 1000 a second. */
#define LINES_PER_PERIOD 100

void isolation_report_dropped_lines(struct isolation *isolation)
{
	if (isolation->dropped_lines)
		log_message(IAPROF_LOG_WARNING, "%s: %u message%s dropped: more than 1000 per second",
			    isolation->instance->name, isolation->dropped_lines, plural(isolation->dropped_lines));
	isolation->dropped_lines = 0;
}

static void take_log(struct isolation *isolation, const struct message *message)
{
	uint64_t now = clock_monotonic();
	if (now - isolation->lines_begin >= PERIOD) {
		isolation_report_dropped_lines(isolation);
		isolation->lines_begin = now;
		isolation->lines = 0;
	}
	if (isolation->lines++ >= LINES_PER_PERIOD)
		isolation->dropped_lines++;
	else if (message->head.value <= log_level())
		log_message(message->head.value < 0 ? 0 : message->head.value, "%s: %.2000s", isolation->instance->name,
			    message->bytes);
}

/* Splits the bytes of a message at the first NUL. Returns the second text; "" if there is none. */
static const char *second_text(const struct message *message)
{
	size_t first = strlen(message->bytes);
	return first < message->size ? message->bytes + first + 1 : "";
}

static int send_now(struct isolation *isolation, uint32_t kind, int32_t value)
{
	return message_send(isolation->child.channel, kind, value, 0, NULL, 0, CHANNEL_NOW);
}

/* Puts a struct on the way to the process, which may be busy. */
static int send_struct(const struct iaprof_host *host, uint32_t kind, const struct packing_layout *layout,
		       const void *original)
{
	struct isolation *isolation = instance_of(host)->isolation;
	if (!isolation->is_dead && outbox_add(&isolation->outbox, kind, layout, original))
		outbox_send(&isolation->outbox, isolation->child.channel);
	return 0;
}

static int file_is_mapped(const struct iaprof_host *host, void *memory, const struct iaprof_mapped_file *file)
{
	return send_struct(host, MESSAGE_MAPPED_FILE, &packing_of_mapped_file, file);
}

static const struct iaprof_unwind_extension *unwind_extension(const struct iaprof_host *host)
{
	return host->extension(host, IAPROF_UNWIND_EXTENSION);
}

static int unwind(const struct iaprof_host *host, void *memory, const struct iaprof_unwind_table *table,
		  const struct iaprof_unwind_process *process)
{
	return table ? send_struct(host, MESSAGE_UNWIND_TABLE, &packing_of_unwind_table, table)
		     : send_struct(host, MESSAGE_UNWIND_PROCESS, &packing_of_unwind_process, process);
}

static void take_message(struct isolation *isolation, const struct message *message)
{
	struct instance *instance = isolation->instance;
	const struct iaprof_host *host = &instance->host;
	struct error error = { 0 };
	switch (message->header.type) {
	case MESSAGE_LOG:
		take_log(isolation, message);
		break;
	case MESSAGE_ENDED:
		if (message->size) {
			error_set(&error, message->head.value ? message->head.value : EIO, "%.2000s", message->bytes);
			instance_set_error(instance, &error);
		}
		instance_end(instance);
		break;
	case MESSAGE_CRASHED:
		error_set(&error, ECHILD, "%.1000s", message->bytes);
		isolation_die(isolation, error.text,
			      isolated_callback_name(isolated_callback_find(second_text(message))));
		break;
	case MESSAGE_CHECK_ITEM:
		host->check_item(host, (uint32_t)message->head.value, message->bytes, "%s", second_text(message));
		break;
	case MESSAGE_ENVIRONMENT:
		send_now(isolation, MESSAGE_ANSWER,
			 host->command_environment(host, message->bytes, second_text(message),
						   (uint32_t)message->head.value));
		break;
	case MESSAGE_INJECT: {
		struct instance_services *services = instance->services;
		int result = services->inject ? services->inject(services->context, instance, message->bytes,
								 message->size, &error)
					      : error_set(&error, ENOTSUP, "not in this run");
		(void)message_send(isolation->child.channel, MESSAGE_ANSWER, result, 0, error.text,
				   result ? strlen(error.text) : 0, CHANNEL_NOW);
		break;
	}
	case MESSAGE_WATCH_UNWIND:
		send_now(isolation, MESSAGE_ANSWER, unwind_extension(host)->on_unwind(host, unwind));
		break;
	case MESSAGE_REQUEST_UNWIND: {
		uint64_t execution = 0;
		memcpy(&execution, message->bytes, message->size < sizeof execution ? message->size : sizeof execution);
		unwind_extension(host)->unwind_process(host, message->head.number, execution);
		break;
	}
	case MESSAGE_REQUESTS: {
		struct sink_requests requests = { 0 };
		memcpy(&requests, message->bytes, message->size < sizeof requests ? message->size : sizeof requests);
		instance->requests = requests.requests;
		instance->time_resolution = requests.time_resolution;
		instance->default_interval = requests.default_interval;
		break;
	}
	case MESSAGE_END_RUN:
		host->end_run(host);
		break;
	case MESSAGE_DELIVERY: {
		struct iaprof_delivery delivery = { 0 };
		memcpy(&delivery, message->bytes, message->size < sizeof delivery ? message->size : sizeof delivery);
		host->delivery(host, &delivery);
		break;
	}
	case MESSAGE_WATCH_FILES:
		send_now(isolation, MESSAGE_ANSWER, host->on_mapped_file(host, file_is_mapped));
		break;
	default:
		isolation_die(isolation, "sent a malformed message", "");
	}
}

/* Receives a message into isolation->message. Returns false if there is none. */
static bool receive(struct isolation *isolation)
{
	int result = isolation->is_dead
			     ? -ETIMEDOUT
			     : message_receive(isolation->child.channel, &isolation->message, NULL, CHANNEL_NOW);
	if (result == -EBADMSG)
		isolation_die(isolation, "sent a malformed message", "");
	else if (result && result != -ETIMEDOUT)
		isolation_die_of_status(isolation);
	return !result;
}

bool isolation_take_messages(struct isolation *isolation)
{
	for (int i = 0; i < MESSAGES_PER_TURN && receive(isolation); i++) {
		if (isolation->message.header.type == MESSAGE_RETURN)
			return true;
		take_message(isolation, &isolation->message);
	}
	return false;
}
