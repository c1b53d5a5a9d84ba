/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The table of functions of graphs that the NPU's driver in user space hands out: they have no symbols. Whoever asks
 * for the extension "ZE_extension_graph", of any version, gets it; user space is told where the functions are.
 */
#ifndef IAPROF_IVPU_GRAPH_TABLE_BPF_H
#define IAPROF_IVPU_GRAPH_TABLE_BPF_H

/* ZE_GRAPH_EXT_NAME of ze_graph_ext.h, and before its version 1.8 with "_1_2" and so on behind it. */
#define GRAPH_NAME "ZE_extension_graph"
#define GRAPH_NAME_LENGTH (sizeof(GRAPH_NAME) - 1)

/* What a thread asks for. The loader calls the driver's function of the same name, with the same words. */
struct graph_request {
	__u64 name;
	__u64 address; /* where the table's address is to be put */
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct graph_request);
} graph_requests SEC(".maps");

/* struct ivpu_graph_table */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} graph_tables SEC(".maps");

static __always_inline void graph_lost(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct ivpu_processor *processor = bpf_map_lookup_elem(&processors, &cpu);

	if (processor)
		__sync_fetch_and_add(&processor->graphs_lost, 1);
}

/* Read when the driver has done so: what nobody touched yet may not be in memory. */
static __always_inline bool graph_name_is(const void *name)
{
	char text[GRAPH_NAME_LENGTH + 1] = { 0 };

	if (bpf_probe_read_user(text, GRAPH_NAME_LENGTH + 1, name))
		return false;
#pragma unroll
	for (__u32 i = 0; i < GRAPH_NAME_LENGTH; i++)
		if (text[i] != GRAPH_NAME[i])
			return false;
	return text[GRAPH_NAME_LENGTH] == '\0' || text[GRAPH_NAME_LENGTH] == '_';
}

static __always_inline void graph_table_send(__u32 process, __u64 table)
{
	struct ivpu_graph_table *told = bpf_ringbuf_reserve(&graph_tables, sizeof *told, 0);

	if (!told) {
		graph_lost();
		return;
	}
	told->process = process;
	told->pad = 0;
	/* That of an older driver is shorter, and its memory may end behind it. */
#pragma unroll
	for (__u32 i = 0; i < IVPU_GRAPH_FUNCTIONS; i++)
		if (bpf_probe_read_user(&told->functions[i], sizeof told->functions[i],
					(const void *)(table + i * sizeof told->functions[i])))
			told->functions[i] = 0;
	bpf_ringbuf_submit(told, BPF_RB_FORCE_WAKEUP);
}

/* ze_result_t zeDriverGetExtensionFunctionAddress(ze_driver_handle_t, const char *name, void **address) */
SEC("uprobe")
int graph_table_ask(struct pt_regs *context)
{
	struct graph_request request = { .name = PT_REGS_PARM2(context), .address = PT_REGS_PARM3(context) };
	__u64 id = bpf_get_current_pid_tgid();
	__u32 thread = (__u32)id;

	if (only_targets && !process_is_target(id >> 32)) {
		task_stack_keep(context);
		return 0;
	}
	if (bpf_map_update_elem(&graph_requests, &thread, &request, BPF_ANY))
		graph_lost();
	return 0;
}

SEC("uretprobe")
int graph_table_get(struct pt_regs *context)
{
	__u64 id = bpf_get_current_pid_tgid(), table = 0;
	__u32 thread = (__u32)id;
	struct graph_request *found = bpf_map_lookup_elem(&graph_requests, &thread);

	if (!found) {
		task_stack_keep(context);
		return 0;
	}
	struct graph_request request = *found;
	bpf_map_delete_elem(&graph_requests, &thread);
	if ((__u32)PT_REGS_RC(context) || !graph_name_is((const void *)request.name))
		return 0;
	if (bpf_probe_read_user(&table, sizeof table, (const void *)request.address) || !table)
		graph_lost();
	else
		graph_table_send(id >> 32, table);
	return 0;
}

#endif
