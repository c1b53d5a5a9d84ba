// SPDX-License-Identifier: GPL-2.0-only
/* One line of a scenario's tree: a call or a statement; and the words that any line has. */
#include <linux/ctype.h>
#include <linux/string.h>
#include "parse.h"

/* What may stand after `ipc`: names of enum vpu_ipc_msg_type (drivers/accel/ivpu/vpu_jsm_api.h). */
static const char *const message_types[] = {
	"VPU_JSM_MSG_ENGINE_RESET",
	"VPU_JSM_MSG_ENGINE_PREEMPT",
	"VPU_JSM_MSG_REGISTER_DB",
	"VPU_JSM_MSG_UNREGISTER_DB",
	"VPU_JSM_MSG_QUERY_ENGINE_HB",
	"VPU_JSM_MSG_SSID_RELEASE",
	"VPU_JSM_MSG_METRIC_STREAMER_START",
	"VPU_JSM_MSG_METRIC_STREAMER_STOP",
	"VPU_JSM_MSG_METRIC_STREAMER_UPDATE",
	"VPU_JSM_MSG_METRIC_STREAMER_INFO",
	"VPU_JSM_MSG_SET_PRIORITY_BAND_SETUP",
	"VPU_JSM_MSG_CREATE_CMD_QUEUE",
	"VPU_JSM_MSG_DESTROY_CMD_QUEUE",
	"VPU_JSM_MSG_SET_CONTEXT_SCHED_PROPERTIES",
	"VPU_JSM_MSG_HWS_REGISTER_DB",
	"VPU_JSM_MSG_HWS_SUSPEND_CMDQ",
	"VPU_JSM_MSG_HWS_RESUME_CMDQ",
	"VPU_JSM_MSG_HWS_ENGINE_RESUME",
	"VPU_JSM_MSG_STATE_DUMP",
	"VPU_JSM_MSG_PWR_D0I3_ENTER",
	"VPU_JSM_MSG_DYNDBG_CONTROL",
	"VPU_JSM_MSG_JOB_DONE",
	"VPU_JSM_MSG_NATIVE_FENCE_SIGNALLED",
	"VPU_JSM_MSG_ASYNC_CMD_DONE",
	"VPU_JSM_MSG_ENGINE_RESET_DONE",
	"VPU_JSM_MSG_ENGINE_PREEMPT_DONE",
	"VPU_JSM_MSG_REGISTER_DB_DONE",
	"VPU_JSM_MSG_UNREGISTER_DB_DONE",
	"VPU_JSM_MSG_QUERY_ENGINE_HB_DONE",
	"VPU_JSM_MSG_SSID_RELEASE_DONE",
	"VPU_JSM_MSG_METRIC_STREAMER_START_DONE",
	"VPU_JSM_MSG_METRIC_STREAMER_STOP_DONE",
	"VPU_JSM_MSG_METRIC_STREAMER_UPDATE_DONE",
	"VPU_JSM_MSG_METRIC_STREAMER_INFO_DONE",
	"VPU_JSM_MSG_SET_PRIORITY_BAND_SETUP_RSP",
	"VPU_JSM_MSG_CREATE_CMD_QUEUE_RSP",
	"VPU_JSM_MSG_DESTROY_CMD_QUEUE_RSP",
	"VPU_JSM_MSG_SET_CONTEXT_SCHED_PROPERTIES_RSP",
	"VPU_JSM_MSG_STATE_DUMP_RSP",
	"VPU_JSM_MSG_PWR_D0I3_ENTER_DONE",
	"VPU_JSM_MSG_DYNDBG_CONTROL_RSP",
};

/* trace_pm() of drivers/accel/ivpu/ivpu_pm.c */
static const char *const pm_texts[] = {
	"suspend",        "suspend done",        "resume", "resume done", "runtime suspend", "runtime suspend done",
	"runtime resume", "runtime resume done", "reset",  "recovery",
};

/* The next word of the line, or NULL. */
char *parse_word(char **line)
{
	char *result;

	*line = skip_spaces(*line);
	if (!**line)
		return NULL;
	result = *line;
	while (**line && !isspace(**line))
		(*line)++;
	if (**line)
		*(*line)++ = '\0';
	return result;
}

int parse_number(struct parser *parser, const char *text, u64 minimum, u64 maximum, u64 *value)
{
	if (!text || kstrtoull(text, 0, value) || *value < minimum || *value > maximum)
		return FAIL(parser, "\"%.40s\" is no number from %llu to %llu", text ?: "", minimum, maximum);
	return 0;
}

static int duration(struct parser *parser, char *text, u64 *ns)
{
	static const struct {
		const char *name;
		u64 ns;
	} units[] = { { "ns", 1 }, { "us", NSEC_PER_USEC }, { "ms", NSEC_PER_MSEC }, { "s", NSEC_PER_SEC } };
	size_t i, digits = text ? strspn(text, "0123456789") : 0;
	char copy[24];

	for (i = 0; digits && digits < sizeof(copy) && i < ARRAY_SIZE(units); i++) {
		if (strcmp(text + digits, units[i].name))
			continue;
		memcpy(copy, text, digits);
		copy[digits] = '\0';
		if (kstrtoull(copy, 10, ns) || *ns > DURATION_MAX / units[i].ns)
			break;
		*ns *= units[i].ns;
		return 0;
	}
	return FAIL(parser, "\"%.40s\" is no duration up to 10s (5us, 2ms)", text ?: "");
}

static int function_of(struct parser *parser, const char *name)
{
	int i;

	for (i = 0; i < DOUBLE_FUNCTIONS; i++) {
		if (strcmp(double_functions[i].name, name))
			continue;
		if (!(double_functions[i].generations & parser->scenario->generations))
			return FAIL(parser, "%.60s is not in this generation", name);
		return i;
	}
	return FAIL(parser, "\"%.60s\" is no function and no statement", name);
}

int parse_event(struct parser *parser, const char *name, u32 *index)
{
	struct double_scenario *scenario = parser->scenario;
	struct double_event *event;
	u32 i;

	if (!name || strlen(name) >= sizeof(event->name))
		return FAIL(parser, "an event needs a name of at most %zu bytes", sizeof(event->name) - 1);
	for (i = 0; i < scenario->event_count; i++) {
		if (!strcmp(scenario->events[i].name, name)) {
			*index = i;
			return 0;
		}
	}
	if (scenario->event_count == EVENTS_MAX)
		return FAIL(parser, "more than %u events", EVENTS_MAX);
	event = &scenario->events[scenario->event_count];
	strscpy(event->name, name);
	event->hard = event->thread = event->work = DOUBLE_NONE;
	*index = scenario->event_count++;
	return 0;
}

int parse_end_of_line(struct parser *parser, char *line)
{
	const char *rest = parse_word(&line);

	return rest ? FAIL(parser, "\"%.40s\" is too much here", rest) : 0;
}

static bool may_sleep(const struct parser *parser)
{
	return parser->part != PART_HARD && parser->part != PART_TIMER;
}

static int start_statement(struct parser *parser, struct double_node *node, char *line)
{
	bool has_times = false;
	char *key;
	u64 value;
	int ret = parse_event(parser, parse_word(&line), &node->event);

	while (!ret && (key = parse_word(&line))) {
		if (!strcmp(key, "after"))
			ret = duration(parser, parse_word(&line), &node->duration_ns);
		else if (!strcmp(key, "every"))
			ret = duration(parser, parse_word(&line), &node->every_ns);
		else if (!strcmp(key, "times")) {
			ret = parse_number(parser, parse_word(&line), 1, TIMES_MAX, &value);
			node->times = ret ? 1 : value;
			has_times = true;
		} else
			ret = FAIL(parser, "\"%.40s\": after, every or times is expected", key);
	}
	if (!ret && has_times != (node->every_ns >= 50 * NSEC_PER_USEC))
		ret = FAIL(parser, "\"every\" of at least 50us goes with \"times\"");
	return ret;
}

static int message_statement(struct parser *parser, struct double_node *node, char *line)
{
	const char *direction = parse_word(&line), *type = parse_word(&line);
	size_t i;

	if (!direction || !type || (strcmp(direction, "send") && strcmp(direction, "receive")))
		return FAIL(parser, "ipc send|receive boot|callback|TYPE");
	node->kind = strcmp(direction, "send") ? NODE_IPC_RECEIVE : NODE_IPC_SEND;
	/* These have no event: the boot message is no JSM message, and callbacks are not traced. */
	if (!strcmp(type, "boot") || !strcmp(type, "callback"))
		return parse_end_of_line(parser, line);
	for (i = 0; i < ARRAY_SIZE(message_types); i++) {
		if (!strcmp(message_types[i], type)) {
			node->text = message_types[i];
			return parse_end_of_line(parser, line);
		}
	}
	return FAIL(parser, "\"%.60s\" is no type of message", type);
}

static int pm_statement(struct parser *parser, struct double_node *node, char *line)
{
	const char *text = strim(line);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pm_texts); i++) {
		if (!strcmp(pm_texts[i], text)) {
			node->kind = NODE_PM;
			node->text = pm_texts[i];
			return 0;
		}
	}
	return FAIL(parser, "\"%.40s\" is no text of vpu:pm", text);
}

static int job_statement(struct parser *parser, struct double_node *node, char *line)
{
	const char *what = parse_word(&line);

	if (what && !strcmp(what, "submit")) {
		if (parser->trigger != DRM_IVPU_SUBMIT && parser->trigger != DRM_IVPU_CMDQ_SUBMIT)
			return FAIL(parser, "job submit belongs below SUBMIT and CMDQ_SUBMIT");
		node->kind = NODE_JOB_SUBMIT;
	} else if (what && !strcmp(what, "done")) {
		const char *key = parse_word(&line);

		node->kind = NODE_JOB_DONE;
		if (key && strcmp(key, "queue"))
			return FAIL(parser, "job done [queue N]");
		if (key && parse_number(parser, parse_word(&line), 1, COMMAND_QUEUES_MAX, &node->arguments[0]))
			return -EINVAL;
	} else if (what && !strcmp(what, "abort")) {
		node->kind = NODE_JOB_ABORT;
	} else {
		return FAIL(parser, "job submit|done|abort");
	}
	return parse_end_of_line(parser, line);
}

static int call(struct parser *parser, struct double_node *node, const char *name, char *line, bool is_root)
{
	int function = function_of(parser, name), ret = 0;
	char *key;
	u64 value;

	if (function < 0)
		return function;
	if (is_root && parser->root_function >= 0 && function != parser->root_function)
		return FAIL(parser, "this tree's first function is %s", double_functions[parser->root_function].name);
	if (is_root && parser->part == PART_WORK && double_work_of(function) < 0)
		return FAIL(parser, "%.60s is no work's function", name);
	if (is_root && parser->part == PART_THREAD && function != FUNCTION_ivpu_irq_thread_handler &&
	    function != FUNCTION_ivpu_ipc_irq_thread_handler)
		return FAIL(parser, "%.60s is no thread's function", name);
	if (is_root && parser->part == PART_TIMER && double_functions[function].by_kernel)
		return FAIL(parser, "%.60s is no timer's function", name);
	if (!is_root && double_functions[function].by_kernel && function != FUNCTION_ivpu_gem_bo_free)
		return FAIL(parser, "%.60s is called by the kernel only", name);
	node->kind = NODE_CALL;
	node->function = function;
	while (!ret && (key = parse_word(&line))) {
		if (key[0] == 'x' && isdigit(key[1]) && !is_root) {
			ret = parse_number(parser, key + 1, 1, TIMES_MAX, &value);
			node->times = value;
		} else if (!strcmp(key, "for")) {
			ret = duration(parser, parse_word(&line), &node->duration_ns);
		} else if (!strncmp(key, "arg", 3) && key[3] >= '1' && key[3] <= '0' + DOUBLE_ARGUMENTS &&
			   key[4] == '=') {
			ret = parse_number(parser, key + 5, 0, U64_MAX, &node->arguments[key[3] - '1']);
		} else {
			ret = FAIL(parser, "\"%.40s\": xN, \"for\" or argN=VALUE is expected", key);
		}
	}
	return ret;
}

int parse_statement(struct parser *parser, struct double_node *node, char *line, bool is_root)
{
	const char *name = parse_word(&line);
	u64 value;
	int ret;

	if (is_root)
		return call(parser, node, name, line, true);
	if (!strcmp(name, "repeat")) {
		node->kind = NODE_REPEAT;
		ret = parse_number(parser, parse_word(&line), 1, TIMES_MAX, &value);
		node->times = value;
		return ret ?: parse_end_of_line(parser, line);
	}
	if (!strcmp(name, "busy") || !strcmp(name, "sleep")) {
		node->kind = name[0] == 'b' ? NODE_BUSY : NODE_SLEEP;
		if (node->kind == NODE_SLEEP && !may_sleep(parser))
			return FAIL(parser, "no sleep in an interrupt");
		return duration(parser, parse_word(&line), &node->duration_ns) ?: parse_end_of_line(parser, line);
	}
	if (!strcmp(name, "play")) {
		node->kind = NODE_PLAY;
		if (!may_sleep(parser) || parser->part == PART_THREAD)
			return FAIL(parser, "play waits, which an interrupt and its thread may not: start");
		return parse_event(parser, parse_word(&line), &node->event) ?: parse_end_of_line(parser, line);
	}
	if (!strcmp(name, "start")) {
		node->kind = NODE_START;
		return start_statement(parser, node, line);
	}
	if (!strcmp(name, "power")) {
		node->kind = NODE_POWER;
		if (!may_sleep(parser) || parser->trigger == TRIGGER_RESUME || parser->trigger == TRIGGER_SUSPEND)
			return FAIL(parser, "no power in an interrupt, resume or suspend");
		return parse_end_of_line(parser, line);
	}
	if (!strcmp(name, "ipc"))
		return message_statement(parser, node, line);
	if (!strcmp(name, "pm"))
		return pm_statement(parser, node, line);
	if (!strcmp(name, "job"))
		return job_statement(parser, node, line);
	return call(parser, node, name, line, false);
}
