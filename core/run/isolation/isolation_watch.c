/* SPDX-License-Identifier: Apache-2.0 */
/* Serves an isolated source's process in the loop of the run: see isolation_state.h. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "run/isolation/isolation_state.h"

static void channel_ready(void *context, uint32_t events)
{
	(void)isolation_take_messages(context);
}

static void records_ready(void *context, uint32_t events)
{
	isolation_read_ring(context, RECORD_RING_SIZE / RECORD_INTAKE_CHUNK / 4);
}

/* Ends a process that has been in the same callback for too long. */
static void check_callback(struct isolation *isolation)
{
	uint32_t number = atomic_load(&isolation->memory->callback_number);
	const char *callback = isolation_callback(isolation);
	if (number != isolation->callback_number) {
		isolation->callback_number = number;
		isolation->callback_deadline = *callback ? isolation_deadline(isolation, CALLBACK_TIME) : DEADLINE_NONE;
	} else if (deadline_has_passed(&isolation->callback_deadline)) {
		isolation_die_of_time(isolation, callback, CALLBACK_TIME);
	}
}

static void expired(void *context, uint64_t expirations)
{
	struct isolation *isolation = context;
	const struct instance *instance = isolation->instance;
	if (isolation->outbox.lost)
		instance->host.lost(&instance->host, "mapped files and unwind tables: the plugin did not read them",
				    clock_monotonic(), isolation->outbox.lost, 0, 0);
	if (isolation->intake.unknown)
		instance->host.lost(&instance->host, "stacks: ids not known", clock_monotonic(),
				    isolation->intake.unknown, 0, 0);
	isolation->outbox.lost = isolation->intake.unknown = 0;
	outbox_send(&isolation->outbox, isolation->child.channel);
	record_intake_close_files(&isolation->intake, false);
	check_callback(isolation);
	if (!isolation->is_dead && isolation->intake.waiting_count)
		records_ready(isolation, 0);
}

int isolation_watch(struct isolation *isolation)
{
	struct loop *loop = isolation->instance->services->loop;
	uint64_t period = instance_is_lossless(isolation->instance) ? PERIOD / 10 : PERIOD;
	if (isolation->is_dead)
		return 0;
	if (isolation->is_sink)
		return isolation_sink_watch(isolation);
	isolation->callback_number = atomic_load(&isolation->memory->callback_number) - 1;
	(void)eventfd_write(isolation->wake, 1);
	int result = loop_watch_descriptor(loop, isolation->child.channel, EPOLLIN, channel_ready, isolation,
					   &isolation->channel_watch);
	if (!result)
		result = loop_watch_descriptor(loop, isolation->wake, EPOLLIN, records_ready, isolation,
					       &isolation->wake_watch);
	return result ? result : loop_watch_timer(loop, period, expired, isolation, &isolation->timer_watch);
}
