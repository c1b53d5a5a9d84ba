/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The tables of functions that the NPU's user-space driver returns for the extensions "ZE_extension_graph" and
 * "ZE_extension_profiling_data", of any version. Their contents are sent to user space.
 */
#pragma once

/* ZE_GRAPH_EXT_NAME of ze_graph_ext.h; before version 1.8, with a suffix such as "_1_2". */
#define GRAPH_NAME "ZE_extension_graph"
#define PROFILING_NAME "ZE_extension_profiling_data"

/* A request in progress. The loader calls the driver's function of the same name with the same arguments. */
struct graph_request {
	__u64 name;
	__u64 address; /* where the driver stores the table's address */
};
BPF_MAP(graph_requests, HASH, __u32, struct graph_request, 1024);

/* struct ivpu_graph_table */
BPF_RING(graph_tables, 64 * 1024);

static __always_inline void graph_lost(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct ivpu_processor *processor = bpf_map_lookup_elem(&processors, &cpu);

	if (processor)
		__sync_fetch_and_add(&processor->graphs_lost, 1);
}

/*
 * Returns whether a name is another one, with or without a version. The differences are added up instead of compared
 * one by one, as the verifier follows both sides of each comparison.
 */
#define NAME_IS(text, name)                                                                                            \
	({                                                                                                             \
		__u8 difference_ = 0;                                                                                  \
		_Pragma("unroll") for (__u32 i_ = 0; i_ < sizeof(name) - 1; i_++) difference_ |=                       \
			(text)[i_] ^ (name)[i_];                                                                       \
		!difference_ && ((text)[sizeof(name) - 1] == '\0' || (text)[sizeof(name) - 1] == '_');                 \
	})

/* Returns an enum ivpu_table, or -1. Read after the driver has read it: before, the page may not be in memory. */
static __always_inline int table_kind(const void *name)
{
	char text[sizeof(PROFILING_NAME) + 1] = { 0 };

	if (bpf_probe_read_user_str(text, sizeof text, name) < 0)
		return -1;
	if (NAME_IS(text, GRAPH_NAME))
		return IVPU_TABLE_GRAPH;
	return NAME_IS(text, PROFILING_NAME) ? IVPU_TABLE_PROFILING : -1;
}

static __always_inline void graph_table_send(__u32 process, __u32 kind, __u64 table)
{
	struct ivpu_graph_table *event = bpf_ringbuf_reserve(&graph_tables, sizeof *event, 0);

	if (!event) {
		graph_lost();
		return;
	}
	event->process = process;
	event->kind = kind;
	/* The table of an older driver is shorter, and the memory behind it may not be mapped. */
#pragma unroll
	for (__u32 i = 0; i < IVPU_GRAPH_FUNCTIONS; i++)
		if (bpf_probe_read_user(&event->functions[i], sizeof event->functions[i],
					(const void *)(table + i * sizeof event->functions[i])))
			event->functions[i] = 0;
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
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
	int kind = (__u32)PT_REGS_RC(context) ? -1 : table_kind((const void *)request.name);
	if (kind < 0)
		return 0;
	if (bpf_probe_read_user(&table, sizeof table, (const void *)request.address) || !table)
		graph_lost();
	else
		graph_table_send(id >> 32, kind, table);
	return 0;
}
