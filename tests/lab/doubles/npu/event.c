// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens beside the callers: interrupts (the edu device's own, docs/specs/edu.rst of QEMU), works and timers. One
 * interrupt is raised at a time, with its thread part; so each has its own call of the handler.
 */
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/slab.h>
#include "play.h"

#define EDU_RAISE 0x60
#define PLAY_TIMEOUT (10 * HZ)
#define TIMERS_MAX 4096

struct double_timer {
	struct hrtimer timer;
	struct list_head link; /* in ivpu_device.timers, under event_lock */
	struct ivpu_device *vdev;
	struct double_scenario *scenario;
	const struct double_event *event;
	ktime_t every;
	u32 left;
	bool finished;
};

static const int work_functions[DOUBLE_WORK_COUNT] = {
#define W(name) [WORK_##name] = FUNCTION_##name,
	DOUBLE_WORKS(W)
#undef W
};

int double_work_of(int function)
{
	int i;

	for (i = 0; i < DOUBLE_WORK_COUNT; i++)
		if (work_functions[i] == function)
			return i;
	return -1;
}

static void occurrence_release(struct kref *ref)
{
	struct double_occurrence *occurrence = container_of(ref, struct double_occurrence, ref);

	double_scenario_put(occurrence->scenario);
	kfree(occurrence);
}

void double_event_finish(struct ivpu_device *vdev, struct double_occurrence *occurrence)
{
	complete_all(&occurrence->done);
	kref_put(&occurrence->ref, occurrence_release);
}

static void raise_next(struct ivpu_device *vdev)
{
	lockdep_assert_held(&vdev->event_lock);
	if (vdev->interrupt_in_flight || vdev->stopping || list_empty(&vdev->interrupts))
		return;
	vdev->interrupt_in_flight = true;
	writel(1, vdev->registers + EDU_RAISE);
}

struct double_occurrence *double_event_next_interrupt(struct ivpu_device *vdev)
{
	struct double_occurrence *occurrence;
	unsigned long flags;

	spin_lock_irqsave(&vdev->event_lock, flags);
	occurrence = list_first_entry_or_null(&vdev->interrupts, struct double_occurrence, link);
	if (occurrence)
		list_del_init(&occurrence->link);
	spin_unlock_irqrestore(&vdev->event_lock, flags);
	return occurrence;
}

void double_event_done_interrupt(struct ivpu_device *vdev)
{
	unsigned long flags;

	spin_lock_irqsave(&vdev->event_lock, flags);
	vdev->interrupt_in_flight = false;
	raise_next(vdev);
	spin_unlock_irqrestore(&vdev->event_lock, flags);
}

struct double_occurrence *double_event_next_work(struct double_work *work)
{
	struct double_occurrence *occurrence;
	unsigned long flags;

	spin_lock_irqsave(&work->vdev->event_lock, flags);
	occurrence = list_first_entry_or_null(&work->occurrences, struct double_occurrence, link);
	if (occurrence)
		list_del_init(&occurrence->link);
	if (!list_empty(&work->occurrences) && !work->vdev->stopping)
		queue_work(system_dfl_wq, &work->work); /* one call of the function for each */
	spin_unlock_irqrestore(&work->vdev->event_lock, flags);
	return occurrence;
}

void double_event_queue_work(struct ivpu_device *vdev, struct double_occurrence *occurrence)
{
	int function = occurrence->scenario->nodes[occurrence->event->work].function;
	struct double_work *work = &vdev->works[double_work_of(function)];
	unsigned long flags;
	bool stopping;

	spin_lock_irqsave(&vdev->event_lock, flags);
	stopping = vdev->stopping;
	if (!stopping) {
		list_add_tail(&occurrence->link, &work->occurrences);
		queue_work(system_dfl_wq, &work->work);
	}
	spin_unlock_irqrestore(&vdev->event_lock, flags);
	if (stopping)
		double_event_finish(vdev, occurrence);
}

static struct double_occurrence *occurrence_new(struct double_scenario *scenario, const struct double_event *event,
						gfp_t gfp)
{
	struct double_occurrence *occurrence = kzalloc(sizeof(*occurrence), gfp);

	if (!occurrence)
		return NULL;
	kref_init(&occurrence->ref);
	INIT_LIST_HEAD(&occurrence->link);
	init_completion(&occurrence->done);
	kref_get(&scenario->ref);
	occurrence->scenario = scenario;
	occurrence->event = event;
	return occurrence;
}

/* Takes over the reference. */
static void fire(struct ivpu_device *vdev, struct double_occurrence *occurrence)
{
	unsigned long flags;
	bool stopping;

	if (!occurrence->event->is_interrupt) {
		double_event_queue_work(vdev, occurrence);
		return;
	}
	spin_lock_irqsave(&vdev->event_lock, flags);
	stopping = vdev->stopping;
	if (!stopping) {
		list_add_tail(&occurrence->link, &vdev->interrupts);
		raise_next(vdev);
	}
	spin_unlock_irqrestore(&vdev->event_lock, flags);
	if (stopping)
		double_event_finish(vdev, occurrence);
}

/* `play NAME`: returns when the event is over. */
int double_event_play(struct double_player *player, const struct double_node *node)
{
	struct ivpu_device *vdev = player->vdev;
	struct double_occurrence *occurrence =
		occurrence_new(player->scenario, &player->scenario->events[node->event], GFP_KERNEL);
	int result = 0;

	if (!occurrence)
		return -ENOMEM;
	kref_get(&occurrence->ref);
	fire(vdev, occurrence);
	if (!wait_for_completion_timeout(&occurrence->done, PLAY_TIMEOUT)) {
		double_count(vdev, COUNT_EVENTS_LOST, 1);
		result = -ETIMEDOUT;
	}
	kref_put(&occurrence->ref, occurrence_release);
	return result;
}

/* The thread's first function depends on the kernel that is played, so this stands between. */
irqreturn_t double_irq_thread(int irq, void *ptr)
{
	struct ivpu_device *vdev = ptr;
	struct double_occurrence *occurrence = vdev->in_thread;

	vdev->in_thread = NULL;
	if (occurrence)
		double_play_root(vdev, occurrence->scenario, occurrence->event->thread);
	double_event_done_interrupt(vdev);
	if (occurrence && occurrence->event->work != DOUBLE_NONE)
		double_event_queue_work(vdev, occurrence);
	else if (occurrence)
		double_event_finish(vdev, occurrence);
	return IRQ_HANDLED;
}

static enum hrtimer_restart timer_expired(struct hrtimer *hrtimer)
{
	struct double_timer *timer = container_of(hrtimer, struct double_timer, timer);
	struct double_occurrence *occurrence;

	if (timer->event->is_timer) {
		double_play_root(timer->vdev, timer->scenario, timer->event->hard);
	} else {
		occurrence = occurrence_new(timer->scenario, timer->event, GFP_ATOMIC);
		if (occurrence)
			fire(timer->vdev, occurrence);
		else
			double_count(timer->vdev, COUNT_EVENTS_LOST, 1);
	}
	if (--timer->left && !READ_ONCE(timer->vdev->stopping)) {
		hrtimer_forward_now(hrtimer, timer->every);
		return HRTIMER_RESTART;
	}
	WRITE_ONCE(timer->finished, true);
	return HRTIMER_NORESTART;
}

static void timer_free(struct double_timer *timer)
{
	double_scenario_put(timer->scenario);
	kfree(timer);
}

/* Frees what has run out; of those that run still, tells the number. */
static unsigned int reap_timers(struct ivpu_device *vdev)
{
	struct double_timer *timer, *following;
	unsigned long flags;
	unsigned int left = 0;
	LIST_HEAD(finished);

	spin_lock_irqsave(&vdev->event_lock, flags);
	list_for_each_entry_safe(timer, following, &vdev->timers, link)
	{
		if (READ_ONCE(timer->finished) && hrtimer_try_to_cancel(&timer->timer) >= 0)
			list_move(&timer->link, &finished);
		else
			left++;
	}
	spin_unlock_irqrestore(&vdev->event_lock, flags);
	list_for_each_entry_safe(timer, following, &finished, link) timer_free(timer);
	return left;
}

/* `start NAME [after T] [every T times N]`: does not wait. */
void double_event_start(struct double_player *player, const struct double_node *node)
{
	const struct double_event *event = &player->scenario->events[node->event];
	struct ivpu_device *vdev = player->vdev;
	struct double_occurrence *occurrence;
	struct double_timer *timer;
	unsigned long flags;
	bool stopping;

	if (!node->duration_ns && node->times == 1 && !event->is_timer) {
		occurrence = occurrence_new(player->scenario, event, GFP_ATOMIC);
		if (occurrence)
			fire(vdev, occurrence);
		else
			double_count(vdev, COUNT_EVENTS_LOST, 1);
		return;
	}
	spin_lock_irqsave(&vdev->event_lock, flags);
	stopping = vdev->stopping;
	spin_unlock_irqrestore(&vdev->event_lock, flags);
	if (stopping)
		return;
	timer = reap_timers(vdev) < TIMERS_MAX ? kzalloc(sizeof(*timer), GFP_ATOMIC) : NULL;
	if (!timer) {
		double_count(vdev, COUNT_EVENTS_LOST, 1);
		return;
	}
	timer->vdev = vdev;
	timer->event = event;
	timer->scenario = player->scenario;
	kref_get(&timer->scenario->ref);
	timer->every = ns_to_ktime(node->every_ns);
	timer->left = node->times;
	hrtimer_setup(&timer->timer, timer_expired, CLOCK_MONOTONIC,
		      event->is_timer ? HRTIMER_MODE_REL_SOFT : HRTIMER_MODE_REL);
	spin_lock_irqsave(&vdev->event_lock, flags);
	stopping = vdev->stopping;
	if (!stopping) {
		list_add_tail(&timer->link, &vdev->timers);
		hrtimer_start(&timer->timer, ns_to_ktime(node->duration_ns),
			      event->is_timer ? HRTIMER_MODE_REL_SOFT : HRTIMER_MODE_REL);
	}
	spin_unlock_irqrestore(&vdev->event_lock, flags);
	if (stopping)
		timer_free(timer);
}

/* Whether something of the scenario is still going to happen. */
bool double_event_busy(struct ivpu_device *vdev)
{
	unsigned int timers = reap_timers(vdev), i;
	unsigned long flags;
	bool waiting;

	spin_lock_irqsave(&vdev->event_lock, flags);
	waiting = timers || vdev->interrupt_in_flight || !list_empty(&vdev->interrupts);
	for (i = 0; i < DOUBLE_WORK_COUNT; i++)
		waiting = waiting || !list_empty(&vdev->works[i].occurrences) || work_busy(&vdev->works[i].work);
	spin_unlock_irqrestore(&vdev->event_lock, flags);
	return waiting;
}

void double_events_init(struct ivpu_device *vdev)
{
	static const work_func_t functions[DOUBLE_WORK_COUNT] = {
#define W(name) [WORK_##name] = name,
		DOUBLE_WORKS(W)
#undef W
	};
	int i;

	spin_lock_init(&vdev->event_lock);
	INIT_LIST_HEAD(&vdev->interrupts);
	INIT_LIST_HEAD(&vdev->timers);
	for (i = 0; i < DOUBLE_WORK_COUNT; i++) {
		INIT_WORK(&vdev->works[i].work, functions[i]);
		INIT_LIST_HEAD(&vdev->works[i].occurrences);
		vdev->works[i].vdev = vdev;
	}
}

/* Nothing happens any more after this; the interrupt is still requested. */
void double_events_stop(struct ivpu_device *vdev)
{
	struct double_occurrence *occurrence;
	struct double_timer *timer, *following;
	unsigned long flags;
	LIST_HEAD(timers);
	int i;

	spin_lock_irqsave(&vdev->event_lock, flags);
	vdev->stopping = true;
	list_splice_init(&vdev->timers, &timers); /* reap_timers() finds none of them any more */
	spin_unlock_irqrestore(&vdev->event_lock, flags);
	list_for_each_entry_safe(timer, following, &timers, link)
	{
		hrtimer_cancel(&timer->timer);
		timer_free(timer);
	}
	synchronize_irq(vdev->irq);
	for (i = 0; i < DOUBLE_WORK_COUNT; i++) {
		cancel_work_sync(&vdev->works[i].work);
		while ((occurrence = double_event_next_work(&vdev->works[i])))
			double_event_finish(vdev, occurrence);
	}
	while ((occurrence = double_event_next_interrupt(vdev)))
		double_event_finish(vdev, occurrence);
}
