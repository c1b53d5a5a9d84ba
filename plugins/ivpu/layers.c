/* SPDX-License-Identifier: Apache-2.0 */
/* See layers.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <iaprof/record.h>
#include "layer_data.h"
#include "layers.h"
#include "records/losses.h"
#include "bpf/support.h"
#include "bpf/target_set.h"
#include "npu_layers.bpf.skel.h"

#define ROOT "[NPU layers]"
#define FAMILY "NPU layers"

/* Returns the node of a name below another one, or 0 when out of memory. */
static uint32_t node_get(struct layers *layers, uint32_t parent, const char *name, uint32_t kind, uint64_t time)
{
	return call_records_named_node(layers->records, parent, name, kind == IAPROF_CALL_CONTEXT ? NULL : FAMILY, kind,
				       time);
}

static int time_add(struct layers *layers, const struct layer_event *event, uint32_t node, uint64_t count,
		    uint64_t duration, uint64_t self)
{
	const struct calls calls = { .node = node,
				     .pid = event->process,
				     .count = count,
				     .duration = duration,
				     .self_duration = self,
				     .first_time = event->time,
				     .last_time = event->time,
				     .time_type = layers->time_type,
				     .count_type = layers->count_type };

	return node ? call_records_add(layers->records, &calls) : -ENOMEM;
}

/*
 * Returns the node of an inference's model, ROOT if it is not known, or 0 when out of memory. The driver has no names
 * of models: they are numbered in the order in which their data is read first.
 */
static uint32_t model_node(struct layers *layers, const struct layer_event *event)
{
	uint32_t root = node_get(layers, 0, ROOT, IAPROF_CALL_CONTEXT, event->time);
	struct layer_model model = { .key = { .process = event->process, .graph = event->graph }, .number = 1 };
	char name[32];

	if (!event->graph || !root)
		return root;
	const struct layer_model *known = keyed_array_get(&layers->models, &model.key);
	for (size_t i = 0; i < layers->models.count && !known; i++)
		model.number += layers->models.items[i].key.process == event->process;
	if (!known && layers->models.count == LAYER_MODELS_MAX)
		return root;
	if (!known && keyed_array_add(&layers->models, &model) == POSITION_NONE)
		return 0;
	snprintf(name, sizeof name, "model %" PRIu32, known ? known->number : model.number);
	return node_get(layers, root, name, IAPROF_CALL_CONTEXT, event->time);
}

/*
 * A task is below its name and engine, with the time in which it was stalled. Engines of a layer work at the same time:
 * each has its share of the layer's duration.
 */
static int layer_add(struct layers *layers, const struct layer_event *event, const struct npu_layer *layer)
{
	uint32_t root = model_node(layers, event);
	uint32_t node = root ? node_get(layers, root, layer->name, IAPROF_CALL_FUNCTION, event->time) : 0;
	uint64_t left = layer->duration, sum = 0;
	int result = node ? 0 : -ENOMEM;

	if (layer->is_task) {
		uint64_t stalled = layer_stall_time(layer);
		uint32_t engine =
			node ? node_get(layers, node, layer_part_name(layer->part), IAPROF_CALL_FUNCTION, event->time)
			     : 0;
		uint32_t stall = engine ? node_get(layers, engine, "[stalled]", IAPROF_CALL_CONTEXT, event->time) : 0;
		result = time_add(layers, event, node, 1, layer->duration, 0);
		if (!result)
			result = time_add(layers, event, engine, 1, layer->duration, layer->duration - stalled);
		return result || !stalled ? result : time_add(layers, event, stall, 1, stalled, stalled);
	}
	for (uint32_t i = 0; i < LAYER_PARTS; i++)
		if (__builtin_add_overflow(sum, layer->parts[i], &sum))
			return 0;
	for (uint32_t i = 0; i < LAYER_PARTS && !result; i++) {
		uint64_t its = sum ? (uint64_t)((double)layer->duration * (double)layer->parts[i] / (double)sum) : 0;
		its = its < left ? its : left;
		left -= its;
		if (its)
			result = time_add(layers, event,
					  node_get(layers, node, layer_part_name(i), IAPROF_CALL_FUNCTION, event->time),
					  1, its, its);
	}
	return result ? result : time_add(layers, event, node, 1, layer->duration, left);
}

/* A negative result ends ring_buffer__consume() after this item. */
static int item_take(void *context, void *data, size_t size)
{
	struct layers *layers = context;
	const struct layer_event *event = data;
	struct npu_layer layer;

	if (size < sizeof *event || !layer_decode(event->type, event->item, sizeof event->item, &layer)) {
		layers->refused_now++;
		return 0;
	}
	if (!layers->time_type) {
		/* Runs without layers have no such values. */
		layers->time_type = layers->host->declare_value_type(layers->host, "npu-layer-time", "nanoseconds", 0);
		layers->count_type = layers->host->declare_value_type(layers->host, "npu-layer-runs", "count", 1);
	}
	layers->error = layer.was_executed ? layer_add(layers, event, &layer) : 0;
	layers->items += layer.was_executed;
	return layers->error;
}

int layers_turn(struct layers *layers)
{
	const struct iaprof_host *host = layers->host;

	if (!layers->ring)
		return 0;
	layers->error = 0;
	ring_buffer__consume(layers->ring);
	const struct layer_totals *totals = &layers->skeleton->bss->totals;
	uint64_t now = host->clock(host);
	losses_report(host, "NPU layers: ring buffer full", now, __atomic_load_n(&totals->ring_full, __ATOMIC_RELAXED),
		      &layers->ring_full, 0);
	losses_report(host, "NPU layers: too many in an inference", now,
		      __atomic_load_n(&totals->too_many, __ATOMIC_RELAXED), &layers->too_many, 0);
	losses_report(host, "NPU layers: not in memory", now, __atomic_load_n(&totals->unreadable, __ATOMIC_RELAXED),
		      &layers->unreadable, 0);
	losses_report(host, "NPU layers: unknown data", now, layers->refused_now, &layers->refused, 0);
	losses_report(host, "NPU layers: program did not run", now,
		      bpf_program_missed(layers->skeleton->progs.query_begin) +
			      bpf_program_missed(layers->skeleton->progs.query_end) +
			      bpf_program_missed(layers->skeleton->progs.pool_create_begin) +
			      bpf_program_missed(layers->skeleton->progs.query_create_begin) +
			      bpf_program_missed(layers->skeleton->progs.creation_end),
		      &layers->missed, 0);
	return layers->error ? layers->error : call_records_flush(layers->records);
}

int layers_prepare(struct layers *layers, const struct iaprof_host *host, struct call_records *records)
{
	const struct iaprof_target *target = host->target(host);
	struct bpf_log log = bpf_log_begin(host);
	int result = -ENOMEM;

	*layers = (struct layers){ .host = host, .records = records };
	layers->skeleton = npu_layers_bpf__open();
	if (layers->skeleton) {
		TARGET_SET_CONFIGURE(layers->skeleton, target);
		result = bpf_map__set_max_entries(layers->skeleton->maps.targets, target_words(target));
		result = result ? result : npu_layers_bpf__load(layers->skeleton);
	}
	bpf_log_end(&log);
	if (result)
		return host->fail(host, result, "cannot load the BPF programs that read NPU layers: %s",
				  strerror(-result));
	layers->ring = ring_buffer__new(bpf_map__fd(layers->skeleton->maps.events), item_take, layers, NULL);
	if (!layers->ring)
		return host->fail(host, errno, "cannot map the BPF ring buffer: %s", strerror(errno));
	return 0;
}

int layers_start(struct layers *layers)
{
	return target_set_follow(TARGET_SET(layers->skeleton), layers->host);
}

/* Detaches from the file that was added last. */
static void links_destroy(struct layers *layers)
{
	struct bpf_link **links = layers->files[--layers->file_count].links;

	for (uint32_t i = 0; i < LAYER_LINKS; i++)
		bpf_link__destroy(links[i]);
}

static bool is_attached(const struct layers *layers, uint64_t device, uint64_t inode,
			const struct layer_functions *functions)
{
	for (uint32_t i = 0; i < layers->file_count; i++)
		if (layers->files[i].device == device && layers->files[i].inode == inode &&
		    layers->files[i].functions.get_data == functions->get_data)
			return true;
	return false;
}

int layers_attach(struct layers *layers, int descriptor, uint64_t device, uint64_t inode,
		  const struct layer_functions *functions)
{
	if (!layers->ring || is_attached(layers, device, inode, functions))
		return 0;
	if (layers->file_count == LAYER_FILES_MAX)
		return -E2BIG;
	/* Returns are attached before entries, and queries before their data is read. */
	const struct {
		const struct bpf_program *program;
		bool is_return;
		uint64_t offset;
	} wanted[LAYER_LINKS] = {
		{ layers->skeleton->progs.creation_end, true, functions->pool_create },
		{ layers->skeleton->progs.pool_create_begin, false, functions->pool_create },
		{ layers->skeleton->progs.creation_end, true, functions->query_create },
		{ layers->skeleton->progs.query_create_begin, false, functions->query_create },
		{ layers->skeleton->progs.query_end, true, functions->get_data },
		{ layers->skeleton->progs.query_begin, false, functions->get_data },
	};
	struct bpf_link **links = layers->files[layers->file_count].links;
	int result = 0;

	for (uint32_t i = 0; i < LAYER_LINKS; i++) {
		links[i] = wanted[i].offset && !result ? bpf_uprobe_attach(wanted[i].program, wanted[i].is_return, 0,
									   descriptor, wanted[i].offset)
						       : NULL;
		if (wanted[i].offset && !links[i] && !result)
			result = -errno;
	}
	layers->files[layers->file_count].device = device;
	layers->files[layers->file_count].inode = inode;
	layers->files[layers->file_count++].functions = *functions;
	if (result) {
		links_destroy(layers);
		return result;
	}
	layers->host->log(layers->host, IAPROF_LOG_INFO,
			  "attached to the function that returns the time of NPU layers");
	return 0;
}

void layers_detach(struct layers *layers)
{
	while (layers->file_count)
		links_destroy(layers);
}

void layers_free(struct layers *layers)
{
	layers_detach(layers);
	ring_buffer__free(layers->ring);
	npu_layers_bpf__destroy(layers->skeleton);
	keyed_array_free(&layers->models);
	*layers = (struct layers){ 0 };
}
