/* SPDX-License-Identifier: Apache-2.0 */
/* See code_workers.h. */
#include "symbolizer/device/code_workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "symbolizer/worker/worker_message.h"

struct code_worker {
	struct decoder *decoder; /* NULL if none */
	struct worker_pool *pool;
	bool has_failed, hangs;
	ARRAY(char *) arguments; /* NULL-terminated */
};

struct code_workers {
	struct decoder_finder *decoders;
	struct run_delay *delay;
	int (*serve)(void *context, int socket); /* NULL: children are processes */
	ARRAY(struct code_worker) items;
};

struct code_workers *code_workers_new(struct decoder_finder *decoders, struct run_delay *delay)
{
	struct code_workers *workers = calloc(1, sizeof *workers);
	if (workers) {
		workers->decoders = decoders;
		workers->delay = delay;
	}
	return workers;
}

struct code_workers *code_workers_new_in_threads(struct decoder_finder *decoders,
						 int (*serve)(void *context, int socket))
{
	struct code_workers *workers = code_workers_new(decoders, NULL);
	if (workers)
		workers->serve = serve;
	return workers;
}

static void release(struct code_worker *worker)
{
	worker_pool_free(worker->pool);
	for (size_t i = 0; i < worker->arguments.count; i++)
		free(worker->arguments.items[i]);
	array_free(&worker->arguments);
}

void code_workers_free(struct code_workers *workers)
{
	if (!workers)
		return;
	for (size_t i = 0; i < workers->items.count; i++)
		release(&workers->items.items[i]);
	array_free(&workers->items);
	free(workers);
}

/* Takes ownership of the text; NULL is a failure. */
static bool add_argument(struct code_worker *worker, char *text)
{
	if (text && array_push(&worker->arguments, text))
		return true;
	free(text);
	return false;
}

/* The program, the plugin, and the plugin's options as given by the user. */
static bool make_arguments(struct code_worker *worker)
{
	bool made = add_argument(worker, strdup(CODE_WORKER_PROGRAM));
	if (worker->decoder) {
		const struct instance_configuration *wanted = worker->decoder->configuration;
		made = made && add_argument(worker, strdup(worker->decoder->plugin->path));
		for (size_t i = 0; made && wanted && i < wanted->settings.count; i++) {
			const struct setting *setting = &wanted->settings.items[i];
			char *text;
			if (asprintf(&text, "%s=%s", setting->key, setting->value) < 0)
				text = NULL;
			made = add_argument(worker, text);
		}
	}
	return made && array_push(&worker->arguments, NULL);
}

static struct decoder *find_decoder(const struct code_workers *workers, uint32_t machine)
{
	return workers->decoders ? workers->decoders->find(workers->decoders, machine) : NULL;
}

static struct code_worker *find_worker(const struct code_workers *workers, const struct decoder *decoder)
{
	for (size_t i = 0; i < workers->items.count; i++)
		if (workers->items.items[i].decoder == decoder)
			return &workers->items.items[i];
	return NULL;
}

struct worker_pool *code_workers_get(struct code_workers *workers, uint32_t machine)
{
	struct decoder *decoder = find_decoder(workers, machine);
	const struct code_worker *known = find_worker(workers, decoder);
	if (known && known->hangs) {
		decoder = NULL;
		known = find_worker(workers, decoder);
	}
	if (known)
		return known->pool;
	struct code_worker worker = { .decoder = decoder };
	if (workers->serve)
		worker.pool = worker_pool_new_in_threads(workers->serve, decoder);
	else if (make_arguments(&worker))
		worker.pool = worker_pool_new(worker.arguments.items, workers->delay);
	if (worker.pool && array_push(&workers->items, worker))
		return worker.pool;
	release(&worker);
	return NULL;
}

const char *code_workers_decoder_name(const struct code_workers *workers, uint32_t machine)
{
	const struct decoder *decoder = find_decoder(workers, machine);
	return decoder ? decoder->name : NULL;
}

void code_workers_report_failure(struct code_workers *workers, uint32_t machine, const char *reason, bool hangs)
{
	const struct decoder *decoder = find_decoder(workers, machine);
	struct code_worker *worker = decoder ? find_worker(workers, decoder) : NULL;
	if (!worker)
		return;
	worker->hangs |= hangs;
	if (worker->has_failed)
		return;
	worker->has_failed = true;
	log_message(IAPROF_LOG_ERROR, "decoder %s: %s%s", decoder->name, reason,
		    hangs ? " (not used for other code of this run)" : "");
}

bool code_workers_have_failed(const struct code_workers *workers)
{
	for (size_t i = 0; workers && i < workers->items.count; i++)
		if (workers->items.items[i].has_failed)
			return true;
	return false;
}

uint64_t code_workers_cpu_time(struct code_workers *workers)
{
	uint64_t time = 0;
	for (size_t i = 0; i < workers->items.count; i++)
		time += worker_pool_cpu_time(workers->items.items[i].pool);
	return time;
}
