/* SPDX-License-Identifier: Apache-2.0 */
/* A source in C++: sends the time since the machine started as a counter. */
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <string>

#include <iaprof/iaprof.h>

namespace
{

constexpr uint32_t counter_uptime = 1;

/* iaprof allocates and zeroes the instance: what has a constructor is created in configure(). */
struct uptime {
	uint64_t period; /* option */
	std::string *path;
};

/* No exception may leave a callback. */
template <typename Callback> int guarded(const iaprof_host *host, Callback callback) noexcept
{
	try {
		return callback();
	} catch (const std::exception &exception) {
		return host->fail(host, ENOMEM, "%s", exception.what());
	}
}

template <typename Record> int send(const iaprof_host *host, Record &record, uint16_t type)
{
	record.header.size = sizeof record;
	record.header.type = type;
	record.header.time = host->clock(host);
	iaprof_batch batch{};
	batch.records = &record;
	batch.size = sizeof record;
	batch.count = 1;
	return host->emit(host, &batch);
}

int send_uptime(const iaprof_host *host, const uptime *source)
{
	iaprof_record_counter_value value{};
	value.counter = counter_uptime;
	std::ifstream file(*source->path);
	if (!(file >> value.value))
		return host->fail(host, EIO, "%s has no number", source->path->c_str());
	return send(host, value, IAPROF_RECORD_COUNTER_VALUE);
}

int configure(const iaprof_host *host, void *instance)
{
	return guarded(host, [&] {
		static_cast<uptime *>(instance)->path = new std::string("/proc/uptime");
		return 0;
	});
}

void destroy(const iaprof_host *, void *instance)
{
	delete static_cast<uptime *>(instance)->path;
}

int timer_expired(const iaprof_host *host, void *instance, uint64_t)
{
	return guarded(host, [&] { return send_uptime(host, static_cast<uptime *>(instance)); });
}

int start(const iaprof_host *host, void *instance)
{
	iaprof_record_counter counter{};
	counter.id = counter_uptime;
	counter.name = host->intern_string(host, "uptime", std::strlen("uptime"));
	counter.unit = host->intern_string(host, "seconds", std::strlen("seconds"));
	counter.kind = IAPROF_COUNTER_CUMULATIVE;
	int result = send(host, counter, IAPROF_RECORD_COUNTER);
	return result ? result : host->on_timer(host, static_cast<uptime *>(instance)->period, timer_expired);
}

int stop(const iaprof_host *, void *)
{
	return 0;
}

iaprof_option make_period()
{
	iaprof_option option{};
	option.name = "period";
	option.type = IAPROF_OPTION_DURATION;
	option.offset = offsetof(uptime, period);
	option.default_value = "100ms";
	option.help = "Interval between readings";
	option.minimum = 1000000;
	return option;
}

const iaprof_option options[] = { make_period() };

/* Designated initialisers of C++ require the order of the struct: members are assigned instead. */
iaprof_source_operations make_operations()
{
	iaprof_source_operations operations{};
	operations.size = sizeof operations;
	operations.start = start;
	operations.stop = stop;
	return operations;
}

const iaprof_source_operations operations = make_operations();

iaprof_plugin make_plugin()
{
	iaprof_plugin plugin{};
	plugin.abi_version = IAPROF_ABI_VERSION;
	plugin.size = sizeof plugin;
	plugin.schema_version = IAPROF_SCHEMA_VERSION;
	plugin.kind = IAPROF_PLUGIN_SOURCE;
	plugin.flags = IAPROF_PLUGIN_ONLY_BY_NAME;
	plugin.option_size = sizeof(iaprof_option);
	plugin.name = "uptime";
	plugin.version = "1.0";
	plugin.description = "Time since the machine started, as a counter";
	plugin.options = options;
	plugin.option_count = 1;
	plugin.instance_size = sizeof(uptime);
	plugin.source = &operations;
	plugin.configure = configure;
	plugin.destroy = destroy;
	return plugin;
}

const iaprof_plugin plugin = make_plugin();

} // namespace

IAPROF_REGISTER_PLUGIN(plugin)
