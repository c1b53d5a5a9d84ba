// SPDX-License-Identifier: GPL-2.0-only
/* The player: follows a scenario's tree while the functions call each other. */
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/percpu.h>
#include <linux/pm_runtime.h>
#include "play.h"
#include "trace.h"

/* Who plays in interrupt context on this processor: hard interrupts first, then soft ones. */
static DEFINE_PER_CPU(struct double_player *, atomic_players[2]);

static bool is_atomic_context(void)
{
	return in_hardirq() || in_serving_softirq();
}

static struct double_player **atomic_slot(void)
{
	return this_cpu_ptr(&atomic_players[in_hardirq() ? 0 : 1]);
}

static struct double_player *player_find(struct ivpu_device *vdev)
{
	unsigned int first, i;

	if (is_atomic_context())
		return *atomic_slot();
	first = hash_ptr(current, 6);
	for (i = 0; i < DOUBLE_PLAYERS; i++) {
		unsigned int slot = (first + i) % DOUBLE_PLAYERS;

		/* A slot that is the task's own, no other task changes; other tasks' players are on their stacks. */
		if (READ_ONCE(vdev->player_tasks[slot]) == current)
			return vdev->players[slot];
	}
	return NULL;
}

static void player_push(struct double_player *player)
{
	struct ivpu_device *vdev = player->vdev;
	unsigned int first, i;

	if (is_atomic_context()) {
		player->slot = atomic_slot();
		player->previous = *player->slot;
		WRITE_ONCE(*player->slot, player);
		return;
	}
	player->previous = player_find(vdev);
	if (player->previous) {
		player->slot = player->previous->slot;
		WRITE_ONCE(*player->slot, player);
		return;
	}
	first = hash_ptr(current, 6);
	for (i = 0;; i++) {
		player->slot = &vdev->players[(first + i) % DOUBLE_PLAYERS];
		player->task = &vdev->player_tasks[(first + i) % DOUBLE_PLAYERS];
		if (!READ_ONCE(*player->task) && !cmpxchg(player->task, NULL, current)) {
			WRITE_ONCE(*player->slot, player);
			return;
		}
		if (i % DOUBLE_PLAYERS == DOUBLE_PLAYERS - 1)
			usleep_range(50, 100); /* all are taken: somebody will leave */
	}
}

static void busy(u64 ns)
{
	u64 end = ktime_get_ns() + ns;

	while (ktime_get_ns() < end)
		cpu_relax();
}

static void frame_at(struct double_frame *frame, const struct double_node *node)
{
	frame->node = node;
	frame->child = node->child;
	frame->left = 0;
	frame->repeats = 0;
	if (node->duration_ns)
		busy(node->duration_ns);
}

/* The beginning of a function that the scenario calls: finds its node. false: nobody plays, there is nothing to do. */
bool double_enter(struct double_frame *frame, int function, struct ivpu_device *vdev)
{
	struct double_player *player = player_find(vdev);

	frame->vdev = vdev;
	frame->function = function;
	frame->player = player;
	frame->node = NULL;
	frame->started = ktime_get_ns();
	frame->nested = player && player->expected && player->expected->function == function;
	if (!frame->nested)
		return false;
	frame_at(frame, player->expected);
	player->expected = NULL;
	return true;
}

/* The beginning of a function that the kernel calls. */
void double_begin(struct double_player *player, struct double_frame *frame, int function, struct ivpu_device *vdev)
{
	memset(player, 0, sizeof(*player));
	memset(frame, 0, sizeof(*frame));
	frame->started = ktime_get_ns();
	frame->vdev = player->vdev = vdev;
	frame->function = function;
	frame->player = player;
	player->trigger = -1;
	player->scenario = double_scenario_get(vdev);
	player_push(player);
}

void double_choose(struct double_frame *frame, int trigger)
{
	struct ivpu_device *vdev = frame->vdev;
	struct double_scenario *scenario = frame->player->scenario;
	const struct double_tree *tree;
	unsigned long flags;
	u32 root = DOUBLE_NONE, i, n;

	frame->player->trigger = trigger;
	spin_lock_irqsave(&vdev->scenario_lock, flags);
	/* The trees of a trigger are used one after the other, each `times` times, then from the first one again. */
	for (n = 0, i = scenario->cursors[trigger].tree; n < scenario->tree_count; n++, i++) {
		if (i >= scenario->tree_count)
			i = 0;
		tree = &scenario->trees[i];
		if (tree->trigger != trigger) {
			scenario->cursors[trigger].done = 0;
			continue;
		}
		root = tree->root;
		scenario->cursors[trigger].tree = i;
		if (++scenario->cursors[trigger].done >= tree->times) {
			scenario->cursors[trigger].tree = i + 1;
			scenario->cursors[trigger].done = 0;
		}
		break;
	}
	spin_unlock_irqrestore(&vdev->scenario_lock, flags);
	if (root != DOUBLE_NONE)
		frame_at(frame, &scenario->nodes[root]);
}

void double_choose_event(struct double_frame *frame, struct double_occurrence *occurrence, u32 root)
{
	struct double_player *player = frame->player;

	/* An event belongs to the scenario in which it was started. */
	double_scenario_put(player->scenario);
	player->scenario = occurrence->scenario;
	kref_get(&player->scenario->ref);
	player->trigger = TRIGGER_EVENT;
	if (root != DOUBLE_NONE)
		frame_at(frame, &player->scenario->nodes[root]);
}

static void message(struct ivpu_device *vdev, const struct double_node *node)
{
	bool sent = node->kind == NODE_IPC_SEND;
	struct vpu_jsm_msg msg = {
		.type = node->text,
		.status = VPU_JSM_MSG_ALLOCATED,
		.request_id = sent ? atomic_inc_return(&vdev->request_id) : atomic_read(&vdev->request_id),
	};

	double_count(vdev, sent ? COUNT_IPC_SENT : COUNT_IPC_RECEIVED, 1);
	/* As ivpu_ipc_send() and ivpu_ipc_receive() of drivers/accel/ivpu/ivpu_ipc.c. */
	if (node->text)
		trace_jsm(sent ? "[tx]" : "[rx]", &msg);
}

static void job_submit(struct double_player *player)
{
	if (!player->job)
		return;
	player->job_result = double_job_submit(player->job);
	if (!player->job_result)
		player->job = NULL;
}

static bool may_sleep(const struct double_player *player)
{
	return !is_atomic_context() && player->trigger != TRIGGER_RESUME && player->trigger != TRIGGER_SUSPEND;
}

static void power(struct double_player *player)
{
	if (!may_sleep(player))
		return;
	if (pm_runtime_resume_and_get(player->vdev->drm.dev) == 0)
		player->powered++;
}

static void statement(struct double_frame *frame, const struct double_node *node)
{
	struct double_player *player = frame->player;
	struct ivpu_device *vdev = frame->vdev;

	switch (node->kind) {
	case NODE_BUSY:
		busy(node->duration_ns);
		break;
	case NODE_SLEEP:
		if (is_atomic_context())
			busy(node->duration_ns);
		else
			fsleep(DIV_ROUND_UP_ULL(node->duration_ns, NSEC_PER_USEC));
		break;
	case NODE_PLAY:
		double_event_play(player, node);
		break;
	case NODE_START:
		double_event_start(player, node);
		break;
	case NODE_POWER:
		power(player);
		break;
	case NODE_JOB_SUBMIT:
		job_submit(player);
		break;
	case NODE_JOB_DONE:
		double_job_finish(vdev, node->arguments[0], DRM_IVPU_JOB_STATUS_SUCCESS);
		break;
	case NODE_JOB_ABORT:
		double_job_abort_all(vdev);
		break;
	case NODE_PM:
		trace_pm(node->text);
		break;
	case NODE_IPC_SEND:
	case NODE_IPC_RECEIVE:
		message(vdev, node);
		break;
	}
}

/* The next function that the frame's function calls; statements on the way are done. NULL: there is none left. */
double_call *double_next(struct double_frame *frame)
{
	struct double_player *player = frame->player;
	const struct double_node *nodes, *node;

	if (!frame->node)
		return NULL;
	nodes = player->scenario->nodes;
	for (;;) {
		if (frame->child == DOUBLE_NONE) {
			if (!frame->repeats)
				return NULL;
			node = &nodes[frame->repeat[frame->repeats - 1]];
			if (--frame->repeat_left[frame->repeats - 1]) {
				frame->child = node->child;
			} else {
				frame->repeats--;
				frame->child = node->next;
			}
			continue;
		}
		node = &nodes[frame->child];
		if (node->kind == NODE_REPEAT) {
			if (node->child == DOUBLE_NONE || !node->times || frame->repeats == DOUBLE_REPEAT_DEPTH) {
				frame->child = node->next;
				continue;
			}
			frame->repeat[frame->repeats] = frame->child;
			frame->repeat_left[frame->repeats++] = node->times;
			frame->child = node->child;
			continue;
		}
		if (node->kind != NODE_CALL) {
			statement(frame, node);
			frame->child = node->next;
			continue;
		}
		if (!frame->left)
			frame->left = node->times;
		if (--frame->left == 0)
			frame->child = node->next;
		/* ivpu_rpm_get() of the real driver wakes the device. */
		if (node->function == FUNCTION_ivpu_rpm_get)
			power(player);
		memcpy(frame->arguments, node->arguments, sizeof(frame->arguments));
		player->expected = node;
		return double_functions[node->function].call;
	}
}

void double_leave(struct double_frame *frame)
{
	double_truth_add(frame->vdev, frame->function, ktime_get_ns() - frame->started);
}

void double_end(struct double_player *player, struct double_frame *frame)
{
	struct device *dev = player->vdev->drm.dev;

	WRITE_ONCE(*player->slot, player->previous);
	if (player->task)
		smp_store_release(player->task, NULL);
	double_leave(frame);
	while (player->powered--) {
		pm_runtime_mark_last_busy(dev);
		pm_runtime_put_autosuspend(dev);
	}
	double_scenario_put(player->scenario);
}

/* A tree whose first function the double itself calls. */
void double_play_root(struct ivpu_device *vdev, struct double_scenario *scenario, u32 root)
{
	const struct double_node *node = &scenario->nodes[root];
	struct double_player player;
	struct double_frame frame;

	double_begin(&player, &frame, -1, vdev);
	double_scenario_put(player.scenario);
	kref_get(&scenario->ref);
	player.scenario = scenario;
	player.trigger = TRIGGER_EVENT;
	player.expected = node;
	double_functions[node->function].call(vdev, node->arguments[0], node->arguments[1], node->arguments[2],
					      node->arguments[3], node->arguments[4]);
	double_end(&player, &frame);
}
