/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an engine: see bus/engine.h. */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/saturating.h"
#include "engine_state.h"

static struct engine *make(const struct engine_services *services)
{
	struct engine *engine = calloc(1, sizeof *engine);
	if (!engine)
		return NULL;
	engine->services = *services;
	kept_files_init(&engine->kept_files);
	engine->mapped_files.kept = &engine->kept_files;
	engine->saving.stride = 1;
	pthread_mutex_init(&engine->progress_lock, NULL);
	return engine;
}

static void engine_free(struct engine *engine)
{
	profiles_free(engine);
	sideband_free(engine->sideband);
	mapped_files_free(&engine->mapped_files);
	broker_free(engine->broker);
	kept_files_free(&engine->kept_files);
	unwind_tables_free(engine);
	pthread_mutex_destroy(&engine->progress_lock);
	free(engine);
}

static int watch_files(struct engine *engine, void (*callback)(void *context, const struct iaprof_mapped_file *file),
		       void *context)
{
	return mapped_files_watch(&engine->mapped_files, callback, context) ? 0 : -ENOMEM;
}

static int start(struct engine *engine, struct error *error)
{
	int result = process_feed_start(engine, error);
	unwind_tables_prepare(engine);
	return result;
}

static void save(struct engine *engine, const struct engine_saving *saving)
{
	engine->saving = *saving;
	if (engine->unwind_feed)
		unwind_feed_save(engine->unwind_feed, saving->saves_tables);
	process_feed_save(engine, saving->saves_events);
}

static void stop(struct engine *engine, uint64_t limit, uint64_t end)
{
	uint64_t begin = clock_monotonic();
	unwind_tables_finish(engine, limit);
	if (engine->collector && end != UINT64_MAX)
		collector_end_by(engine->collector, saturating_add(end, clock_monotonic() - begin));
}

const struct engine_functions engine_functions = {
	.make = make,
	.free = engine_free,
	.watch_files = watch_files,
	.watch_unwind = unwind_tables_watch,
	.unwind_process = unwind_tables_request,
	.open = process_feed_open,
	.configure = profiles_configure,
	.start = start,
	.scan = process_feed_scan,
	.drain = process_feed_drain,
	.running = process_feed_running,
	.needs_events = process_feed_is_needed,
	.save = save,
	.close = process_feed_close,
	.stop = stop,
	.read = profiles_read,
	.finish = profiles_finish,
	.conclude = profiles_conclude,
	.progress = profiles_progress,
	.result = profiles_result,
	.report = engine_report,
};
