// SPDX-License-Identifier: GPL-2.0-only
/* debugfs `truth`: what the double did, counted by itself, for a test to compare a profiler with. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>
#include "play.h"

struct process_truth {
	atomic_t id; /* thread group; 0: interrupts */
	char name[TASK_COMM_LEN];
	struct {
		atomic64_t entries, ns;
	} functions[DOUBLE_FUNCTIONS];
};

struct double_truth {
	struct process_truth processes[DOUBLE_PROCESSES];
};

int double_truth_create(struct ivpu_device *vdev)
{
	vdev->truth = vzalloc(sizeof(*vdev->truth));
	if (!vdev->truth)
		return -ENOMEM;
	double_truth_reset(vdev);
	return 0;
}

void double_truth_free(struct ivpu_device *vdev)
{
	vfree(vdev->truth);
	vdev->truth = NULL;
}

/* Not while something plays: double_scenario_files() looks. */
void double_truth_reset(struct ivpu_device *vdev)
{
	int i;

	memset(vdev->truth, 0, sizeof(*vdev->truth));
	strscpy(vdev->truth->processes[0].name, "interrupt");
	atomic_set(&vdev->truth->processes[DOUBLE_PROCESSES - 1].id, -1);
	strscpy(vdev->truth->processes[DOUBLE_PROCESSES - 1].name, "others");
	for (i = 0; i < DOUBLE_COUNTS; i++)
		atomic64_set(&vdev->counts[i], 0);
}

static struct process_truth *process_of(struct double_truth *truth)
{
	int i, id = current->tgid;

	if (in_hardirq() || in_serving_softirq())
		return &truth->processes[0];
	for (i = 1; i < DOUBLE_PROCESSES - 1; i++) {
		struct process_truth *process = &truth->processes[i];
		int have = atomic_read(&process->id);

		if (!have) {
			have = atomic_cmpxchg(&process->id, 0, id);
			if (!have) {
				get_task_comm(process->name, current);
				return process;
			}
		}
		if (have == id)
			return process;
	}
	return &truth->processes[DOUBLE_PROCESSES - 1];
}

void double_truth_add(struct ivpu_device *vdev, int function, u64 ns)
{
	struct process_truth *process;

	if (function < 0)
		return;
	process = process_of(vdev->truth);
	atomic64_inc(&process->functions[function].entries);
	atomic64_add(ns, &process->functions[function].ns);
}

static int truth_show(struct seq_file *file, void *unused)
{
	static const char *const names[DOUBLE_COUNTS] = {
		[COUNT_JOBS_SUBMITTED] = "jobs_submitted",
		[COUNT_JOBS_DONE] = "jobs_done",
		[COUNT_JOBS_ABORTED] = "jobs_aborted",
		[COUNT_IPC_SENT] = "ipc_sent",
		[COUNT_IPC_RECEIVED] = "ipc_received",
		[COUNT_INTERRUPTS] = "interrupts",
		[COUNT_RESUMES] = "resumes",
		[COUNT_SUSPENDS] = "suspends",
		[COUNT_CONTEXTS] = "contexts",
		[COUNT_BUFFERS_CREATED] = "buffers_created",
		[COUNT_BUFFERS_FREED] = "buffers_freed",
		[COUNT_BYTES_CREATED] = "bytes_created",
		[COUNT_EVENTS_LOST] = "events_lost",
	};
	struct ivpu_device *vdev = file->private;
	int i, j;

	for (i = 0; i < DOUBLE_COUNTS; i++)
		seq_printf(file, "%s %lld\n", names[i], atomic64_read(&vdev->counts[i]));
	seq_printf(file, "events_waiting %d\n", double_event_busy(vdev));
	seq_printf(file, "buffers %d\n", atomic_read(&vdev->buffers));
	seq_printf(file, "bytes %lld\n", atomic64_read(&vdev->bytes));
	for (i = 0; i < DOUBLE_PROCESSES; i++) {
		struct process_truth *process = &vdev->truth->processes[i];

		for (j = 0; j < DOUBLE_FUNCTIONS; j++)
			if (atomic64_read(&process->functions[j].entries))
				seq_printf(file, "call %d %s %lld %lld %s\n", atomic_read(&process->id),
					   double_functions[j].name, atomic64_read(&process->functions[j].entries),
					   atomic64_read(&process->functions[j].ns), process->name);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(truth);

void double_truth_file(struct ivpu_device *vdev)
{
	debugfs_create_file("truth", 0444, vdev->debugfs, vdev, &truth_fops);
}
