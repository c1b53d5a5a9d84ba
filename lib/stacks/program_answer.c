/* SPDX-License-Identifier: Apache-2.0 */
/* See program_answer.h. The page has the same (plugins/sink-flamegraph/page/program_answer.js): a test compares them.
 */
#include "stacks/program_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed_array.h"
#include "base/saturating.h"
#include "stacks/code_site.h"
#include "stacks/value_label.h"

/* The least share that makes a function the answer: of the value, and of its program if there are several. */
#define FUNCTION_SHARE 0.02
#define FUNCTION_SHARE_OF_PROGRAM 0.2
/* What a second program must have of the value to count. */
#define PROGRAM_SHARE 0.01

/* What a frame is in the answer. */
struct frame_fact {
	uint32_t work;  /* id of a text; 0: none */
	uint32_t flags; /* of enum code_work */
	uint32_t rank;  /* as in code_site_rank() */
};

/* Sums by a key of three numbers: ids of texts, or positions. frame is that of the largest single value. */
struct answer_sum {
	struct answer_key {
		uint32_t parts[4];
	} key;
	uint64_t value, largest;
	const struct iaprof_frame *frame;
};
typedef KEYED_ARRAY(struct answer_sum) answer_sums;

struct answering {
	struct program_answer *answer;
	const struct iaprof_profile *profile;
	struct frame_fact *facts; /* by frame */
	answer_sums sites;        /* program, name and file of a function */
	answer_sums lines;        /* site, line */
	answer_sums works;        /* site, what is called there or waited for */
	answer_sums programs, reasons;
	bool failed;
};

/* What a stack contributes. */
struct stack_facts {
	const char *program;
	uint32_t site; /* position of its frame; UINT32_MAX: none */
	uint32_t work, reason;
	bool is_idle;
};

static uint32_t text_id(struct answering *answering, const char *text)
{
	uint32_t id = text && *text ? string_table_add(&answering->answer->texts, text, strlen(text), NULL) : 0;
	answering->failed |= text && *text && !id;
	return id;
}

static uint32_t sum_add(struct answering *answering, answer_sums *sums, struct answer_key key, uint64_t value,
			const struct iaprof_frame *frame)
{
	uint32_t position = keyed_array_add(sums, &((struct answer_sum){ .key = key }));
	if (position == POSITION_NONE) {
		answering->failed = true;
		return 0;
	}
	struct answer_sum *sum = &sums->items[position];
	saturating_increase(&sum->value, value);
	if (value > sum->largest) {
		sum->largest = value;
		sum->frame = frame;
	}
	return position;
}

static bool facts_make(struct answering *answering)
{
	const struct iaprof_profile *profile = answering->profile;
	struct text text = { 0 };
	answering->facts = calloc(profile->frame_count + 1, sizeof *answering->facts);
	for (uint32_t i = 0; answering->facts && i < profile->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, i);
		struct frame_fact *fact = &answering->facts[i];
		text.size = 0;
		fact->rank = code_site_rank(frame);
		fact->flags = code_work_append(&text, frame, iaprof_profile_kernel_class(profile, i));
		fact->work = text_id(answering, text_string(&text));
	}
	answering->failed |= text.failed;
	text_free(&text);
	return answering->facts && !answering->failed;
}

/* Returns the number of frames up to that of a wait, behind which there may be the thread that ends it. */
static uint32_t frames_of_thread(const struct iaprof_profile *profile, const struct iaprof_stack *stack)
{
	uint32_t count = 0;
	while (count < stack->frame_count &&
	       iaprof_profile_frame(profile, stack->frames[count])->kind != IAPROF_FRAME_WAIT)
		count++;
	return count < stack->frame_count ? count + 1 : count;
}

static struct stack_facts facts_of(const struct answering *answering, const struct iaprof_stack *stack)
{
	struct stack_facts facts = { .program = "", .site = UINT32_MAX };
	uint32_t count = frames_of_thread(answering->profile, stack), best = 1, below = 0, own = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(answering->profile, stack->frames[i]);
		if (frame->kind == IAPROF_FRAME_PROCESS)
			facts.program = frame->name;
		if (answering->facts[stack->frames[i]].rank >= best) {
			best = answering->facts[stack->frames[i]].rank;
			facts.site = i;
			below = i + 1;
			own = best > CODE_SITE_RANK_LIBRARY ? below : own;
		}
	}
	uint32_t runtime = 0;
	for (uint32_t i = own; i < count; i++)
		facts.is_idle |= (answering->facts[stack->frames[i]].flags & CODE_WORK_IDLE) != 0;
	for (uint32_t i = below; i < count; i++) {
		const struct frame_fact *fact = &answering->facts[stack->frames[i]];
		if (fact->flags & CODE_WORK_RUNTIME)
			runtime = fact->work ?: runtime;
		else if (!facts.work)
			facts.work = fact->work;
		if (fact->flags & CODE_WORK_WAIT && !facts.reason)
			facts.reason = fact->work;
	}
	facts.work = facts.work ?: runtime;
	return facts;
}

static void add_value(struct answering *answering, const struct iaprof_value *value)
{
	struct program_answer *answer = answering->answer;
	const struct iaprof_stack *stack = iaprof_profile_stack(answering->profile, value->stack);
	struct stack_facts facts = facts_of(answering, stack);
	if (answer->is_wait && facts.is_idle) {
		saturating_increase(&answer->idle, value->value);
		return;
	}
	const struct iaprof_frame *frame =
		facts.site == UINT32_MAX ? NULL : iaprof_profile_frame(answering->profile, stack->frames[facts.site]);
	uint32_t program = text_id(answering, facts.program), work = answer->is_wait ? facts.reason : facts.work;
	saturating_increase(&answer->value, value->value);
	struct answer_key key = { { program } };
	sum_add(answering, &answering->programs, key, value->value, NULL);
	if (frame)
		key = (struct answer_key){ { program, text_id(answering, frame->name),
					     text_id(answering, frame->file ?: frame->module), 1 } };
	uint32_t site = sum_add(answering, &answering->sites, key, value->value, frame);
	key = (struct answer_key){ { site, frame ? frame->line : 0 } };
	sum_add(answering, &answering->lines, key, value->value, frame);
	sum_add(answering, &answering->works, (struct answer_key){ { site, work } }, value->value, NULL);
	sum_add(answering, &answering->reasons, (struct answer_key){ { work } }, value->value, NULL);
}

static int compare_parts(const void *left, const void *right)
{
	const struct answer_part *a = left, *b = right;
	return a->value != b->value ? (a->value < b->value) - (a->value > b->value) : strcmp(a->name, b->name);
}

/* Makes sorted parts of sums by text. */
static void parts_make(struct answering *answering, answer_parts *parts, const answer_sums *sums)
{
	for (size_t i = 0; i < sums->count; i++) {
		const char *name = string_table_text(&answering->answer->texts, sums->items[i].key.parts[0]);
		answering->failed |= !array_push(parts, ((struct answer_part){ name, sums->items[i].value }));
	}
	if (parts->count)
		qsort(parts->items, parts->count, sizeof *parts->items, compare_parts);
}

static const char *name_of(const struct answer_site *site)
{
	return site->frame ? site->frame->name : "";
}

static int compare_sites(const void *left, const void *right)
{
	const struct answer_site *a = left, *b = right;
	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	return strcmp(name_of(a), name_of(b)) ?: strcmp(a->program, b->program);
}

/* Finds what the time of the top site is spent in, or if its function is not the answer, that of its program. */
static void below_make(struct answering *answering, uint32_t top)
{
	answer_sums below = { 0 };
	bool is_function = program_answer_is_function(answering->answer);
	uint32_t program = answering->sites.items[top].key.parts[0];
	for (size_t i = 0; i < answering->works.count; i++) {
		const struct answer_sum *work = &answering->works.items[i];
		uint32_t site = work->key.parts[0];
		if (is_function ? site == top : answering->sites.items[site].key.parts[0] == program)
			sum_add(answering, &below, (struct answer_key){ { work->key.parts[1] } }, work->value, NULL);
	}
	parts_make(answering, &answering->answer->below, &below);
	keyed_array_free(&below);
}

/* Returns the position of the site that matters most; UINT32_MAX: there is none. */
static uint32_t top_site(const struct answering *answering)
{
	const struct program_answer *answer = answering->answer;
	const answer_sums *sums = answer->is_wait ? &answering->works : &answering->sites;
	uint64_t most = 0;
	uint32_t top = UINT32_MAX;
	for (size_t i = 0; i < sums->count; i++) {
		const struct answer_sum *sum = &sums->items[i];
		uint32_t id = sum->key.parts[answer->is_wait ? 1 : 0];
		const char *wanted = (answer->is_wait ? &answer->reasons : &answer->programs)->items[0].name;
		if (strcmp(string_table_text(&answer->texts, id), wanted) != 0 || sum->value <= most)
			continue;
		most = sum->value;
		top = answer->is_wait ? sum->key.parts[0] : (uint32_t)i;
	}
	answering->answer->top_wait = answer->is_wait ? most : 0;
	return top;
}

static void sites_make(struct answering *answering)
{
	struct program_answer *answer = answering->answer;
	uint32_t top = answering->sites.count ? top_site(answering) : UINT32_MAX;
	for (size_t i = 0; i < answering->sites.count; i++) {
		const struct answer_sum *sum = &answering->sites.items[i];
		struct answer_site site = { .program = string_table_text(&answer->texts, sum->key.parts[0]),
					    .frame = sum->frame,
					    .value = sum->value };
		answering->failed |= !array_push(&answer->sites, site);
	}
	for (size_t i = 0; i < answering->lines.count && !answering->failed; i++) {
		const struct answer_sum *sum = &answering->lines.items[i];
		struct answer_site *site = &answer->sites.items[sum->key.parts[0]];
		if (sum->value > site->line_value) {
			site->line_value = sum->value;
			site->frame = sum->frame;
		}
	}
	if (answering->failed || top == UINT32_MAX)
		return;
	const struct answer_site wanted = answer->sites.items[top];
	qsort(answer->sites.items, answer->sites.count, sizeof *answer->sites.items, compare_sites);
	for (size_t i = 0; i < answer->sites.count && !answer->top; i++)
		if (!memcmp(&answer->sites.items[i], &wanted, sizeof wanted))
			answer->top = &answer->sites.items[i];
	below_make(answering, top);
}

int program_answer_make(struct program_answer *answer, const struct iaprof_profile *profile, uint32_t value_type)
{
	struct answering answering = { .answer = answer, .profile = profile };
	*answer = (struct program_answer){ 0 };
	answer->is_wait = value_type < profile->value_type_count &&
			  value_type_is_wait(iaprof_profile_value_type(profile, value_type));
	bool good = facts_make(&answering);
	for (size_t i = 0; good && i < profile->value_count && !answering.failed; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		if (value->value_type == value_type && value->value)
			add_value(&answering, value);
	}
	if (good && answering.programs.count) {
		parts_make(&answering, &answer->programs, &answering.programs);
		if (answer->is_wait)
			parts_make(&answering, &answer->reasons, &answering.reasons);
		if (!answering.failed)
			sites_make(&answering);
	}
	free(answering.facts);
	keyed_array_free(&answering.sites);
	keyed_array_free(&answering.lines);
	keyed_array_free(&answering.works);
	keyed_array_free(&answering.programs);
	keyed_array_free(&answering.reasons);
	return good && !answering.failed ? 0 : -ENOMEM;
}

void program_answer_free(struct program_answer *answer)
{
	array_free(&answer->sites);
	array_free(&answer->programs);
	array_free(&answer->below);
	array_free(&answer->reasons);
	string_table_free(&answer->texts);
}

bool program_answer_has_programs(const struct program_answer *answer)
{
	return answer->programs.count > 1 &&
	       (double)answer->programs.items[1].value >= PROGRAM_SHARE * (double)answer->value;
}

bool program_answer_is_function(const struct program_answer *answer)
{
	const struct answer_site *top = answer->top;
	if (!top || !top->frame || (double)top->value < FUNCTION_SHARE * (double)answer->value)
		return false;
	return !program_answer_has_programs(answer) ||
	       (double)top->value >= FUNCTION_SHARE_OF_PROGRAM * (double)answer->programs.items[0].value;
}
