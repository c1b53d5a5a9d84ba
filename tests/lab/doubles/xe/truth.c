// SPDX-License-Identifier: GPL-2.0-only
/* The truth: what became of every row, per GT, per reason and per address. Exact while the player stands still. */
#include <linux/module.h>
#include <linux/seq_file.h>
#include "hardware.h"
#include "scenario.h"
#include "stream.h"

struct row_sums {
	u64 rows;
	u64 counters[STALL_REASON_COUNT];
};

static void add_rows(struct row_sums *sums, const struct scenario_row *row, u64 times)
{
	sums->rows += times;
	for (int reason = 0; reason < STALL_REASON_COUNT; reason++)
		sums->counters[reason] += times * row->counters[reason];
}

static void show_sums(struct seq_file *file, const char *what, const struct row_sums *sums)
{
	seq_printf(file, " %s rows %llu", what, sums->rows);
	for (int reason = 0; reason < STALL_REASON_COUNT; reason++)
		seq_printf(file, " %s %llu", stall_reason_names[reason], sums->counters[reason]);
	seq_putc(file, '\n');
}

static void show_gt(struct seq_file *file, struct xe_gt *gt, int id)
{
	const struct scenario *scenario = gt->xe->scenario;
	struct row_sums produced = {}, read = {};
	struct xe_row_totals totals;
	u64 waiting;

	hardware_totals(gt, &totals, &waiting);
	seq_printf(file,
		   "gt %d totals produced %llu written %llu dropped %llu unsampled %llu read %llu discarded %llu ", id,
		   totals.produced, totals.produced - totals.dropped - totals.unsampled, totals.dropped,
		   totals.unsampled, totals.read, totals.discarded);
	seq_printf(file, "waiting %llu stale %llu overflows %llu forced %llu\n", waiting, totals.stale,
		   totals.overflows, totals.forced);
	for (u32 i = 0; scenario && i < scenario->row_count; i++) {
		if (scenario->rows[i].gt != id)
			continue;
		add_rows(&produced, &scenario->rows[i], scenario->rows[i].produced);
		add_rows(&read, &scenario->rows[i], scenario->rows[i].read);
	}
	seq_printf(file, "gt %d", id);
	show_sums(file, "produced", &produced);
	seq_printf(file, "gt %d", id);
	show_sums(file, "read", &read);
}

static void show_address(struct seq_file *file, const struct scenario *scenario, u32 number)
{
	u32 first = scenario->address_starts[number];
	u32 end = number + 1 < scenario->address_count ? scenario->address_starts[number + 1] : scenario->row_count;
	const struct scenario_row *row = &scenario->rows[scenario->by_address[first]];
	struct row_sums produced = {}, read = {};

	for (u32 i = first; i < end; i++) {
		const struct scenario_row *each = &scenario->rows[scenario->by_address[i]];

		add_rows(&produced, each, each->produced);
		add_rows(&read, each, each->read);
	}
	seq_printf(file, "gt %u address 0x%llx", row->gt, row->address);
	show_sums(file, "produced", &produced);
	seq_printf(file, "gt %u address 0x%llx", row->gt, row->address);
	show_sums(file, "read", &read);
}

/* Position 0 is the head, position n the address of number n - 1. */
static void *truth_at(struct xe_device *xe, loff_t *position)
{
	u32 count = xe->scenario ? xe->scenario->address_count : 0;

	return *position <= count ? position : NULL;
}

static void *truth_start(struct seq_file *file, loff_t *position)
{
	struct xe_device *xe = file->private;

	down_read(&xe->config);
	return truth_at(xe, position);
}

static void *truth_next(struct seq_file *file, void *where, loff_t *position)
{
	++*position;
	return truth_at(file->private, position);
}

static void truth_stop(struct seq_file *file, void *where)
{
	struct xe_device *xe = file->private;

	up_read(&xe->config);
}

static int truth_show(struct seq_file *file, void *where)
{
	struct xe_device *xe = file->private;
	loff_t position = *(loff_t *)where;

	if (position) {
		show_address(file, xe->scenario, position - 1);
		return 0;
	}
	seq_printf(file, "player loops %llu late %llu\n", READ_ONCE(xe->player.loops), READ_ONCE(xe->player.late));
	for (int i = 0; i < XE_MAX_GT; i++)
		if (xe->gt[i].config.present)
			show_gt(file, &xe->gt[i], i);
	return 0;
}

static const struct seq_operations truth_operations = {
	.start = truth_start,
	.next = truth_next,
	.stop = truth_stop,
	.show = truth_show,
};

static int truth_open(struct inode *inode, struct file *file)
{
	int err = seq_open(file, &truth_operations);

	if (!err)
		((struct seq_file *)file->private_data)->private = inode->i_private;
	return err;
}

const struct file_operations truth_file_operations = {
	.owner = THIS_MODULE,
	.open = truth_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release,
};

static void show_stream(struct seq_file *file, const struct xe_stream *stream, int id)
{
	seq_printf(file, "gt %d stream owner %d enabled %d rate %u wait %u pollin %d name %*pE\n", id, stream->owner,
		   stream->enabled, stream->sampling_rate_multiplier * 251, stream->wait_num_reports, stream->pollin,
		   (int)strlen(stream->owner_name), stream->owner_name);
}

static int state_show(struct seq_file *file, void *unused)
{
	static const char *const player_states[] = { "stopped", "playing", "paused", "finished" };
	struct xe_device *xe = file->private;
	const struct row_layout *layout;

	down_read(&xe->config);
	layout = platform_row_layout(&xe->platform);
	seq_printf(file, "platform %s device-id 0x%04x kernel %u.%u layout %s\n", xe->platform.name,
		   xe->platform.device_id, xe->platform.kernel / 1000, xe->platform.kernel % 1000,
		   layout ? layout->name : "none");
	mutex_lock(&xe->player.lock);
	seq_printf(file, "player %s rows %u loops %llu late %llu\n", player_states[xe->player.state],
		   xe->scenario ? xe->scenario->row_count : 0, xe->player.loops, xe->player.late);
	mutex_unlock(&xe->player.lock);
	spin_lock_irq(&xe->jobs.lock);
	seq_printf(file, "jobs %llu running %u busy %llu idle %llu\n", xe->jobs.count, xe->jobs.running, xe->jobs.busy,
		   xe->jobs.idle);
	spin_unlock_irq(&xe->jobs.lock);
	for (int i = 0; i < XE_MAX_GT; i++) {
		mutex_lock(&xe->gt[i].stream_lock);
		if (xe->gt[i].stream)
			show_stream(file, xe->gt[i].stream, i);
		mutex_unlock(&xe->gt[i].stream_lock);
	}
	up_read(&xe->config);
	return 0;
}

static int state_open(struct inode *inode, struct file *file)
{
	return single_open(file, state_show, inode->i_private);
}

const struct file_operations state_file_operations = {
	.owner = THIS_MODULE,
	.open = state_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};
