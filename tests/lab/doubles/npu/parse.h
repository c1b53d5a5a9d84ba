/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two halves of the scenario's parser share: parse.c reads headers and trees, statement.c one line of a tree.
 */
#pragma once

#include "play.h"

#define NODES_MAX 65536
#define TREES_MAX 4096
#define EVENTS_MAX 64
#define TIMES_MAX 1000000
#define DURATION_MAX (10ULL * NSEC_PER_SEC)

enum event_part { PART_NONE, PART_HARD, PART_THREAD, PART_WORK, PART_TIMER };

struct parser {
	struct double_scenario *scenario;
	char *error;
	size_t error_size;
	u32 line;
	/* the tree that is being read */
	bool skip, has_header;
	enum event_part part;
	u32 event;
	int trigger, root_function;
	u32 times;
	u32 root;
	struct {
		u32 node, last, indent;
	} stack[DOUBLE_DEPTH + DOUBLE_REPEAT_DEPTH];
	u32 depth;
};

#define FAIL(parser, ...)                                                                                              \
	({                                                                                                             \
		int n_ = scnprintf((parser)->error, (parser)->error_size, "line %u: ", (parser)->line);                \
		n_ += scnprintf((parser)->error + n_, (parser)->error_size - n_, __VA_ARGS__);                         \
		scnprintf((parser)->error + n_, (parser)->error_size - n_, "\n");                                      \
		-EINVAL;                                                                                               \
	})

char *parse_word(char **line);
int parse_number(struct parser *parser, const char *text, u64 minimum, u64 maximum, u64 *value);
int parse_event(struct parser *parser, const char *name, u32 *index);
int parse_end_of_line(struct parser *parser, char *line);
int parse_statement(struct parser *parser, struct double_node *node, char *line, bool is_root);
