/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See flow.h. A barrier counts: it is incremented by each instruction that sets it, and decremented when the result of
 * that instruction is written or its operands are read. An instruction waits until the barriers of its mask are 0, so
 * it waits for everything that set one of them since the last wait for it on the path. DEPBAR.LE SBn, k waits until at
 * most k are left: not for the last k that set it.
 */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct sass_word word_at(const struct sass_flow *flow, uint32_t number)
{
	return sass_word_read(flow->bytes + (size_t)number * SASS_SIZE);
}

static bool is_guarded(const struct sass_word *word)
{
	return (word->low >> 12 & 15) != 7;
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(name, *names) != 0)
		names++;
	return *names;
}

/* A branch can also depend on a second predicate ("BRA P0, 0x10") or on the threads of the warp ("BRA.DIV"). */
static bool always_branches(const struct sass_flow *flow, const struct sass_word *word)
{
	char text[SASS_TEXT];
	sass_text(flow->sm, word, 0, text);
	const char *operand = strchr(text, ' ');
	return !is_guarded(word) && operand && strncmp(operand, " 0x", 3) == 0 && !strstr(text, ".DIV") &&
	       !strstr(text, ".CONV");
}

/* Sets the flags of an instruction. Returns the one it branches to, UINT32_MAX if there is none or it is not known. */
static uint32_t classify(struct sass_flow *flow, uint32_t number)
{
	static const char *const ends[] = { "EXIT", "RET", "KILL", NULL };
	static const char *const indirect[] = { "BRX", "BRXU", "JMX", "JMXU", "?", NULL };
	struct sass_word word = word_at(flow, number);
	const char *name = sass_name(flow->sm, &word);
	uint8_t *flags = &flow->flags[number];
	*flags = SASS_CONTINUES;
	if (is_one_of(name, indirect)) {
		flow->has_indirect = true;
		if (*name != '?' && !is_guarded(&word))
			*flags = 0;
	} else if (is_one_of(name, ends)) {
		if (!is_guarded(&word))
			*flags = 0;
	} else if (strcmp(name, "CALL") == 0) {
		*flags |= SASS_CALLS;
	} else if (strcmp(name, "BRA") == 0 || strcmp(name, "JMP") == 0 || strcmp(name, "WARPSYNC") == 0) {
		const struct sass_form *form = sass_form_find(flow->sm, &word);
		uint64_t offset = form ? sass_target(form, &word, (uint64_t)number * SASS_SIZE) : UINT64_MAX;
		if (name[0] != 'W' && form && always_branches(flow, &word))
			*flags = 0;
		if (offset % SASS_SIZE == 0 && offset / SASS_SIZE < flow->count)
			return (uint32_t)(offset / SASS_SIZE);
		flow->has_indirect |= name[0] != 'W';
	}
	return UINT32_MAX;
}

static int compare_edges(const void *left, const void *right)
{
	const struct sass_edge *a = left, *b = right;
	if (a->target != b->target)
		return a->target < b->target ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

int sass_flow_build(uint32_t sm, const void *bytes, uint64_t size, const char *name, struct sass_flow *flow)
{
	if (size > SASS_FLOW_CODE_MAX)
		return -EFBIG;
	*flow = (struct sass_flow){ .sm = sm, .bytes = bytes, .count = (uint32_t)(size / SASS_SIZE) };
	flow->is_kernel = name && !strchr(name, '$'); /* the compiler names others "$kernel$function" */
	flow->flags = calloc((size_t)flow->count + 1, sizeof *flow->flags);
	flow->edges = calloc((size_t)flow->count + 1, sizeof *flow->edges);
	flow->visits = calloc((size_t)flow->count + 1, sizeof *flow->visits);
	if (!flow->flags || !flow->edges || !flow->visits) {
		sass_flow_free(flow);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < flow->count; i++) {
		uint32_t target = classify(flow, i);
		if (target != UINT32_MAX)
			flow->edges[flow->edge_count++] = (struct sass_edge){ .target = target, .from = i };
	}
	qsort(flow->edges, flow->edge_count, sizeof *flow->edges, compare_edges);
	for (uint32_t i = 0; i < flow->edge_count; i++)
		flow->flags[flow->edges[i].target] |= SASS_TARGET;
	for (uint32_t i = 0; i < flow->count; i++) {
		bool follows = i && flow->flags[i - 1] & SASS_CONTINUES;
		if (!follows && !(flow->flags[i] & SASS_TARGET))
			flow->flags[i] |= SASS_UNKNOWN_ENTRY;
	}
	return 0;
}

void sass_flow_free(struct sass_flow *flow)
{
	free(flow->edges);
	free(flow->flags);
	free(flow->visits);
	*flow = (struct sass_flow){ 0 };
}

/*
 * What is searched for on a path: a barrier, of which the last "skip" instructions are not waited for, and at most
 * "left" before them can be outstanding; COUNT_MAX: any number.
 */
#define COUNT_MAX 7u

struct state {
	uint8_t skip, left;
};

struct search {
	struct sass_flow *flow;
	unsigned barrier;
	uint32_t steps;
	bool incomplete;
	struct pending {
		uint32_t number; /* search before this one */
		struct state state;
	} pending[512];
	uint32_t pending_count;
	struct iaprof_producer found[SASS_FLOW_PRODUCERS_MAX];
	uint32_t found_count;
};

static void search_before(struct search *search, uint32_t number, struct state state)
{
	if (search->pending_count == sizeof search->pending / sizeof *search->pending)
		search->incomplete = true;
	else
		search->pending[search->pending_count++] = (struct pending){ .number = number, .state = state };
}

/* Returns whether an instruction has not been examined in this state. */
static bool is_new(struct search *search, uint32_t number, struct state state)
{
	struct sass_visit *visit = &search->flow->visits[number];
	uint64_t bit = UINT64_C(1) << (state.skip * 8u + state.left);
	if (visit->search != search->flow->search)
		*visit = (struct sass_visit){ .search = search->flow->search };
	if (visit->states & bit)
		return false;
	visit->states |= bit;
	return true;
}

static void add(struct search *search, uint32_t number, uint32_t wait)
{
	if (search->found_count == SASS_FLOW_PRODUCERS_MAX) {
		search->incomplete = true;
		return;
	}
	search->found[search->found_count++] = (struct iaprof_producer){ .offset = (uint64_t)number * SASS_SIZE,
									 .wait = wait,
									 .token = search->barrier };
}

/* The barriers that an instruction waits for: a mask, and one of which at most count may be left (DEPBAR). */
struct waits {
	uint8_t all;
	uint8_t counted; /* SASS_BARRIERS: none */
	uint8_t count;
};

static struct waits waits_of(const struct sass_flow *flow, const struct sass_word *word)
{
	struct waits waits = { .all = sass_control_of(word).waits, .counted = SASS_BARRIERS };
	if ((word->low & 0xfff) != SASS_OPCODE_DEPBAR)
		return waits;
	char text[SASS_TEXT];
	sass_text(flow->sm, word, 0, text);
	char *at = strstr(text, ".LE SB"), *set = strchr(text, '{');
	for (unsigned i = 0; set && i < SASS_BARRIERS; i++)
		if (strchr(set, (int)('0' + i)))
			waits.all |= (uint8_t)(1u << i);
	if (at && at[6] >= '0' && at[6] < (char)('0' + SASS_BARRIERS) && at[7] == ',') {
		unsigned long count = strtoul(at + 8, NULL, 16);
		waits.counted = (uint8_t)(at[6] - '0');
		waits.count = count < COUNT_MAX ? (uint8_t)count : COUNT_MAX;
		if (!count)
			waits.all |= (uint8_t)(1u << waits.counted);
	}
	return waits;
}

/* Examines one instruction on a path backwards. Returns whether the search continues before it. */
static bool examine(struct search *search, uint32_t number, struct state *state)
{
	struct sass_word word = word_at(search->flow, number);
	struct sass_control control = sass_control_of(&word);
	bool result = control.write_barrier == search->barrier, operands = control.read_barrier == search->barrier;
	if (result || operands) {
		if (state->skip) {
			state->skip--;
		} else if (result) {
			add(search, number, IAPROF_WAIT_RESULT);
		} else {
			add(search, number, IAPROF_WAIT_OPERANDS);
		}
		if (state->left < COUNT_MAX && !--state->left)
			return false;
	}
	struct waits waits = waits_of(search->flow, &word);
	if (waits.all >> search->barrier & 1)
		return false;
	if (waits.counted == search->barrier && waits.count < state->left)
		state->left = waits.count;
	if (search->flow->flags[number] & SASS_CALLS)
		search->incomplete = true;
	return true;
}

static void search_path(struct search *search, uint32_t number, struct state state)
{
	const struct sass_flow *flow = search->flow;
	for (;;) {
		uint8_t flags = flow->flags[number];
		if (number == 0 && !flow->is_kernel)
			search->incomplete = true;
		if (number && (flags & SASS_UNKNOWN_ENTRY || (flags & SASS_TARGET && flow->has_indirect)))
			search->incomplete = true;
		if (flags & SASS_TARGET) {
			uint32_t first = 0, end = flow->edge_count;
			while (first < end) {
				uint32_t middle = first + (end - first) / 2;
				if (flow->edges[middle].target < number)
					first = middle + 1;
				else
					end = middle;
			}
			for (; first < flow->edge_count && flow->edges[first].target == number; first++) {
				uint32_t from = flow->edges[first].from;
				struct state before = state;
				if (++search->steps > SASS_FLOW_STEPS_MAX) {
					search->incomplete = true;
					return;
				}
				if (is_new(search, from, before) && examine(search, from, &before))
					search_before(search, from, before);
			}
		}
		if (!number || !(flow->flags[number - 1] & SASS_CONTINUES))
			return;
		number--;
		if (++search->steps > SASS_FLOW_STEPS_MAX) {
			search->incomplete = true;
			return;
		}
		if (!is_new(search, number, state) || !examine(search, number, &state))
			return;
	}
}

static void search_barrier(struct search *search, uint32_t number, unsigned barrier, unsigned count)
{
	if (count >= COUNT_MAX) {
		search->incomplete = true;
		return;
	}
	search->barrier = barrier;
	search->flow->search++;
	search_before(search, number, (struct state){ .skip = (uint8_t)count, .left = COUNT_MAX });
	while (search->pending_count) {
		struct pending next = search->pending[--search->pending_count];
		search_path(search, next.number, next.state);
	}
}

static bool overlap(const struct sass_registers *a, const struct sass_registers *b)
{
	for (unsigned i = 0; i < 4; i++)
		if (a->general[i] & b->general[i] || a->uniform[i] & b->uniform[i])
			return true;
	return a->predicates & b->predicates || a->uniform_predicates & b->uniform_predicates;
}

/* Removes registers that were found. */
static void remove_registers(struct sass_registers *from, const struct sass_registers *found)
{
	for (unsigned i = 0; i < 4; i++) {
		from->general[i] &= ~found->general[i];
		from->uniform[i] &= ~found->uniform[i];
	}
	from->predicates &= (uint8_t)~found->predicates;
	from->uniform_predicates &= (uint8_t)~found->uniform_predicates;
}

/*
 * Finds the instructions of fixed latency for whose results the stall count of the instruction before one was chosen:
 * they write what it reads, so few cycles before that the shortest pipeline would not have finished without that count.
 */
#define SHORTEST_LATENCY 4

static void find_pipeline(struct search *search, uint32_t number)
{
	const struct sass_flow *flow = search->flow;
	struct sass_word word = word_at(flow, number);
	struct sass_registers reads, writes, others;
	if (!sass_registers(flow->sm, &word, &reads, &writes))
		return;
	search->barrier = 0;
	/* Cycles from an instruction to this one, if the stall count of the last one before it were 1. */
	for (unsigned cycles = 0; number; number--) {
		if (flow->flags[number] & SASS_TARGET || !(flow->flags[number - 1] & SASS_CONTINUES))
			return;
		word = word_at(flow, number - 1);
		struct sass_control control = sass_control_of(&word);
		bool is_last = cycles == 0;
		if (is_last && control.stall < 2)
			return;
		cycles += is_last || !control.stall ? 1 : control.stall;
		if (cycles >= SHORTEST_LATENCY || !sass_registers(flow->sm, &word, &others, &writes))
			return;
		if (overlap(&reads, &writes) && control.write_barrier >= SASS_BARRIERS)
			add(search, number - 1, IAPROF_WAIT_PIPELINE);
		remove_registers(&reads, &writes);
	}
}

static int compare_producers(const void *left, const void *right)
{
	const struct iaprof_producer *a = left, *b = right;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->token != b->token ? (int)a->token - (int)b->token : (int)a->wait - (int)b->wait;
}

int sass_flow_producers(struct sass_flow *flow, uint32_t number, struct iaprof_producer *producers, size_t capacity,
			uint32_t *flags)
{
	struct sass_word word = word_at(flow, number);
	struct waits waits = waits_of(flow, &word);
	struct search *search = calloc(1, sizeof *search);
	if (!search)
		return -ENOMEM;
	search->flow = flow;
	for (unsigned i = 0; i < SASS_BARRIERS; i++)
		if (waits.all >> i & 1)
			search_barrier(search, number, i, 0);
	if (waits.counted < SASS_BARRIERS && !(waits.all >> waits.counted & 1))
		search_barrier(search, number, waits.counted, waits.count);
	find_pipeline(search, number);
	if (search->found_count)
		qsort(search->found, search->found_count, sizeof *search->found, compare_producers);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < search->found_count; i++)
		if (!kept || compare_producers(&search->found[kept - 1], &search->found[i]) != 0)
			search->found[kept++] = search->found[i];
	for (uint32_t i = 0; i < kept && i < capacity; i++)
		producers[i] = search->found[i];
	*flags = search->incomplete ? IAPROF_PRODUCERS_INCOMPLETE : 0;
	free(search);
	return (int)kept;
}
