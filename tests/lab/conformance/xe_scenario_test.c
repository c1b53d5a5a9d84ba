// SPDX-License-Identifier: Apache-2.0
/* Bad scenarios and commands are refused with the line's number, and hurt nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"
#include "xe_tests.h"

#define GOOD                                                                                                           \
	"platform bmg\nkernel 7.0\ngt 0 main cores 0-3,8\ngt 1 media\npace 500\nloop 3 every 10ms\nplay always\n"      \
	"row at 10us gt 0 core 0-3 address 0x1000 active 3 sbid 700\nrow gt 0 core 8 address 0x1010 send 2 ex-id 1\n"  \
	"reference-clock 19200000\ndevice-id 0xe20c\nend\n"

static void bad_lines_are_named(void)
{
	static const struct {
		const char *scenario;
		int line;
		const char *says;
	} cases[] = {
		{ "nonsense\nend\n", 1, "first line has to be 'platform'" },
		{ "platform\nend\n", 1, "platform:" },
		{ "platform vega\nend\n", 1, "platform:" },
		{ "platform bmg more\nend\n", 1, "platform:" },
		{ "# a comment\n\nplatform bmg\nplatform bmg\nend\n", 4, "platform:" },
		{ "platform bmg\nnonsense 1\nend\n", 2, "unknown word 'nonsense'" },
		{ "platform bmg\ngt 9 media\nend\n", 2, "'9'" },
		{ "platform bmg\ngt 0 main\nend\n", 2, "gt:" },
		{ "platform bmg\ngt 0 main cores 96\nend\n", 2, "Xe-cores" },
		{ "platform bmg\ngt 0 main cores 3-1\nend\n", 2, "Xe-cores" },
		{ "platform bmg\ngt 0 media\ngt 0 media\nend\n", 3, "already" },
		{ "platform bmg\npace 0\nend\n", 2, "pace:" },
		{ "platform bmg\npace 99999999999999999999\nend\n", 2, "pace:" },
		{ "platform bmg\nloop 0\nend\n", 2, "loop:" },
		{ "platform bmg\nloop 2 every 5\nend\n", 2, "loop:" },
		{ "platform bmg\nloop 2 every 99999999999s\nend\n", 2, "loop:" },
		{ "platform bmg\nplay never\nend\n", 2, "play:" },
		{ "platform bmg\nkernel seven\nend\n", 2, "kernel:" },
		{ "platform bmg\nkernel 7.0x\nend\n", 2, "kernel:" },
		{ "platform bmg\ndevice-id 0x10000\nend\n", 2, "device-id:" },
		{ "platform bmg\nrow gt 0 core 0 address\nend\n", 2, "no value" },
		{ "platform bmg\nrow gt 0 core 0 active 1\nend\n", 2, "wanted" },
		{ "platform bmg\nrow gt 2 core 0 address 8 active 1\nend\n", 2, "no GT 2" },
		{ "platform bmg\nrow gt 1 core 0 address 8 active 1\nend\n", 2, "no such Xe-core" },
		{ "platform bmg\nrow gt 0 core 20 address 8 active 1\nend\n", 2, "no such Xe-core" },
		{ "platform bmg\nrow gt 0 core 0 address 4 active 1\nend\n", 2, "multiple of 8" },
		{ "platform bmg\nrow gt 0 core 0 address 0x100000000 active 1\nend\n", 2, "power of 32" },
		{ "platform pvc\nrow gt 0 core 0 address 8 tdr 1\nend\n", 2, "no tdr" },
		{ "platform pvc\nrow gt 0 core 0 address 8 ex-id 1\nend\n", 2, "no ex-id" },
		{ "platform bmg\nrow gt 0 core 0 address 8 ex-id 8\nend\n", 2, "does not fit" },
		{ "platform bmg\nrow gt 0 core 0 address 8 active -1\nend\n", 2, "'-1'" },
		{ "platform bmg\nrow gt 0 core 0 address 8 active 99999999\nend\n", 2, "is not a number" },
		{ "platform bmg\nrow gt 0 core 0-19 address 8 active 900000\nend\n", 2, "more than 65536 rows" },
		{ "platform bmg\nrow gt 0 core 0 address 8 yawning 1\nend\n", 2, "unknown word 'yawning'" },
		{ "platform bmg\nrow at 5us gt 0 core 0 address 8\nrow at 4us gt 0 core 0 address 8\nend\n", 3,
		  "earlier" },
		{ "platform bmg\nrow gt 0 core 0 address 8\ngt 0 media\nend\n", 3, "before the rows" },
		{ "platform dg2\nrow gt 0 core 0 address 8\nend\n", 2, "no EU stall sampling" },
		{ "platform bmg\nloop 2\nrow gt 0 core 0 address 8\nend\n", 4, "every" },
		{ "platform bmg\nend\nend\n", 3, "after 'end'" },
		{ "platform b\x01g\nend\n", 1, "printable" },
		{ "platform bmg\ndevice-id 0xe20c x\nend\n", 2, "device-id: 'x'" },
		{ "platform bmg\nreference-clock 19200000 x\nend\n", 2, "reference-clock: 'x'" },
		{ "platform bmg\nkernel 7.0 x\nend\n", 2, "kernel: 'x'" },
		{ "platform bmg\ngt 0 main cores 0-3 compute 0-1 x\nend\n", 2, "gt: 'x'" },
		{ "platform bmg\ngt 0 main cores 0-3\ngt 1 media x\nend\n", 3, "gt: 'x'" },
		{ "platform bmg\npace time every 5ms\nend\n", 2, "pace: 'every'" },
		{ "platform bmg\npace 500 x\nend\n", 2, "pace: 'x'" },
		{ "platform bmg\nloop 3 every 5ms x\nend\n", 2, "loop: 'x'" },
		{ "platform bmg\nplay always x\nend\n", 2, "play: 'x'" },
		{ "platform bmg\nend x\n", 2, "end: 'x'" },
	};
	char line[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_FAILS(scenario_write("%s", cases[i].scenario), EINVAL);
		snprintf(line, sizeof(line), "line %d: ", cases[i].line);
		if (!CHECK(strstr(error_read(), line)) || !CHECK(strstr(error_read(), cases[i].says)))
			tap_comment("case %zu: %s", i, error_read());
	}
	/* Never ended: write() could not know. */
	CHECK_EQUAL(scenario_write("platform bmg\n"), 0);
	CHECK(strstr(error_read(), "'end' is missing"));
	CHECK_EQUAL(scenario_write("platform bmg\nend"), 0);
	CHECK(strstr(error_read(), "no newline"));
	CHECK_EQUAL(scenario_write(GOOD), 0);
	CHECK_EQUAL(error_read()[0], '\0');
	CHECK(state_has("device-id 0xe20c kernel 7.0 layout xe2"));
	CHECK(state_has("rows 13 "));
}

static void long_lines_and_long_scenarios_are_bounded(void)
{
	const size_t size = 20 * 1024 * 1024;
	char *text = calloc(1, size);
	size_t length;

	REQUIRE(text);
	length = (size_t)snprintf(text, size, "platform bmg\n");
	memset(text + length, 'a', 5000);
	strcpy(text + length + 5000, "\nend\n");
	CHECK_FAILS(scenario_write("%s", text), EINVAL);
	CHECK(strstr(error_read(), "line 2: longer than"));
	for (int i = 0; i < 65536; i++)
		length += (size_t)sprintf(text + length, "row gt 0 core %d address %d active 1\n", i % 20, i * 8);
	strcpy(text + length, "end\n");
	CHECK_EQUAL(scenario_write("%s", text), 0);
	CHECK(state_has("rows 65536 "));
	strcpy(text + length, "row gt 0 core 0 address 8 active 1\nend\n");
	CHECK_FAILS(scenario_write("%s", text), EINVAL);
	CHECK(strstr(error_read(), "line 65538: "));
	/* What was installed stays. */
	CHECK(state_has("rows 65536 "));
	free(text);
}

static void a_watched_device_keeps_its_scenario(void)
{
	int first, fd;

	REQUIRE(scenario_write(GOOD) == 0);
	fd = stream_open(1);
	REQUIRE(fd >= 0);
	CHECK_FAILS(scenario_write("platform pvc\nend\n"), EBUSY);
	CHECK(strstr(error_read(), "a stream is open"));
	close(fd);
	CHECK(state_has("platform bmg"));
	first = open("/sys/kernel/debug/xe-double/scenario", O_WRONLY | O_CLOEXEC);
	CHECK(first >= 0);
	CHECK_FAILS(open("/sys/kernel/debug/xe-double/scenario", O_WRONLY | O_CLOEXEC), EBUSY);
	close(first);
}

static void bad_commands_are_refused(void)
{
	static const char *const commands[] = {
		"",          "dance",       "start now",     "reset 2",      "reset x",        "reset 0 0",
		"overflow",  "overflow 0",  "overflow 0 19", "overflow 1 0", "overflow 0 0 0", "overflow -1 0",
		"unplug it", "stop\nstart", "play",          "play x",       "play 1 2"
	};

	REQUIRE(scenario_write(GOOD) == 0);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		/* write() with nothing is not a command. */
		if (commands[i][0] && !CHECK_FAILS(command_write(commands[i]), EINVAL))
			tap_comment("command '%s'", commands[i]);
	}
	CHECK(strstr(error_read(), "command"));
	CHECK_EQUAL(scenario_write("platform bmg\nend\n"), 0);
	CHECK_FAILS(command_write("start"), EINVAL);
	CHECK_EQUAL(command_write("stop"), 0);
	CHECK_EQUAL(command_write("pause\n"), 0);
}

static uint64_t next_random(uint64_t *state)
{
	return (*state = *state * 6364136223846793005ull + 1442695040888963407ull) >> 33;
}

/* Changes a digit into another, a byte into any other, a byte into a separator, or cuts the rest off. */
static void damage(char *text, uint64_t *state, bool digits_only)
{
	size_t at = next_random(state) % strlen(text);

	if (digits_only) {
		at += strcspn(text + at, "0123456789");
		if (text[at])
			text[at] = (char)('0' + next_random(state) % 10);
		return;
	}
	switch (next_random(state) % 4) {
	case 0:
		text[at] = (char)(1 + next_random(state) % 255);
		break;
	case 1:
		text[at] = '\n';
		break;
	case 2:
		text[at] = ' ';
		break;
	default:
		text[at + 1] = '\0';
		break;
	}
}

/* Damaged scenarios: whatever is installed plays, whatever is refused says why. */
static void random_damage_is_survived(void)
{
	uint64_t state = 1;
	int installed = 0, refused = 0;

	for (int i = 0; i < 600; i++) {
		char text[sizeof(GOOD)] = GOOD;

		for (int damages = 1 + i % 3; damages; damages--)
			damage(text, &state, i & 1);
		if (scenario_write("%s", text) == 0 && error_read()[0] == '\0') {
			installed++;
			CHECK_EQUAL(command_write("start"), 0);
			CHECK_EQUAL(command_write("stop"), 0);
		} else {
			refused++;
			CHECK(strstr(error_read(), "scenario, line "));
		}
	}
	CHECK(installed > 50 && refused > 50);
	tap_comment("%d scenarios installed, %d refused", installed, refused);
	CHECK_EQUAL(scenario_write(GOOD), 0);
}

void test_scenarios_of_the_double(void)
{
	TAP_RUN(bad_lines_are_named);
	TAP_RUN(long_lines_and_long_scenarios_are_bounded);
	TAP_RUN(a_watched_device_keeps_its_scenario);
	TAP_RUN(bad_commands_are_refused);
	TAP_RUN(random_damage_is_survived);
}
