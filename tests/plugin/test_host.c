/* SPDX-License-Identifier: Apache-2.0 */
/* The host for one plugin instance under test: its life. See test_host.h. */
#include "test_host.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "config/option_table.h"
#include "plugin/loader.h"
#include "test_services.h"

static struct option_table options_of(const struct test_host *host)
{
	return (struct option_table){ host->plugin.options, host->plugin.option_count, host->plugin.option_size };
}

/* What the core's loader checks too; here a test fails at the member. */
static void check_plugin(const struct iaprof_plugin *plugin, const char *name)
{
	ck_assert_uint_eq(plugin->abi_version, IAPROF_ABI_VERSION);
	ck_assert_uint_eq(plugin->schema_version, IAPROF_SCHEMA_VERSION);
	ck_assert(!plugin->option_count || plugin->option_size >= OPTION_SIZE_MINIMUM);
	ck_assert_str_eq(plugin->name, name);
	ck_assert_ptr_nonnull(plugin->description);
	ck_assert_ptr_null(strchr(plugin->description, '\n'));
	ck_assert_uint_ge(plugin->instance_size, 1);
	ck_assert(plugin->options || !plugin->option_count);
}

static void load_plugin(struct test_host *host, const char *name)
{
	char *path CLEANUP_FREE = NULL;
	char *plain CLEANUP_FREE = NULL;
	if (strchr(name, '/')) {
		const char *base = strrchr(name, '/') + 1;
		ck_assert_int_eq(strncmp(base, "iaprof-", 7), 0);
		plain = strndup(base + 7, strcspn(base + 7, "."));
		path = strdup(name);
	} else {
		const char *folder = getenv("TEST_PLUGIN_FOLDER");
		ck_assert_msg(folder != NULL, "TEST_PLUGIN_FOLDER is not set: run the tests with meson test");
		plain = strdup(name);
		/* Folders of sources have their name alone. */
		static const char *const prefixes[] = { "", "sink-", "decoder-" };
		for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && (!path || access(path, F_OK)); i++) {
			free(path);
			ck_assert_int_ge(asprintf(&path, "%s/%s%s/iaprof-%s.so", folder, prefixes[i], name, name), 0);
		}
	}
	host->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(host->library != NULL, "%s", host->library ? "" : dlerror());
	iaprof_plugin_register_function *plugin_register =
		(iaprof_plugin_register_function *)dlsym(host->library, IAPROF_PLUGIN_SYMBOL);
	ck_assert(plugin_register != NULL);
	const struct iaprof_plugin *plugin = plugin_register();
	ck_assert_ptr_nonnull(plugin);
	memcpy(&host->plugin, plugin, plugin->size < sizeof host->plugin ? plugin->size : sizeof host->plugin);
	check_plugin(&host->plugin, plain);
	struct plugin loaded = { 0 };
	struct error error = { 0 };
	ck_assert_msg(!plugin_take_description(&loaded, plugin, plain, &error), "%s", error.text);
	host->operations = loaded.operations;
	ck_assert(plugin->kind != IAPROF_PLUGIN_SINK || (plugin->flags & IAPROF_PLUGIN_NO_OUTPUT) ||
		  host->operations.extension);
	ck_assert(plugin->kind != IAPROF_PLUGIN_DECODER || host->operations.decoder.machine);
}

struct test_host *test_host_new(const char *name, ...)
{
	struct test_host *host = calloc(1, sizeof *host);
	ck_assert_ptr_nonnull(host);
	pthread_mutex_init(&host->lock, NULL);
	host->epoll = epoll_create1(EPOLL_CLOEXEC);
	host->wake = eventfd(0, EFD_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN, .data.fd = host->wake };
	ck_assert_int_eq(epoll_ctl(host->epoll, EPOLL_CTL_ADD, host->wake, &event), 0);
	host->target = (struct iaprof_target){ .size = sizeof host->target,
					       .scope = IAPROF_SCOPE_SYSTEM,
					       .finish_within = NANOSECONDS_PER_SECOND };
	load_plugin(host, name);
	host->host = test_services(host);
	host->instance = calloc(1, host->plugin.instance_size);
	ck_assert_ptr_nonnull(host->instance);
	struct option_table table = options_of(host);
	struct error error = { 0 };
	ck_assert_msg(plugin_check_options(&host->plugin, &error) == 0, "%s", error.text);
	ck_assert_msg(option_table_set_defaults(&table, host->instance, &error) == 0, "%s", error.text);

	va_list settings;
	va_start(settings, name);
	for (const char *setting; (setting = va_arg(settings, const char *));) {
		char *key CLEANUP_FREE = strndup(setting, strcspn(setting, "="));
		ck_assert_int_eq(setting[strlen(key)], '=');
		ck_assert_msg(test_host_set(host, key, setting + strlen(key) + 1) == 0, "%s", host->failure);
	}
	va_end(settings);
	return host;
}

int test_host_set(struct test_host *host, const char *key, const char *value)
{
	struct option_table table = options_of(host);
	struct error error = { 0 };
	int result = option_table_set(&table, host->instance, key, value, &error);
	if (result < 0)
		(host->host.fail)(&host->host, result, /* parentheses: Check has a macro of that name */ "%s",
				  error.text);
	return result;
}

static void thread_end(struct test_host *host)
{
	__atomic_store_n(&host->stopping, 1, __ATOMIC_RELEASE);
	if (host->thread_running)
		pthread_join(host->thread, NULL);
	host->thread_running = false;
}

void test_host_free(struct test_host *host)
{
	thread_end(host);
	if (host->configured && host->plugin.destroy)
		host->plugin.destroy(&host->host, host->instance);
	struct option_table table = options_of(host);
	option_table_release(&table, host->instance);
	free(host->instance);
	for (size_t i = 0; i < host->watches.count; i++)
		if (host->watches.items[i].timer)
			close(host->watches.items[i].fd);
	for (size_t i = 0; i < host->messages.count; i++)
		free(host->messages.items[i].text);
	for (size_t i = 0; i < host->check_items.count; i++) {
		free(host->check_items.items[i].name);
		free(host->check_items.items[i].text);
	}
	array_free(&host->check_items);
	for (size_t i = 0; i < host->outputs.count; i++) {
		free(host->outputs.items[i]->variant);
		free(host->outputs.items[i]->data);
		free(host->outputs.items[i]);
	}
	array_free(&host->watches);
	array_free(&host->messages);
	array_free(&host->outputs);
	for (size_t i = 0; i < host->environment.count; i++)
		free(host->environment.items[i]);
	array_free(&host->environment);
	array_free(&host->strings);
	array_free(&host->stacks);
	hash_index_free(&host->string_index);
	hash_index_free(&host->stack_index);
	free(host->records);
	close(host->epoll);
	close(host->wake);
	pthread_mutex_destroy(&host->lock);
	dlclose(host->library);
	free(host);
}

int test_host_configure(struct test_host *host)
{
	host->configured = true;
	return host->plugin.configure ? host->plugin.configure(&host->host, host->instance) : 0;
}

int test_host_probe(struct test_host *host)
{
	return host->operations.probe ? host->operations.probe(&host->host, host->instance) : 0;
}

void test_host_check(struct test_host *host)
{
	if (host->operations.check)
		host->operations.check(&host->host, host->instance);
}

const struct test_check_item *test_host_check_item(const struct test_host *host, const char *name)
{
	for (size_t i = 0; i < host->check_items.count; i++)
		if (!strcmp(host->check_items.items[i].name, name))
			return &host->check_items.items[i];
	return NULL;
}

int test_host_prepare(struct test_host *host)
{
	host->prepared = true;
	return host->operations.prepare ? host->operations.prepare(&host->host, host->instance) : 0;
}

static void *thread_run(void *argument)
{
	struct test_host *host = argument;
	host->thread_result = host->operations.thread(&host->host, host->instance, &host->stopping);
	host->host.finished(&host->host);
	return NULL;
}

int test_host_begin(struct test_host *host)
{
	int result = host->operations.start ? host->operations.start(&host->host, host->instance) : 0;
	if (result == 0 && host->operations.thread) {
		ck_assert_int_eq(pthread_create(&host->thread, NULL, thread_run, host), 0);
		host->thread_running = true;
	}
	return result;
}

int test_host_finish(struct test_host *host)
{
	return host->operations.finish ? host->operations.finish(&host->host, host->instance) : 0;
}

void test_host_start(struct test_host *host)
{
	ck_assert_msg(test_host_configure(host) == 0, "configure: %s", host->failure);
	ck_assert_msg(test_host_probe(host) == 0, "probe: %s", host->failure);
	ck_assert_msg(test_host_prepare(host) == 0, "prepare: %s", host->failure);
	ck_assert_msg(test_host_begin(host) == 0, "start: %s", host->failure);
}

static int watch_dispatch(struct test_host *host, int fd, uint32_t events)
{
	for (size_t i = 0; i < host->watches.count; i++) {
		struct test_watch watch = host->watches.items[i];
		if (watch.fd != fd)
			continue;
		if (!watch.timer)
			return watch.on_fd(&host->host, host->instance, fd, events);
		uint64_t expirations;
		if (read(fd, &expirations, sizeof expirations) != sizeof expirations)
			return 0;
		return watch.on_timer(&host->host, host->instance, expirations);
	}
	return 0; /* the wake-up, or what an earlier callback of this turn took away */
}

int test_host_run(struct test_host *host, unsigned milliseconds)
{
	uint64_t end = host->host.clock(&host->host) + milliseconds * 1000000ull;
	while (!__atomic_load_n(&host->finished, __ATOMIC_ACQUIRE)) {
		uint64_t now = host->host.clock(&host->host);
		if (now >= end)
			break;
		struct epoll_event events[16];
		int count = epoll_wait(host->epoll, events, 16, (int)((end - now) / 1000000 + 1));
		for (int i = 0; i < count; i++) {
			int result = watch_dispatch(host, events[i].data.fd, events[i].events);
			if (result < 0)
				return result;
		}
	}
	return 0;
}

void test_host_freeze(struct test_host *host)
{
	pthread_mutex_lock(&host->lock);
}

void test_host_thaw(struct test_host *host)
{
	pthread_mutex_unlock(&host->lock);
}

void test_host_stop(struct test_host *host)
{
	thread_end(host);
	if (host->operations.stop)
		ck_assert_msg(host->operations.stop(&host->host, host->instance) == 0, "stop: %s", host->failure);
	ck_assert_msg(test_host_finish(host) == 0, "finish: %s", host->failure);
}

int test_host_send(struct test_host *host, const void *records, size_t size, uint32_t count)
{
	struct iaprof_batch batch = { .records = records, .size = size, .count = count };
	return host->operations.records(&host->host, host->instance, &batch);
}

int test_host_send_profile(struct test_host *host, const struct iaprof_profile *profile)
{
	return host->operations.profile(&host->host, host->instance, profile);
}

struct test_output *test_host_output(struct test_host *host, const char *variant)
{
	for (size_t i = 0; i < host->outputs.count; i++) {
		const char *name = host->outputs.items[i]->variant;
		if (variant && name ? strcmp(variant, name) == 0 : variant == name)
			return host->outputs.items[i];
	}
	return NULL;
}

bool test_host_logged(const struct test_host *host, int level, const char *text)
{
	for (size_t i = 0; i < host->messages.count; i++)
		if (host->messages.items[i].level == level && strstr(host->messages.items[i].text, text))
			return true;
	return false;
}
