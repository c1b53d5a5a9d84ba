/* SPDX-License-Identifier: Apache-2.0 */
/* See judgement.h. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "device_code.h"
#include "judgement.h"
#include "text/quantity.h"

/* Code is placed at multiples of this in an instruction heap, which begins at such a multiple, too (compute-runtime).
 */
#define HEAP_GRANULARITY UINT64_C(65536)
#define ADDRESS_MASK UINT64_C(0xffffffff)
/* Fewer samples say nothing about a kernel. */
#define SAMPLES_MIN 1000u

struct result {
	enum verdict verdict;
	char text[320]; /* what was seen, or why it could not be checked */
};

/* What the checks share, computed once. */
struct facts {
	const struct observations *seen;
	uint64_t shift; /* from an address in the GPU's address space, without bits 63:32 of layouts of 29 bits, to a
			   row */
	uint64_t total, in_kernels; /* samples */
	struct kernel_facts {
		const struct kernel_observation *of;
		struct device_code code; /* size 0: unknown */
		uint64_t samples, reasons[STALL_REASON_COUNT];
		uint64_t hottest, hottest_samples; /* offset in the code */
	} kernels[KERNELS_MAX];
	size_t kernel_count;
};

__attribute__((format(printf, 2, 3))) static struct result result(enum verdict verdict, const char *format, ...)
{
	struct result made = { .verdict = verdict };
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(made.text, sizeof made.text, format, arguments);
	va_end(arguments);
	return made;
}

#define PASS(...) result(VERDICT_PASS, __VA_ARGS__)
#define FAIL(...) result(VERDICT_FAIL, __VA_ARGS__)
#define NOT_CHECKED(...) result(VERDICT_NOT_CHECKED, __VA_ARGS__)

static uint64_t total_of(const uint64_t counts[STALL_REASON_COUNT])
{
	uint64_t total = 0;

	for (size_t i = 0; i < STALL_REASON_COUNT; i++)
		total += counts[i];
	return total;
}

static const struct kernel_facts *facts_kernel(const struct facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->kernel_count; i++)
		if (!strcmp(facts->kernels[i].of->name, name))
			return &facts->kernels[i];
	return NULL;
}

/* Where rows of a kernel begin, if rows are relative to an instruction base that is a multiple of 4 GiB. */
static uint64_t row_address(const struct facts *facts, const struct kernel_facts *kernel)
{
	bool is_absolute = facts->seen->layout && facts->seen->layout->address_bits > 32;

	return is_absolute ? kernel->of->address : kernel->of->address & ADDRESS_MASK;
}

/* Returns the samples within all kernels if rows are shifted. */
static uint64_t samples_with_shift(const struct facts *facts, uint64_t shift)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < facts->seen->sum_count; i++)
		for (size_t k = 0; k < facts->kernel_count; k++) {
			const struct kernel_facts *kernel = &facts->kernels[k];
			uint64_t offset = facts->seen->sums[i].address - row_address(facts, kernel) - shift;
			if (kernel->code.size && offset < kernel->code.size)
				samples += total_of(facts->seen->sums[i].counts);
		}
	return samples;
}

/* Finds the shift with the most samples in kernels: 0, or a multiple of the granularity that fits a frequent row. */
static void find_shift(struct facts *facts)
{
	uint64_t best = samples_with_shift(facts, 0);

	for (size_t i = 0; i < facts->seen->sum_count; i++) {
		const struct address_sum *sum = &facts->seen->sums[i];
		if (total_of(sum->counts) * 100 < facts->total)
			continue;
		for (size_t k = 0; k < facts->kernel_count; k++) {
			uint64_t distance = sum->address - row_address(facts, &facts->kernels[k]);
			uint64_t shift = distance / HEAP_GRANULARITY * HEAP_GRANULARITY;
			uint64_t samples = samples_with_shift(facts, shift);
			if (samples > best) {
				best = samples;
				facts->shift = shift;
			}
		}
	}
	facts->in_kernels = best;
}

static void add_sum(const struct facts *facts, struct kernel_facts *kernel, const struct address_sum *sum)
{
	uint64_t offset = sum->address - row_address(facts, kernel) - facts->shift;
	uint64_t samples = total_of(sum->counts);

	if (offset >= kernel->code.size)
		return;
	kernel->samples += samples;
	for (size_t reason = 0; reason < STALL_REASON_COUNT; reason++)
		kernel->reasons[reason] += sum->counts[reason];
	if (samples > kernel->hottest_samples) {
		kernel->hottest_samples = samples;
		kernel->hottest = offset;
	}
}

static void facts_find(struct facts *facts, const struct observations *seen)
{
	*facts = (struct facts){ .seen = seen };
	for (size_t i = 0; i < seen->kernel_count; i++) {
		struct kernel_facts *kernel = &facts->kernels[facts->kernel_count++];
		kernel->of = &seen->kernels[i];
		if (seen->image && kernel->of->address)
			device_code_open(&kernel->code, seen->image, seen->image_size, kernel->of->name);
	}
	for (size_t i = 0; i < seen->sum_count; i++)
		facts->total += total_of(seen->sums[i].counts);
	find_shift(facts);
	for (size_t k = 0; k < facts->kernel_count; k++)
		for (size_t i = 0; i < seen->sum_count; i++)
			add_sum(facts, &facts->kernels[k], &seen->sums[i]);
}

static void facts_free(struct facts *facts)
{
	for (size_t i = 0; i < facts->kernel_count; i++)
		if (facts->kernels[i].code.size)
			device_code_free(&facts->kernels[i].code);
}

static const char *percent(double part, double whole)
{
	static struct quantity_text texts[4];
	static unsigned next;
	struct quantity_text *text = &texts[next++ % 4];

	*text = quantity_share(part, whole, " %");
	return text->text;
}

/* The checks. */

static struct result check_stream(const struct facts *facts)
{
	const char *why = observations_missing(facts->seen, "stream");

	if (facts->seen->has_device && facts->seen->has_rows)
		return PASS("%s, GT %" PRIu64 ", %" PRIu64 " Xe-cores, rows of %s", facts->seen->name, facts->seen->gt,
			    facts->seen->xe_cores, facts->seen->layout->name);
	return FAIL("%s", why ? why : "no stream was opened");
}

static struct result check_program(const struct facts *facts)
{
	const char *why = observations_missing(facts->seen, "program");
	size_t run = 0;

	for (size_t i = 0; i < facts->kernel_count; i++)
		run += facts->kernels[i].of->has_run;
	if (why || !run)
		return FAIL("%s", why ? why : "it ran no kernel");
	return PASS("%zu kernels", run);
}

static struct result check_rows(const struct facts *facts)
{
	if (!facts->seen->has_rows)
		return NOT_CHECKED("no stream");
	if (!facts->seen->rows)
		return FAIL("no row arrived");
	return PASS("%" PRIu64 " rows, %" PRIu64 " samples", facts->seen->rows, facts->total);
}

/* First bit after the last field of a row (struct xe_eu_stall_data_*: ex_id and end_flag follow the counters). */
static unsigned row_bits(const struct row_layout *layout)
{
	unsigned counters = layout->address_bits + 8 * layout->counter_count;

	return layout == &row_layout_pvc ? counters : counters + 4;
}

static struct result check_row_layout(const struct facts *facts)
{
	size_t wrong = 0;

	if (!facts->seen->raw_count || !facts->seen->layout)
		return NOT_CHECKED("no rows");
	for (size_t i = 0; i < facts->seen->raw_count; i++) {
		bool is_wrong = false;
		for (unsigned bit = row_bits(facts->seen->layout); bit < 8 * ROW_SIZE; bit++)
			is_wrong |= facts->seen->raw[i][bit / 8] >> bit % 8 & 1;
		wrong += is_wrong;
	}
	if (wrong)
		return FAIL("%zu of %zu rows have bits after the last field of %s", wrong, facts->seen->raw_count,
			    facts->seen->layout->name);
	return PASS("nothing after the last field of %s in %zu rows", facts->seen->layout->name,
		    facts->seen->raw_count);
}

static struct result check_addresses(const struct facts *facts)
{
	if (!facts->total || !facts->seen->image)
		return NOT_CHECKED("no rows or no code");
	if ((double)facts->in_kernels < 0.99 * (double)facts->total)
		return FAIL(
			"%s of samples are at instructions of the kernels (other programs on this GPU also have rows)",
			percent((double)facts->in_kernels, (double)facts->total));
	return PASS("%s of samples are at instructions of the kernels",
		    percent((double)facts->in_kernels, (double)facts->total));
}

static struct result check_base(const struct facts *facts)
{
	if (!facts->in_kernels || !facts->seen->layout)
		return NOT_CHECKED("no rows in kernels");
	if (facts->seen->layout->address_bits > 32)
		return facts->shift ? FAIL("absolute addresses are shifted by %#" PRIx64, facts->shift)
				    : PASS("absolute addresses");
	/* Layouts of 29 bits: rows are relative to the instruction heap, which begins anywhere. */
	return PASS("instruction base %#" PRIx64 " modulo 4 GiB", -facts->shift & ADDRESS_MASK);
}

static struct result check_hot_instruction(const struct facts *facts)
{
	const struct kernel_facts *kernel = facts_kernel(facts, "self_test_memory");

	if (!kernel || !kernel->code.size || kernel->samples < SAMPLES_MIN)
		return NOT_CHECKED("fewer than %u samples of the memory kernel", SAMPLES_MIN);
	uint32_t wanted = device_code_load_wait(&kernel->code);
	uint32_t found = gt_code_find(&kernel->code.code, (uint32_t)kernel->hottest);
	if (wanted == UINT32_MAX)
		return NOT_CHECKED("the decoder found no instruction that waits for the load");
	if (found == UINT32_MAX)
		return FAIL("the hottest address, offset %#" PRIx64 ", is not an instruction's", kernel->hottest);
	const char *share = percent((double)kernel->hottest_samples, (double)kernel->samples);
	if (found != wanted)
		return FAIL("the hottest instruction (%s) is %" PRId64 " after the one that waits for the load", share,
			    (int64_t)found - (int64_t)wanted);
	return PASS("%s of samples are at the instruction that waits for the load", share);
}

static struct result check_reason(const struct facts *facts, const char *name, enum stall_reason wanted)
{
	const struct kernel_facts *kernel = facts_kernel(facts, name);
	size_t largest = 0;

	if (!kernel || kernel->samples < SAMPLES_MIN)
		return NOT_CHECKED("fewer than %u samples", SAMPLES_MIN);
	for (size_t i = 1; i < STALL_REASON_COUNT; i++)
		if (kernel->reasons[i] > kernel->reasons[largest])
			largest = i;
	const char *share = percent((double)kernel->reasons[largest], (double)kernel->samples);
	if (largest != wanted)
		return FAIL("most samples are %s (%s)", stall_reason_names[largest], share);
	return PASS("%s (%s)", stall_reason_names[largest], share);
}

static struct result check_memory_reason(const struct facts *facts)
{
	return check_reason(facts, "self_test_memory", STALL_SBID);
}

static struct result check_barrier_reason(const struct facts *facts)
{
	return check_reason(facts, "self_test_barrier", STALL_SYNC);
}

/* Threads that are ready wait for their turn: what matters is that none waits for memory or a barrier. */
static struct result check_arithmetic_reason(const struct facts *facts)
{
	const struct kernel_facts *kernel = facts_kernel(facts, "self_test_wide");

	if (!kernel || kernel->samples < SAMPLES_MIN)
		return NOT_CHECKED("fewer than %u samples", SAMPLES_MIN);
	double waits =
		(double)(kernel->reasons[STALL_SBID] + kernel->reasons[STALL_SYNC] + kernel->reasons[STALL_SEND]);
	const char *share = percent((double)kernel->reasons[STALL_ACTIVE], (double)kernel->samples);
	if (waits > 0.1 * (double)kernel->samples || !kernel->reasons[STALL_ACTIVE])
		return FAIL("active %s; waits for memory or barriers %s", share,
			    percent(waits, (double)kernel->samples));
	return PASS("active %s", share);
}

/* Samples of a kernel for each nanosecond of its execution; 0: unknown. */
static double sample_rate(const struct kernel_facts *kernel)
{
	if (!kernel || !kernel->of->has_device_time || !kernel->of->device || kernel->samples < 100)
		return 0;
	return (double)kernel->samples / (double)kernel->of->device;
}

static struct result check_unit(const struct facts *facts)
{
	double narrow = sample_rate(facts_kernel(facts, "self_test_narrow"));
	double wide = sample_rate(facts_kernel(facts, "self_test_wide"));
	const struct observations *seen = facts->seen;

	if (narrow <= 0 || wide <= 0 || !seen->eus)
		return NOT_CHECKED("no samples or no device times of the narrow and the wide kernel");
	const struct {
		double count;
		const char *what;
	} units[] = { { (double)(seen->eus * seen->threads_per_eu), "thread" },
		      { (double)seen->eus, "EU with a thread" },
		      { (double)seen->xe_cores, "Xe-core with a thread" } };
	double ratio = wide / narrow;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (fabs(ratio / units[i].count - 1) < 0.25)
			return i == 1 ? PASS("each %s: a full GPU has %.3g times the samples of one thread",
					     units[i].what, ratio)
				      : FAIL("each %s: a full GPU has %.3g times the samples of one thread",
					     units[i].what, ratio);
	return FAIL("unknown: a full GPU (%" PRIu64 " EUs, %" PRIu64 " threads each) has %.3g times the samples of one "
		    "thread",
		    seen->eus, seen->threads_per_eu, ratio);
}

static struct result check_period(const struct facts *facts)
{
	double narrow = sample_rate(facts_kernel(facts, "self_test_narrow"));

	if (narrow <= 0 || !facts->seen->period)
		return NOT_CHECKED("no samples or no device time of the narrow kernel");
	double clock = narrow * (double)facts->seen->period; /* GHz */
	if (clock < 0.2 || clock > 4)
		return FAIL("one sample in %" PRIu64 " cycles of one thread means a clock of %.3g GHz",
			    facts->seen->period, clock);
	return PASS("one sample in %" PRIu64 " cycles of one thread: a clock of %.3g GHz", facts->seen->period, clock);
}

static struct result check_saturation(const struct facts *facts)
{
	if (!facts->seen->rows)
		return NOT_CHECKED("no rows");
	if (facts->seen->saturated * 1000 > facts->seen->rows)
		return FAIL("%" PRIu64 " counters in %" PRIu64 " rows are at their maximum, 255",
			    facts->seen->saturated, facts->seen->rows);
	return PASS("%" PRIu64 " counters in %" PRIu64 " rows are at their maximum", facts->seen->saturated,
		    facts->seen->rows);
}

static struct result check_overflow(const struct facts *facts)
{
	if (!facts->seen->has_rows || !facts->seen->overflows)
		return NOT_CHECKED("no ring overflowed while rows were not read");
	if (!facts->seen->reads_after_overflow)
		return FAIL("no row was read after an overflow");
	return PASS("%" PRIu64 " overflows, after which rows were read", facts->seen->overflows);
}

/* The time stamps of the device against the host's clock around launches of at least 2 ms. */
static struct result check_durations(const struct facts *facts)
{
	uint64_t device = 0, host = 0, launches = 0;

	for (size_t i = 0; i < facts->kernel_count; i++) {
		const struct kernel_observation *kernel = facts->kernels[i].of;
		if (!kernel->has_run || !kernel->has_device_time)
			continue;
		device += kernel->device;
		host += kernel->host;
		launches += kernel->timed;
	}
	if (!host)
		return NOT_CHECKED("no kernel ran");
	const char *share = percent((double)device, (double)host);
	if (device > host || (double)device < 0.8 * (double)host)
		return FAIL("device times of %" PRIu64 " launches are %s of the host's", launches, share);
	return PASS("device times of %" PRIu64 " launches are %s of the host's", launches, share);
}

static bool profile_is_missing(const struct facts *facts, struct result *missing)
{
	const char *why = observations_missing(facts->seen, "profile");

	if (facts->seen->has_profile && !facts->seen->profile_status)
		return false;
	if (facts->seen->has_profile)
		*missing = NOT_CHECKED("iaprof ended with status %d", facts->seen->profile_status);
	else
		*missing = NOT_CHECKED("%s", why ? why : "no profile");
	return true;
}

static struct result check_matched(const struct facts *facts)
{
	const struct observations *seen = facts->seen;
	struct result missing;

	if (profile_is_missing(facts, &missing))
		return FAIL("%s", missing.text);
	if (!seen->samples)
		return FAIL("the profile has no samples");
	const char *share = percent((double)seen->matched, (double)seen->samples);
	if ((double)seen->matched < 0.99 * (double)seen->samples)
		return FAIL("%s of %" PRIu64 " samples were matched; %" PRIu64 " were ambiguous", share, seen->samples,
			    seen->ambiguous);
	return PASS("%s of %" PRIu64 " samples", share, seen->samples);
}

static struct result check_launches(const struct facts *facts)
{
	uint64_t wanted = 0, found = 0;
	struct result missing;

	if (profile_is_missing(facts, &missing))
		return missing;
	for (size_t i = 0; i < facts->kernel_count; i++) {
		wanted += facts->kernels[i].of->profile_launches;
		found += facts->kernels[i].of->profile_executions;
	}
	if (!wanted)
		return NOT_CHECKED("the program counted no launches");
	if (found > wanted || (double)found < 0.99 * (double)wanted)
		return FAIL("%" PRIu64 " of %" PRIu64 " launches are executions in the profile", found, wanted);
	return PASS("%" PRIu64 " of %" PRIu64, found, wanted);
}

static struct result check_profile_time(const struct facts *facts)
{
	uint64_t host = 0, time = 0;
	struct result missing;

	if (profile_is_missing(facts, &missing))
		return missing;
	for (size_t i = 0; i < facts->kernel_count; i++) {
		host += facts->kernels[i].of->profile_host;
		time += facts->kernels[i].of->profile_time;
	}
	if (!host || !time)
		return NOT_CHECKED("no execution has a time");
	const char *share = percent((double)time, (double)host);
	if (time > host || (double)time < 0.8 * (double)host)
		return FAIL("%s of the host's time around the launches", share);
	return PASS("%s of the host's time around the launches", share);
}

static struct result check_callee(const struct facts *facts)
{
	const struct kernel_facts *caller = facts_kernel(facts, "self_test_caller");
	struct result missing;

	if (profile_is_missing(facts, &missing))
		return missing;
	if (!caller || caller->of->profile_stalls < SAMPLES_MIN)
		return NOT_CHECKED("fewer than %u samples", SAMPLES_MIN);
	const char *share = percent((double)facts->seen->profile_callee, (double)caller->of->profile_stalls);
	if ((double)facts->seen->profile_callee < 0.9 * (double)caller->of->profile_stalls)
		return FAIL("%s of its samples are in the function that it calls", share);
	return PASS("%s of its samples are in the function that it calls", share);
}

static struct result check_resets(const struct facts *facts)
{
	return NOT_CHECKED("resets, runtime suspend and removal would disturb other programs");
}

static const struct {
	const char *name;
	struct result (*check)(const struct facts *facts);
	const char *meaning; /* of a failure */
} checks[] = {
	{ "EU stall stream", check_stream, "stalls of this GPU cannot be sampled" },
	{ "Level Zero program", check_program, "without a program there is nothing to sample" },
	{ "rows arrive", check_rows, "the driver delivers no samples: profiles have no stalls" },
	{ "row layout", check_row_layout, "fields are at other positions: addresses and reasons are wrong" },
	{ "addresses", check_addresses, "samples cannot be matched with code" },
	{ "instruction base", check_base, "samples are matched with the wrong code" },
	{ "hot instruction", check_hot_instruction, "stalls are shown at instructions after the waiting one" },
	{ "reason of memory waits", check_memory_reason,
	  "the order of reasons in a row is another: reasons are wrong" },
	{ "reason of barriers", check_barrier_reason, "the order of reasons in a row is another: reasons are wrong" },
	{ "reason of arithmetic", check_arithmetic_reason,
	  "the order of reasons in a row is another: reasons are wrong" },
	{ "a sample is of", check_unit,
	  "the unit \"EU-time\" is wrong, as are shares of kernels that fill a part of the GPU" },
	{ "sampling period", check_period, "the number of samples per second is another than stated" },
	{ "saturated counters", check_saturation, "samples are missing: use a slower sampling rate" },
	{ "overflow", check_overflow, "sampling ends at the first overflow" },
	{ "device times", check_durations, "GPU time in profiles is wrong" },
	{ "profile: matched", check_matched, "profiles miss GPU code" },
	{ "profile: launches", check_launches, "launches are missing in profiles" },
	{ "profile: GPU time", check_profile_time, "GPU time in profiles is wrong" },
	{ "profile: functions", check_callee, "samples in called functions are at the wrong function" },
	{ "resets", check_resets, "" },
};

static const char *const verdict_names[] = {
	[VERDICT_PASS] = "pass", [VERDICT_FAIL] = "FAIL", [VERDICT_NOT_CHECKED] = "-"
};

unsigned judge(const struct observations *observations, FILE *output)
{
	unsigned counts[3] = { 0 };
	struct facts facts;

	facts_find(&facts, observations);
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		struct result result = checks[i].check(&facts);
		counts[result.verdict]++;
		fprintf(output, "%-4s  %-22s  %s%s\n", verdict_names[result.verdict], checks[i].name,
			result.verdict == VERDICT_NOT_CHECKED ? "not checked: " : "", result.text);
		if (result.verdict == VERDICT_FAIL)
			fprintf(output, "      %-22s  -> %s\n", "", checks[i].meaning);
	}
	facts_free(&facts);
	fprintf(output, "%u passed, %u failed, %u not checked\n", counts[VERDICT_PASS], counts[VERDICT_FAIL],
		counts[VERDICT_NOT_CHECKED]);
	return counts[VERDICT_FAIL];
}
