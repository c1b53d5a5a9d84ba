/* SPDX-License-Identifier: Apache-2.0 */
/* See call_watch.h. */
#include <errno.h>
#include <stdio.h>
#include <bpf/bpf.h>
#include "call_watch.h"
#include "bpf/support.h"
#include "inject.bpf.skel.h"

int call_watch_load(struct call_watch *watch, const struct iaprof_host *host, pid_t pid, ring_buffer_sample_fn take,
		    void *context)
{
	struct bpf_log log = bpf_log_begin(host);
	struct inject_bpf *skeleton = watch->skeleton = inject_bpf__open();
	int result = skeleton ? 0 : -errno;

	watch->host = host;
	if (result == 0) {
		skeleton->rodata->target_process = (uint32_t)pid;
		result = inject_bpf__load(skeleton);
	}
	if (result == 0) {
		watch->events = ring_buffer__new(bpf_map__fd(skeleton->maps.events), take, context, NULL);
		result = watch->events ? 0 : -errno;
	}
	bpf_log_end(&log);
	return result ? bpf_load_fail(host, result, "load the BPF program for loading a library into a program", "5.15")
		      : 0;
}

static int library_attach(struct call_watch *watch, pid_t pid, const struct watched_library *library)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", library->descriptor);
	for (size_t i = 0; i < library->function_count; i++) {
		struct bpf_link *link = bpf_program__attach_uprobe(watch->skeleton->progs.function_entered, false, pid,
								   path, library->function_offsets[i]);
		if (!link)
			return -errno;
		watch->links[watch->link_count++] = link;
	}
	return 0;
}

int call_watch_attach(struct call_watch *watch, const struct target_process *target)
{
	int result = 0;
	struct bpf_log log = bpf_log_begin(watch->host);

	for (size_t i = 0; result == 0 && i < WATCHED_LIBRARIES_MAX; i++) {
		if (target->watched[i].descriptor < 0 || watch->attached[i])
			continue;
		watch->attached[i] = true;
		result = library_attach(watch, target->pid, &target->watched[i]);
	}
	bpf_log_end(&log);
	return result;
}

void call_watch_detach(struct call_watch *watch)
{
	while (watch->link_count)
		bpf_link__destroy(watch->links[--watch->link_count]);
}

void call_watch_wait(struct call_watch *watch, int milliseconds)
{
	ring_buffer__poll(watch->events, milliseconds);
}

static int callers_map(const struct call_watch *watch)
{
	return bpf_map__fd(watch->skeleton->maps.callers);
}

void call_watch_arm(struct call_watch *watch, uint32_t thread)
{
	struct caller caller = { 0 };

	if (bpf_map_lookup_elem(callers_map(watch), &thread, &caller) == 0) {
		caller.state = CALLER_ARMED;
		bpf_map_update_elem(callers_map(watch), &thread, &caller, BPF_EXIST);
	}
}

bool call_watch_has_fired(const struct call_watch *watch, uint32_t thread, struct caller *caller)
{
	return bpf_map_lookup_elem(callers_map(watch), &thread, caller) == 0 && caller->state == CALLER_FIRED;
}

bool call_watch_any_has_fired(const struct call_watch *watch)
{
	uint32_t thread, *previous = NULL;
	struct caller caller;

	for (; bpf_map_get_next_key(callers_map(watch), previous, &thread) == 0; previous = &thread) {
		if (call_watch_has_fired(watch, thread, &caller))
			return true;
	}
	return false;
}

void call_watch_forget(struct call_watch *watch, uint32_t thread)
{
	bpf_map_delete_elem(callers_map(watch), &thread);
}

void call_watch_pause(struct call_watch *watch, bool pause)
{
	watch->skeleton->bss->enough = pause;
}

void call_watch_free(struct call_watch *watch)
{
	if (watch->skeleton)
		call_watch_detach(watch);
	ring_buffer__free(watch->events);
	inject_bpf__destroy(watch->skeleton);
}
