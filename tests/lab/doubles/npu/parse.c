// SPDX-License-Identifier: GPL-2.0-only
/* Reads the text of a scenario: its headers and trees; README.md has the language. */
#include <linux/slab.h>
#include <linux/string.h>
#include "parse.h"

static const char *const ioctl_names[DOUBLE_IOCTL_NUMBERS] = {
	"GET_PARAM",
	"SET_PARAM",
	"BO_CREATE",
	"BO_INFO",
	NULL,
	"SUBMIT",
	"BO_WAIT",
	"METRIC_STREAMER_START",
	"METRIC_STREAMER_STOP",
	"METRIC_STREAMER_GET_DATA",
	"METRIC_STREAMER_GET_INFO",
	"CMDQ_CREATE",
	"CMDQ_DESTROY",
	"CMDQ_SUBMIT",
	"BO_CREATE_FROM_USERPTR",
};

static const int ioctl_functions[DOUBLE_IOCTL_NUMBERS] = {
	FUNCTION_ivpu_get_param_ioctl,
	FUNCTION_ivpu_set_param_ioctl,
	FUNCTION_ivpu_bo_create_ioctl,
	FUNCTION_ivpu_bo_info_ioctl,
	-1,
	FUNCTION_ivpu_submit_ioctl,
	FUNCTION_ivpu_bo_wait_ioctl,
	FUNCTION_ivpu_ms_start_ioctl,
	FUNCTION_ivpu_ms_stop_ioctl,
	FUNCTION_ivpu_ms_get_data_ioctl,
	FUNCTION_ivpu_ms_get_info_ioctl,
	FUNCTION_ivpu_cmdq_create_ioctl,
	FUNCTION_ivpu_cmdq_destroy_ioctl,
	FUNCTION_ivpu_cmdq_submit_ioctl,
	FUNCTION_ivpu_bo_create_from_userptr_ioctl,
};

static int tree_line(struct parser *parser, char *line, u32 indent)
{
	struct double_scenario *scenario = parser->scenario;
	u32 index = scenario->node_count, calls = 0, i;
	struct double_node *node;
	bool is_root;
	int ret;

	while (parser->depth && indent < parser->stack[parser->depth - 1].indent)
		parser->depth--;
	is_root = parser->root == DOUBLE_NONE;
	if (!is_root && (!parser->depth || (parser->depth == 1 && indent == parser->stack[0].indent)))
		return FAIL(parser, "a tree has one first function");
	if (index == NODES_MAX)
		return FAIL(parser, "more than %u lines", NODES_MAX);
	node = &scenario->nodes[index];
	node->line = parser->line;
	node->times = 1;
	node->child = node->next = DOUBLE_NONE;
	ret = parse_statement(parser, node, line, is_root);
	if (ret)
		return ret;
	scenario->node_count++;
	if (is_root) {
		parser->root = index;
	} else if (indent > parser->stack[parser->depth - 1].indent) {
		struct double_node *parent = &scenario->nodes[parser->stack[parser->depth - 1].last];

		if (parent->kind != NODE_CALL && parent->kind != NODE_REPEAT)
			return FAIL(parser, "nothing can be below this statement");
		parent->child = index;
	} else if (indent == parser->stack[parser->depth - 1].indent) {
		scenario->nodes[parser->stack[parser->depth - 1].last].next = index;
		parser->stack[parser->depth - 1].last = index;
	}
	if (is_root || indent > parser->stack[parser->depth - 1].indent) {
		if (parser->depth == ARRAY_SIZE(parser->stack))
			return FAIL(parser, "deeper than %u calls", DOUBLE_DEPTH);
		parser->stack[parser->depth].indent = indent;
		parser->stack[parser->depth++].last = index;
	}
	node->deep = node->kind == NODE_REPEAT;
	for (i = 0; i + 1 < parser->depth; i++) {
		const struct double_node *above = &scenario->nodes[parser->stack[i].last];

		calls += above->kind == NODE_CALL;
		node->deep = above->kind == NODE_CALL ? node->kind == NODE_REPEAT : node->deep + 1;
	}
	if (calls >= DOUBLE_DEPTH || node->deep > DOUBLE_REPEAT_DEPTH)
		return FAIL(parser, "deeper than %u calls or %u repeats", DOUBLE_DEPTH, DOUBLE_REPEAT_DEPTH);
	return 0;
}

/* The tree that was read goes where its header said. */
static int tree_end(struct parser *parser)
{
	struct double_scenario *scenario = parser->scenario;
	struct double_event *event = &scenario->events[parser->event];
	struct double_tree *tree;
	u32 *part;

	if (!parser->has_header || parser->skip)
		return 0;
	parser->has_header = false;
	if (parser->root == DOUBLE_NONE)
		return FAIL(parser, "a tree without functions ends here");
	if (parser->part == PART_NONE) {
		if (scenario->tree_count == TREES_MAX)
			return FAIL(parser, "more than %u trees", TREES_MAX);
		tree = &scenario->trees[scenario->tree_count++];
		tree->root = parser->root;
		tree->times = parser->times;
		tree->trigger = parser->trigger;
		return 0;
	}
	part = parser->part == PART_THREAD ? &event->thread : parser->part == PART_WORK ? &event->work : &event->hard;
	if (*part != DOUBLE_NONE)
		return FAIL(parser, "a second tree of this kind for %s ends here", event->name);
	*part = parser->root;
	event->is_interrupt |= parser->part == PART_HARD;
	event->is_timer |= parser->part == PART_TIMER;
	return 0;
}

static int set_value(struct parser *parser, char *line)
{
	struct double_scenario *scenario = parser->scenario;
	const struct {
		const char *name;
		u64 *value;
	} values[] = {
		{ "device_id", &scenario->parameters[DRM_IVPU_PARAM_DEVICE_ID] },
		{ "device_revision", &scenario->parameters[DRM_IVPU_PARAM_DEVICE_REVISION] },
		{ "platform_type", &scenario->parameters[DRM_IVPU_PARAM_PLATFORM_TYPE] },
		{ "core_clock_rate", &scenario->parameters[DRM_IVPU_PARAM_CORE_CLOCK_RATE] },
		{ "num_contexts", &scenario->parameters[DRM_IVPU_PARAM_NUM_CONTEXTS] },
		{ "context_base_address", &scenario->parameters[DRM_IVPU_PARAM_CONTEXT_BASE_ADDRESS] },
		{ "tile_config", &scenario->parameters[DRM_IVPU_PARAM_TILE_CONFIG] },
		{ "sku", &scenario->parameters[DRM_IVPU_PARAM_SKU] },
		{ "preempt_buffer_size", &scenario->parameters[DRM_IVPU_PARAM_PREEMPT_BUFFER_SIZE] },
		{ "autosuspend_ms", &scenario->autosuspend_ms },
		{ "frequency_mhz", &scenario->frequency_mhz },
		{ "minimum_frequency_mhz", &scenario->minimum_frequency_mhz },
		{ "maximum_frequency_mhz", &scenario->maximum_frequency_mhz },
		{ "efficient_frequency_mhz", &scenario->efficient_frequency_mhz },
	};
	const char *name = parse_word(&line), *text = parse_word(&line);
	u64 index, value;
	size_t i;
	int ret;

	if (!name || !text)
		return FAIL(parser, "set NAME VALUE");
	if (!strcmp(name, "sched_mode")) {
		if (strcmp(text, "HW") && strcmp(text, "OS"))
			return FAIL(parser, "sched_mode is HW or OS");
		scenario->hardware_scheduler = text[0] == 'H';
		return parse_end_of_line(parser, line);
	}
	if (!strcmp(name, "firmware_api")) {
		ret = parse_number(parser, text, 0, ARRAY_SIZE(scenario->firmware_api) - 1, &index);
		if (!ret)
			ret = parse_number(parser, parse_word(&line), 0, U64_MAX, &scenario->firmware_api[index]);
		return ret ?: parse_end_of_line(parser, line);
	}
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		if (strcmp(values[i].name, name))
			continue;
		ret = parse_number(parser, text, 0, strcmp(name, "autosuspend_ms") ? U64_MAX : 3600000, &value);
		*values[i].value = value;
		return ret ?: parse_end_of_line(parser, line);
	}
	return FAIL(parser, "\"%.40s\" is no value to set", name);
}

static int generation(struct parser *parser, char *line)
{
	const char *text = parse_word(&line);

	if (text && !strcmp(text, "6.12"))
		parser->scenario->generations = IN_6_12;
	else if (text && !strcmp(text, "6.13"))
		parser->scenario->generations = IN_6_13;
	else if (text && !strcmp(text, "7.2"))
		parser->scenario->generations = IN_7_2;
	else
		return FAIL(parser, "generation 6.12|6.13|7.2");
	return parse_end_of_line(parser, line);
}

static int trigger_header(struct parser *parser, const char *name, char *line)
{
	static const struct {
		const char *name;
		int trigger, function;
	} triggers[] = {
		{ "open", TRIGGER_OPEN, FUNCTION_ivpu_open },
		{ "close", TRIGGER_CLOSE, FUNCTION_ivpu_postclose },
		{ "free", TRIGGER_FREE, FUNCTION_ivpu_gem_bo_free },
		{ "resume", TRIGGER_RESUME, FUNCTION_ivpu_pm_runtime_resume_cb },
		{ "suspend", TRIGGER_SUSPEND, FUNCTION_ivpu_pm_runtime_suspend_cb },
	};
	const char *key;
	size_t i;
	u64 times = 1;
	int ret;

	if (!strcmp(name, "ioctl")) {
		key = parse_word(&line);
		for (i = 0; key && i < DOUBLE_IOCTL_NUMBERS; i++) {
			if (ioctl_names[i] && !strcmp(ioctl_names[i], key)) {
				parser->trigger = i;
				parser->root_function = ioctl_functions[i];
			}
		}
	}
	for (i = 0; i < ARRAY_SIZE(triggers); i++) {
		if (!strcmp(triggers[i].name, name)) {
			parser->trigger = triggers[i].trigger;
			parser->root_function = triggers[i].function;
		}
	}
	if (parser->trigger < 0)
		return FAIL(parser, "\"%.40s\" begins nothing that there is", name);
	key = parse_word(&line);
	if (key) {
		if (strcmp(key, "times"))
			return FAIL(parser, "\"%.40s\": times is expected", key);
		ret = parse_number(parser, parse_word(&line), 1, TIMES_MAX, &times);
		if (ret)
			return ret;
	}
	parser->times = times;
	return parse_end_of_line(parser, line);
}

static int header(struct parser *parser, char *line)
{
	static const struct {
		const char *name;
		enum event_part part;
		int function;
	} parts[] = {
		{ "interrupt", PART_HARD, FUNCTION_ivpu_hw_irq_handler },
		{ "thread", PART_THREAD, -1 },
		{ "work", PART_WORK, -1 },
		{ "timer", PART_TIMER, -1 },
	};
	const char *name = parse_word(&line);
	size_t i;
	int ret = tree_end(parser);

	if (ret)
		return ret;
	parser->skip = !strcmp(name, "process");
	parser->has_header = false;
	if (parser->skip)
		return 0; /* the player's part, which it checks itself */
	if (!strcmp(name, "set"))
		return set_value(parser, line);
	if (!strcmp(name, "generation"))
		return generation(parser, line);
	parser->has_header = true;
	parser->part = PART_NONE;
	parser->trigger = parser->root_function = -1;
	parser->root = DOUBLE_NONE;
	parser->depth = 0;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (strcmp(parts[i].name, name))
			continue;
		parser->part = parts[i].part;
		parser->root_function = parts[i].function;
		ret = parse_event(parser, parse_word(&line), &parser->event);
		return ret ?: parse_end_of_line(parser, line);
	}
	return trigger_header(parser, name, line);
}

static int line_read(struct parser *parser, char *line)
{
	char *comment = strchr(line, '#'), *p = line;
	u32 indent = 0;

	if (comment)
		*comment = '\0';
	for (; *p == ' ' || *p == '\t'; p++)
		indent = *p == '\t' ? round_up(indent + 1, 8) : indent + 1;
	strim(p);
	if (!*p)
		return 0;
	if (!indent)
		return header(parser, p);
	if (parser->skip)
		return 0;
	if (!parser->has_header)
		return FAIL(parser, "no tree begins above this line");
	return tree_line(parser, p, indent);
}

static int events_check(struct parser *parser)
{
	struct double_scenario *scenario = parser->scenario;
	u32 i;

	for (i = 0; i < scenario->event_count; i++) {
		const struct double_event *event = &scenario->events[i];
		bool interrupt_parts = event->thread != DOUBLE_NONE;

		if (event->is_interrupt && event->is_timer)
			return FAIL(parser, "%s is both an interrupt and a timer", event->name);
		if (interrupt_parts && !event->is_interrupt)
			return FAIL(parser, "%s has a thread but no interrupt", event->name);
		if (event->is_timer && event->work != DOUBLE_NONE)
			return FAIL(parser, "%s is both a timer and a work", event->name);
		if (!event->is_interrupt && !event->is_timer && event->work == DOUBLE_NONE)
			return FAIL(parser, "the event %s has no tree", event->name);
	}
	for (i = 0; i < scenario->node_count; i++) {
		if (scenario->nodes[i].kind == NODE_PLAY && scenario->events[scenario->nodes[i].event].is_timer) {
			parser->line = scenario->nodes[i].line;
			return FAIL(parser, "a timer is started, not played");
		}
	}
	return 0;
}

/* Takes the text apart. `error` gets one line that says what is wrong and where. */
struct double_scenario *double_scenario_parse(struct ivpu_device *vdev, char *text, char *error, size_t error_size)
{
	struct parser *parser = kzalloc(sizeof(*parser), GFP_KERNEL);
	struct double_scenario *scenario = double_scenario_empty();
	size_t lines = 1;
	int ret = -ENOMEM;
	char *line;

	if (!parser || !scenario)
		goto fail;
	for (line = text; *line; line++)
		lines += *line == '\n';
	parser->scenario = scenario;
	parser->error = error;
	parser->error_size = error_size;
	scenario->nodes = kvcalloc(min_t(size_t, lines, NODES_MAX), sizeof(*scenario->nodes), GFP_KERNEL);
	scenario->trees = kvcalloc(min_t(size_t, lines, TREES_MAX), sizeof(*scenario->trees), GFP_KERNEL);
	scenario->events = kvcalloc(EVENTS_MAX, sizeof(*scenario->events), GFP_KERNEL);
	if (!scenario->nodes || !scenario->trees || !scenario->events)
		goto fail;
	ret = 0;
	while (!ret && (line = strsep(&text, "\n"))) {
		parser->line++;
		ret = line_read(parser, line);
	}
	if (!ret)
		ret = tree_end(parser);
	if (!ret)
		ret = events_check(parser);
	if (ret)
		goto fail;
	kfree(parser);
	return scenario;

fail:
	kfree(parser);
	if (scenario)
		double_scenario_put(scenario);
	return ERR_PTR(ret);
}
