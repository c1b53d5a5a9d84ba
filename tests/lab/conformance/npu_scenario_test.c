// SPDX-License-Identifier: Apache-2.0
/* The scenario's language: what is wrong is refused with its line, and no text does harm. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npu_tests.h"

#define RANDOM_TEXTS 300

static void answer(char *text, size_t size)
{
	int file = open(NPU_DOUBLE "scenario", O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? -1 : read(file, text, size - 1);

	text[got > 0 ? got : 0] = '\0';
	if (file >= 0)
		close(file);
}

static void errors_have_their_line(void)
{
	static const struct {
		const char *text, *answer;
	} cases[] = {
		{ "open\n ivpu_open\n  ivpu_nonsense\n", "line 3: \"ivpu_nonsense\" is no function" },
		{ "\n\nnonsense\n", "line 3: \"nonsense\" begins nothing" },
		{ "open\n ivpu_postclose\n", "line 2: this tree's first function is ivpu_open" },
		{ "open\n ivpu_open\n  ivpu_probe\n", "line 3: ivpu_probe is called by the kernel only" },
		{ "open\n ivpu_open x2\n", "line 2: " },
		{ "open\n ivpu_open\n  play nobody\n", "the event nobody has no tree" },
		{ "interrupt a\n ivpu_hw_irq_handler\n  sleep 1ms\n", "line 3: no sleep in an interrupt" },
		{ "interrupt a\n ivpu_hw_irq_handler\n  play a\n", "line 3: play waits" },
		{ "open\n ivpu_open\n  ivpu_boot for 11s\n", "line 3: \"11s\" is no duration" },
		{ "open\n ivpu_open\n ivpu_open\n", "line 3: a tree has one first function" },
		{ "open\nclose\n ivpu_postclose\n", "a tree without functions" },
		{ "generation 6.13\nopen\n ivpu_open\n  ivpu_bo_bind\n",
		  "line 4: ivpu_bo_bind is not in this generation" },
		{ "generation 7.2\nopen\n ivpu_open\n  ivpu_bo_pin\n",
		  "line 4: ivpu_bo_pin is not in this generation" },
		{ "open\n ivpu_open\n  job submit\n", "line 3: job submit belongs" },
		{ "open\n ivpu_open\n  ipc send NOTHING\n", "line 3: \"NOTHING\" is no type" },
		{ "open times 0\n ivpu_open\n", "line 1: \"0\" is no number" },
		{ "set nothing 1\n", "line 1: \"nothing\" is no value" },
		{ " ivpu_open\n", "line 1: no tree begins" },
		{ "thread t\n ivpu_irq_thread_handler\n", "t has a thread but no interrupt" },
		{ "work w\n ivpu_boot\n", "line 2: ivpu_boot is no work's function" },
	};
	char text[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CHECK_EQUAL(npu_scenario_when_idle(cases[i].text), EINVAL);
		answer(text, sizeof(text));
		if (!CHECK(strstr(text, cases[i].answer)))
			tap_comment("%s instead of %s", text, cases[i].answer);
	}
	CHECK_EQUAL(npu_scenario_when_idle("# nothing\n"), 0);
	answer(text, sizeof(text));
	CHECK(!strncmp(text, "ok:", 3));
}

/* Lines of right and wrong words; whatever is taken is played once. */
static void random_texts(void)
{
	static const char *const words[] = {
		"open",
		"close",
		"free",
		"ioctl",
		"SUBMIT",
		"BO_CREATE",
		"BO_WAIT",
		"interrupt",
		"thread",
		"work",
		"timer",
		"resume",
		"suspend",
		"ivpu_open",
		"ivpu_postclose",
		"ivpu_submit_ioctl",
		"ivpu_bo_create_ioctl",
		"ivpu_hw_irq_handler",
		"ivpu_irq_thread_handler",
		"ivpu_pm_recovery_work",
		"ivpu_gem_bo_free",
		"ivpu_pm_runtime_resume_cb",
		"ivpu_boot",
		"ivpu_rpm_get",
		"ivpu_ipc_receive",
		"x3",
		"for",
		"5us",
		"repeat",
		"2",
		"play",
		"start",
		"a",
		"b",
		"after",
		"every",
		"1ms",
		"times",
		"power",
		"job",
		"submit",
		"done",
		"abort",
		"pm",
		"ipc",
		"send",
		"boot",
		"generation",
		"7.2",
		"set",
		"arg1=5",
		"busy",
		"sleep",
		"#",
		"process",
	};
	static const char *const good[] = {
		"open\n ivpu_open\n",
		"close\n ivpu_postclose\n",
		"free\n ivpu_gem_bo_free\n",
		"ioctl SUBMIT\n ivpu_submit_ioctl\n",
		"ioctl BO_CREATE\n ivpu_bo_create_ioctl\n",
		"interrupt a\n ivpu_hw_irq_handler\n",
		"work b\n ivpu_pm_recovery_work\n",
		"timer c\n ivpu_boot\n",
		"resume\n ivpu_pm_runtime_resume_cb\n",
		"suspend\n ivpu_pm_runtime_suspend_cb\n",
	};
	static const char *const inner[] = {
		"  ivpu_boot\n",
		"  ivpu_rpm_get\n",
		"  power\n",
		"   ivpu_hw_reset x4\n",
		"  repeat 3\n",
		"   ivpu_ipc_send\n",
		"    ivpu_gem_bo_free\n",
		"  play a\n",
		"  start a after 1ms\n",
		"  start b\n",
		"  start c every 1ms times 3\n",
		"  job abort\n",
		"  job done\n",
		"  busy 3us\n",
		"  ipc send boot\n",
		"  sleep 10us\n",
	};
	unsigned int taken = 0;
	char text[4096];

	srand(1);
	for (int i = 0; i < RANDOM_TEXTS; i++) {
		size_t length = 0;
		int error;

		text[0] = '\0';
		while (length < sizeof(text) - 200 && rand() % 12) {
			if (i % 2) {
				length += (size_t)snprintf(text + length, sizeof(text) - length, "%s",
							   good[(size_t)rand() % (sizeof(good) / sizeof(*good))]);
				for (int n = rand() % 4; n > 0; n--)
					length += (size_t)snprintf(
						text + length, sizeof(text) - length, "%s",
						inner[(size_t)rand() % (sizeof(inner) / sizeof(*inner))]);
				continue;
			}
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%*s", rand() % 4, "");
			for (int n = rand() % 4; n >= 0; n--)
				length += (size_t)snprintf(text + length, sizeof(text) - length, "%s ",
							   words[(size_t)rand() % (sizeof(words) / sizeof(*words))]);
			length += (size_t)snprintf(text + length, sizeof(text) - length, "\n");
		}
		error = npu_scenario_when_idle(text);
		CHECK(error == 0 || error == EINVAL);
		if (!error) {
			int file = npu_open();
			uint32_t command = npu_buffer(file, 4096);

			npu_submit(file, command, 0);
			npu_wait(file, command, 1, NULL);
			close(file);
			taken++;
			CHECK(npu_truth("events_lost") == 0);
		}
		/* A job that nobody ends would keep its file. */
		CHECK(npu_abort_jobs() == 0);
	}
	tap_comment("%u of %d texts taken", taken, RANDOM_TEXTS);
	CHECK(taken > 10);
}

void npu_scenario_tests(void)
{
	TAP_RUN(errors_have_their_line);
	TAP_RUN(random_texts);
}
