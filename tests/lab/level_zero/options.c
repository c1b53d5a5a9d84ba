/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line: every option is checked, and --help says what there is. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MICROSECOND UINT64_C(1000)
#define MILLISECOND UINT64_C(1000000)

static const char help[] =
	"usage: launcher [OPTION...]\n"
	"Launches kernels through Level Zero and prints the truth about it: which function launched what, how often.\n"
	"\n"
	"What is launched:\n"
	"  --threads N         threads, 1 to 64; thread I makes I times as many turns as the first (1)\n"
	"  --turns N           turns of the first thread; a turn visits every launch site (1)\n"
	"  --duration MS       turns until this time is over, instead of --turns; with --steps also until standard "
	"input\n"
	"                      ends, and \"turns\" is printed after the first\n"
	"  --rate N            turns a second in each thread; 0 is as fast as it goes (0)\n"
	"  --spans N           turns are under none and under N spans of a trace, in turn; only launcher-spans "
	"publishes them (0)\n"
	"  --sites NAME=N,...  launches a turn at each site; a site not named makes none (every site 1)\n"
	"  --site-kernel NAME  what every site launches, instead of its own kernel; for sites that launch one kernel, "
	"and\n"
	"                      kernels with the arguments of matmul_tile\n"
	"  --lists KIND        immediate: each turn appends to an immediate list; regular: launches are appended "
	"once,\n"
	"                      and each turn executes the closed list; in-order: immediate, in order (immediate)\n"
	"  --executions N      executions of the regular list in a turn (1)\n"
	"Jobs, on the lab's double of an xe device:\n"
	"  --jobs NODE         a job on NODE before each launch into an immediate list, and before each execution of a "
	"regular\n"
	"                      one, on the same thread; a launch waits until all jobs of its thread but one are over\n"
	"  --job-time US       each takes so long (1000)\n"
	"  --job-engine NAME   compute or copy: where jobs are; a job on the copy engine is no kernel's (compute)\n"
	"  --active MS         launches only in the first MS of each period; needs --jobs\n"
	"  --pause MS          and so long not (as --active)\n"
	"  --offset MS         periods, which are the same for all processes, begin so much later (0)\n"
	"Modules:\n"
	"  --modules FOLDER    transformer.spv, systolic.spv, transformer.PRODUCT.bin and systolic.PRODUCT.bin\n"
	"                      (modules, beside the program)\n"
	"  --formats KIND      spirv, native, or mixed: transformer from SPIR-V and systolic native (mixed)\n"
	"  --product NAME      PRODUCT in the names of native modules (from ProductFamilyOverride)\n"
	"  --build-flags TEXT  for modules from SPIR-V (-g)\n"
	"  --reloads N         afterwards destroys the modules, creates them again and does the same, N times (0)\n"
	"  --alternate         with --reloads: every second load creates the modules in the opposite order, so that "
	"one\n"
	"                      comes to where the other was\n"
	"  --keep              with --reloads: modules of earlier loads stay, so that the next ones come to new "
	"addresses\n"
	"Processes:\n"
	"  --wait FILE         before the first Level Zero call waits until FILE is there\n"
	"  --wait-signal       before the first Level Zero call waits for SIGUSR1\n"
	"  --steps             prints \"step loaded N\", \"step launched N\" and \"step unloaded N\" for load N, and "
	"at each "
	"waits\n"
	"                      for a line on standard input; goes on without when that ends\n"
	"  --child KIND        fork: a child process does the same, before; exec: afterwards the process executes "
	"itself\n"
	"                      and does the same again; none (none)\n"
	"Output:\n"
	"  --truth FILE        appends the truth to FILE (standard output)\n"
	"  --dump FOLDER       writes MODULE.loaded-debug.elf and MODULE.native.bin as the runtime gives them\n"
	"  --help\n"
	"\n"
	"It first prints its process id, \"pid N\". README.md beside its source explains the lines of the truth.\n";

static _Noreturn __attribute__((format(printf, 1, 2))) void refuse(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("launcher: ", stderr);
	vfprintf(stderr, format, arguments);
	fputs("; see --help\n", stderr);
	va_end(arguments);
	exit(2);
}

static unsigned number(const char *option, const char *text, unsigned smallest, unsigned largest)
{
	char *end;

	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < smallest || value > largest)
		refuse("%s: %s is not a number from %u to %u", option, text, smallest, largest);
	return (unsigned)value;
}

static unsigned choice(const char *option, const char *text, const char *const names[], unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	refuse("%s: there is no %s", option, text);
}

static void sites_read(struct options *options, const char *text)
{
	char *copy = strdup(text), *rest = copy; /* the arguments stay as they are, for exec */

	if (!copy)
		refuse("--sites: no memory for it");
	memset(options->site_launches, 0, sizeof options->site_launches);
	for (char *item = strsep(&rest, ","); item; item = strsep(&rest, ",")) {
		char *value = strchr(item, '=');
		unsigned site = 0;

		if (!value)
			refuse("--sites: %s has no =N", item);
		*value++ = '\0';
		while (site < SITE_COUNT && strcmp(site_descriptions[site].name, item) != 0)
			site++;
		if (site == SITE_COUNT)
			refuse("--sites: there is no site %s", item);
		options->site_launches[site] = number("--sites", value, 0, 1000000);
	}
	free(copy);
}

/* Every site that is chosen launches the same kernel. */
static void site_kernel_set(struct options *options, const char *name)
{
	const char *arguments = kernel_descriptions[KERNEL_MATMUL_TILE].arguments;
	int kernel = 0;

	while (kernel < KERNEL_COUNT && strcmp(kernel_descriptions[kernel].name, name) != 0)
		kernel++;
	if (kernel == KERNEL_COUNT || strcmp(kernel_descriptions[kernel].arguments, arguments) != 0)
		refuse("--site-kernel: there is no kernel %s with the arguments of matmul_tile", name);
	options->site_kernel = kernel;
}

static void modules_beside_program(struct options *options)
{
	char program[sizeof options->modules - sizeof "/modules"];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program);

	if (length <= 0 || (size_t)length == sizeof program)
		refuse("the path of the program is longer than %zu bytes: give --modules", sizeof program - 1);
	program[length] = '\0';
	snprintf(options->modules, sizeof options->modules, "%s/modules", dirname(program));
}

static void modules_set(struct options *options, const char *folder)
{
	if (strlen(folder) >= sizeof options->modules)
		refuse("--modules: the path is longer than %zu bytes", sizeof options->modules - 1);
	strcpy(options->modules, folder);
}

static void formats_read(struct options *options, const char *text)
{
	static const char *const formats[] = { "mixed", "spirv", "native" };
	unsigned format = choice("--formats", text, formats, 3);

	options->native[MODULE_TRANSFORMER] = format == 2;
	options->native[MODULE_SYSTOLIC] = format != 1;
}

static void windows_check(struct options *options)
{
	struct gpu_windows *windows = &options->windows;

	if (!options->jobs_node && (windows->active || windows->pause || windows->offset))
		refuse("--active, --pause and --offset are for --jobs");
	if (!options->jobs_node && options->job_engine != GPU_JOBS_COMPUTE)
		refuse("--job-engine is for --jobs");
	if (!windows->active && (windows->pause || windows->offset))
		refuse("--pause and --offset are for --active");
	if (windows->active && !windows->pause)
		windows->pause = windows->active;
	if (windows->active && windows->active < GPU_JOBS_QUEUED * options->job_time)
		refuse("--active: no %d jobs of --job-time are over in that time", GPU_JOBS_QUEUED);
}

static void lists_read(struct options *options, const char *text)
{
	static const char *const kinds[] = { "immediate", "regular", "in-order" };
	unsigned kind = choice("--lists", text, kinds, 3);
	options->regular_lists = kind == 1;
	options->in_order = kind == 2;
}

static void job_engine_read(struct options *options, const char *text)
{
	static const char *const engines[] = { "compute", "copy" };
	options->job_engine = choice("--job-engine", text, engines, 2) ? GPU_JOBS_COPY : GPU_JOBS_COMPUTE;
}

static void child_read(struct options *options, const char *text)
{
	static const char *const kinds[] = { "none", "fork", "exec" };
	options->child = choice("--child", text, kinds, 3);
}

enum kind { FLAG, TEXT, NUMBER, TIME, READ, HELP };

#define MEMBER(name) .offset = offsetof(struct options, name)
static const struct {
	const char *name;
	enum kind kind;
	size_t offset; /* of a bool, const char *, unsigned, or uint64_t in ns */
	unsigned smallest, largest;
	uint64_t unit; /* of a time */
	void (*read)(struct options *options, const char *text);
} known[] = {
	{ "threads", NUMBER, MEMBER(threads), 1, THREADS_MAX },
	{ "turns", NUMBER, MEMBER(turns), 0, 1000000000 / THREADS_MAX },
	{ "duration", NUMBER, MEMBER(duration), 1, INT_MAX },
	{ "rate", NUMBER, MEMBER(rate), 0, 1000000 },
	{ "spans", NUMBER, MEMBER(spans), 0, SPANS_MAX },
	{ "sites", READ, .read = sites_read },
	{ "lists", READ, .read = lists_read },
	{ "executions", NUMBER, MEMBER(executions), 1, 1000000 },
	{ "modules", READ, .read = modules_set },
	{ "formats", READ, .read = formats_read },
	{ "product", TEXT, MEMBER(product) },
	{ "build-flags", TEXT, MEMBER(build_flags) },
	{ "reloads", NUMBER, MEMBER(reloads), 0, RELOADS_MAX },
	{ "alternate", FLAG, MEMBER(alternate) },
	{ "keep", FLAG, MEMBER(keep) },
	{ "steps", FLAG, MEMBER(steps) },
	{ "site-kernel", READ, .read = site_kernel_set },
	{ "jobs", TEXT, MEMBER(jobs_node) },
	{ "job-time", TIME, MEMBER(job_time), 1, 10000000, MICROSECOND },
	{ "job-engine", READ, .read = job_engine_read },
	{ "active", TIME, MEMBER(windows.active), 1, 3600000, MILLISECOND },
	{ "pause", TIME, MEMBER(windows.pause), 1, 3600000, MILLISECOND },
	{ "offset", TIME, MEMBER(windows.offset), 0, 3600000, MILLISECOND },
	{ "wait", TEXT, MEMBER(wait_file) },
	{ "wait-signal", FLAG, MEMBER(wait_signal) },
	{ "child", READ, .read = child_read },
	{ "truth", TEXT, MEMBER(truth_file) },
	{ "dump", TEXT, MEMBER(dump_folder) },
	{ "help", HELP, .read = NULL },
};
#define KNOWN_COUNT (sizeof known / sizeof *known)

static void option_set(struct options *options, size_t i)
{
	void *member = (char *)options + known[i].offset;
	char name[32];

	snprintf(name, sizeof name, "--%s", known[i].name);
	switch (known[i].kind) {
	case FLAG:
		*(bool *)member = true;
		break;
	case TEXT:
		*(const char **)member = optarg;
		break;
	case NUMBER:
		*(unsigned *)member = number(name, optarg, known[i].smallest, known[i].largest);
		break;
	case TIME:
		*(uint64_t *)member = number(name, optarg, known[i].smallest, known[i].largest) * known[i].unit;
		break;
	case READ:
		known[i].read(options, optarg);
		break;
	case HELP:
		fputs(help, stdout);
		exit(0);
	}
}

void options_read(struct options *options, int argc, char **argv)
{
	struct option names[KNOWN_COUNT + 1] = { 0 };

	for (size_t i = 0; i < KNOWN_COUNT; i++)
		names[i] =
			(struct option){ .name = known[i].name,
					 .has_arg = known[i].kind == FLAG || known[i].kind == HELP ? no_argument
												   : required_argument,
					 .val = (int)i + 1 };
	*options = (struct options){ .threads = 1,
				     .turns = 1,
				     .executions = 1,
				     .build_flags = "-g",
				     .site_kernel = -1,
				     .job_time = 1000 * MICROSECOND,
				     .job_engine = GPU_JOBS_COMPUTE };
	options->product = getenv("ProductFamilyOverride");
	for (unsigned i = 0; i < SITE_COUNT; i++)
		options->site_launches[i] = 1;
	formats_read(options, "mixed");
	modules_beside_program(options);
	opterr = 0;
	for (int option; (option = getopt_long(argc, argv, ":", names, NULL)) != -1;) {
		if (option == ':')
			refuse("%s needs a value", argv[optind - 1]);
		if (option == '?')
			refuse("there is no option %s", argv[optind - 1]);
		option_set(options, (size_t)option - 1);
	}
	if (optind < argc)
		refuse("%s is not an option", argv[optind]);
	if (options->executions > 1 && !options->regular_lists)
		refuse("--executions is for --lists regular: an immediate list executes what is appended once");
	for (unsigned i = 0; options->site_kernel >= 0 && i < SITE_COUNT; i++)
		if (options->site_launches[i] && site_descriptions[i].kernel_count != 1)
			refuse("--site-kernel: %s launches two kernels: give --sites without it",
			       site_descriptions[i].name);
	windows_check(options);
	if ((options->native[MODULE_TRANSFORMER] || options->native[MODULE_SYSTOLIC]) && !options->product)
		refuse("native modules are for a product: run it with run-without-gpu, give --product, or --formats "
		       "spirv");
}
