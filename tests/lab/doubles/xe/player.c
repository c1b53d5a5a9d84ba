// SPDX-License-Identifier: GPL-2.0-only
/* The player: every tick it lets the rows that are due happen, in the scenario's order, loop after loop. */
#include <linux/ktime.h>
#include <linux/math64.h>
#include "hardware.h"
#include "scenario.h"

/* Bounds of one tick: rows, and how far behind a rate may fall before rows are left out. */
#define ROWS_PER_TICK 65536u
#define CREDIT_MAX_NSEC NSEC_PER_SEC
/* Rows of one GT that happen under its lock at a time. */
#define ROWS_PER_LOCK 256u

static u64 rows_due_by_rate(struct player *player, const struct scenario *scenario, u64 elapsed)
{
	u64 most = scenario->rate * CREDIT_MAX_NSEC;
	u64 due;

	/* At most 1e8 rows/s for 1 s: 1e17, well inside 64 bits. */
	player->credit += scenario->rate * min_t(u64, elapsed, 10 * CREDIT_MAX_NSEC);
	if (player->credit > most) {
		player->late += div_u64(player->credit - most, NSEC_PER_SEC);
		player->credit = most;
	}
	due = div_u64(player->credit, NSEC_PER_SEC);
	return min_t(u64, due, ROWS_PER_TICK);
}

/* How many rows from the position on are due and on the same GT, at most limit. */
static u32 run_length(const struct player *player, const struct scenario *scenario, u32 limit)
{
	u64 loop_start = scenario->period * player->loops;
	u32 first = player->position, last = first;

	while (last < scenario->row_count && last - first < limit &&
	       scenario->rows[last].gt == scenario->rows[first].gt &&
	       (scenario->pace != PACE_TIME || loop_start + scenario->rows[last].time <= player->time))
		last++;
	return last - first;
}

/* Returns false when the last loop is over. */
static bool advance(struct player *player, const struct scenario *scenario, u32 played)
{
	player->position += played;
	if (player->position < scenario->row_count)
		return true;
	player->position = 0;
	player->loops++;
	return scenario->loops == SCENARIO_LOOP_FOREVER || player->loops < scenario->loops;
}

static void play_due_rows(struct xe_device *xe, u64 elapsed)
{
	struct scenario *scenario = xe->scenario;
	struct player *player = &xe->player;
	u64 left = scenario->pace == PACE_RATE ? rows_due_by_rate(player, scenario, elapsed) : ROWS_PER_TICK;

	while (left) {
		u32 count = run_length(player, scenario, min_t(u64, left, ROWS_PER_LOCK));
		struct xe_gt *gt = &xe->gt[scenario->rows[player->position].gt];
		u32 played = count ? hardware_play(gt, player->position, count, scenario->pace == PACE_LOSSLESS) : 0;

		left -= played;
		if (scenario->pace == PACE_RATE)
			player->credit -= (u64)played * NSEC_PER_SEC;
		if (played && !advance(player, scenario, played)) {
			player->state = PLAYER_FINISHED;
			return;
		}
		if (!played || played < count)
			return;
	}
}

static void player_tick(struct work_struct *work)
{
	struct player *player = container_of(to_delayed_work(work), struct player, work);
	struct xe_device *xe = container_of(player, struct xe_device, player);
	u64 now = ktime_get_ns();

	mutex_lock(&player->lock);
	if (player->state == PLAYER_PLAYING) {
		u64 elapsed = now - player->last_tick;

		player->last_tick = now;
		if (xe->scenario->play_always || atomic_read(&xe->enabled_streams)) {
			player->time += elapsed;
			WRITE_ONCE(player->busy, player->busy + elapsed);
			play_due_rows(xe, elapsed);
		}
	}
	if (player->state == PLAYER_PLAYING)
		queue_delayed_work(player->queue, &player->work, 1);
	mutex_unlock(&player->lock);
}

int player_create(struct xe_device *xe)
{
	mutex_init(&xe->player.lock);
	INIT_DELAYED_WORK(&xe->player.work, player_tick);
	xe->player.queue = alloc_ordered_workqueue("xe-double-player", 0);
	return xe->player.queue ? 0 : -ENOMEM;
}

void player_destroy(struct xe_device *xe)
{
	if (!xe->player.queue)
		return;
	cancel_delayed_work_sync(&xe->player.work);
	destroy_workqueue(xe->player.queue);
	mutex_destroy(&xe->player.lock);
}

static void rewind_player(struct player *player)
{
	player->position = 0;
	player->loops = 0;
	player->time = 0;
	player->credit = 0;
}

void player_start(struct xe_device *xe)
{
	struct player *player = &xe->player;

	mutex_lock(&player->lock);
	if (player->state != PLAYER_PLAYING) {
		if (player->state != PLAYER_PAUSED)
			rewind_player(player);
		player->state = PLAYER_PLAYING;
		player->last_tick = ktime_get_ns();
		queue_delayed_work(player->queue, &player->work, 0);
	}
	mutex_unlock(&player->lock);
}

void player_pause(struct xe_device *xe)
{
	struct player *player = &xe->player;

	mutex_lock(&player->lock);
	if (player->state == PLAYER_PLAYING)
		player->state = PLAYER_PAUSED;
	mutex_unlock(&player->lock);
	cancel_delayed_work_sync(&player->work);
}

void player_stop(struct xe_device *xe)
{
	struct player *player = &xe->player;

	mutex_lock(&player->lock);
	player->state = PLAYER_STOPPED;
	rewind_player(player);
	mutex_unlock(&player->lock);
	cancel_delayed_work_sync(&player->work);
}

u32 player_play(struct xe_device *xe, u32 count)
{
	struct scenario *scenario = xe->scenario;
	struct player *player = &xe->player;
	u32 played = 0, run, done;
	bool left = true;

	mutex_lock(&player->lock);
	if (player->state == PLAYER_STOPPED || player->state == PLAYER_FINISHED) {
		rewind_player(player);
		player->state = PLAYER_PAUSED;
	}
	while (left && played < count && player->state == PLAYER_PAUSED) {
		run = run_length(player, scenario, min_t(u32, count - played, ROWS_PER_LOCK));
		done = run ? hardware_play(&xe->gt[scenario->rows[player->position].gt], player->position, run, true)
			   : 0;
		played += done;
		left = done == run && run;
		if (done && !advance(player, scenario, done))
			player->state = PLAYER_FINISHED;
	}
	mutex_unlock(&player->lock);
	return played;
}
