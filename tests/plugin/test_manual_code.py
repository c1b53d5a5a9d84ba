#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the code of iaprof-plugin(7). That of its section on devices is run as a source: its stacks must have the
values that the code states. TAP.

    test_manual_code.py IAPROF SOURCE_FOLDER BUILD_FOLDER CC...
"""
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

program, source, build = map(pathlib.Path, sys.argv[1:4])
compiler = [*sys.argv[4:], '-std=c11', '-Wall', '-Wextra', '-Werror', f'-I{source}/include', f'-I{build}/include']
HEADERS = '#include <elf.h>\n#include <stddef.h>\n#include <string.h>\n#include <unistd.h>\n#include <iaprof/iaprof.h>\n'
MACHINE = {'x86_64': 62, 'aarch64': 183}[platform.machine()]
STEPS = 5

# What the page leaves out of its short examples.
LOADAVG = '''struct loadavg { uint64_t period; };
static int loadavg_prepare(const struct iaprof_host *host, void *instance) { (void)host; (void)instance; return 0; }
#define loadavg_start loadavg_prepare
#define loadavg_stop loadavg_prepare
static const struct iaprof_option options[] = {
%s};
'''

# What it leaves out of the source: the driver's calls and the registration.
DRIVER = '''
struct device { const struct iaprof_host *host; uint64_t step, begin; uint32_t time_type; };
__attribute__((noinline)) static void train(void) { __asm__ volatile("nop; nop; nop; nop"); }
static int step(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	struct device *device = instance;
	uint64_t stack[] = { (uintptr_t)train };
	uint32_t pid = (uint32_t)getpid();
	uint64_t begin = device->begin;
	(void)expirations;
	if (device->step == STEPS)
		return 0;
	device->step++;
	int result = send_step(host, pid, stack, 1, device->step, begin + 1);
	device->begin = host->clock(host);
	if (!result)
		result = send_job(host, pid, device->time_type, device->step, begin + 1, begin + 1001);
	if (device->step == STEPS)
		host->finished(host);
	return result;
}
static int start(const struct iaprof_host *host, void *instance)
{
	struct device *device = instance;
	device->begin = host->clock(host);
	device->time_type = host->declare_value_type(host, "accelerator-time", "nanoseconds", 1);
	int result = send_device(host);
	if (!result)
		result = send_code(host, (uint32_t)getpid(), IMAGE, MACHINE);
	return result ? result : host->on_timer(host, 5000000, step);
}
static int stop(const struct iaprof_host *host, void *instance) { (void)host; (void)instance; return 0; }
static const struct iaprof_source_operations operations = { .size = sizeof operations, .start = start, .stop = stop };
static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME | IAPROF_PLUGIN_NEEDS_PROCESSES,
	.name = "manual",
	.version = "1.0",
	.description = "The source of the manual",
	.instance_size = sizeof(struct device),
	.source = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
'''


def blocks(page):
    found = re.findall(r'^\.Bd -literal[^\n]*\n(.*?)^\.Ed', page, re.M | re.S)
    return [block.replace('\\e', '\\') for block in found if re.search(r'[;{]\n|,\n', block)]


def compile_code(folder, name, text, *options):
    path = folder / f'{name}.c'
    path.write_text(text, encoding='utf-8')
    done = subprocess.run([*compiler, '-g', '-fPIC', '-shared', *options, path, '-o', folder / f'iaprof-{name}.so'],
                          capture_output=True, encoding='utf-8', check=False)
    return [line for line in done.stderr.splitlines() if 'error' in line] if done.returncode else []


number = failed = 0


def report(name, problems):
    global number, failed
    number += 1
    failed += bool(problems)
    print(f"{'not ok' if problems else 'ok'} {number} - {name}")
    for problem in problems:
        print(f'# {problem}')


def run(plugin, sink, folder):
    done = subprocess.run([program, '-q', '-s', plugin, '-k', f'{sink}output={folder}/out'], capture_output=True,
                          encoding='utf-8', check=False, timeout=60)
    if done.returncode:
        return f'status {done.returncode}: {done.stderr}', {}
    rows = [line.rsplit(' ', 1) for line in (folder / 'out').read_text(encoding='utf-8').splitlines()]
    return '', {stack: int(value) for stack, value in rows}


def main():
    page = (source / 'man/iaprof-plugin.7').read_text(encoding='utf-8')
    before, devices = page.split('.Sh DEVICES\n')
    devices = devices.split('.Sh FILES\n')[0]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        registration, option = blocks(before)
        report('registration and options compile',
               compile_code(folder, 'loadavg', HEADERS + LOADAVG % option + registration))
        report('the code of an image compiles', compile_code(
            folder, 'image', 'int matmul(int a);\nint matmul(int a)\n{\n\treturn a * a;\n}\n'))
        image = folder / 'iaprof-image.so'
        text = HEADERS + '\n'.join(blocks(devices)) + DRIVER
        problems = compile_code(folder, 'manual', text, f'-DIMAGE="{image}"', f'-DMACHINE={MACHINE}', f'-DSTEPS={STEPS}')
        report('the code of the section on devices compiles', problems)
        if not problems:
            check_stacks(folder)
    print(f'1..{number}')
    sys.exit(failed != 0)


def check_stacks(folder):
    plugin = folder / 'iaprof-manual.so'
    said, stacks = run(plugin, 'folded:value=accelerator-stalls,', folder)
    wanted = {'data': 30 * STEPS, 'barrier': 10 * STEPS}
    problems = [said] if said else []
    # Without the right to read its own memory map, iaprof knows no launch stacks.
    site = 'train;' if os.geteuid() == 0 else ''
    for reason, count in wanted.items():
        got = sum(value for stack, value in stacks.items()
                  if re.search(rf'{site}.*matmul_\[G\].*;{reason}_\[g\];0x4_\[g\]$', stack))
        if got != count:
            problems += [f'{reason}: {got} samples, not {count}', *stacks]
    report('stall samples have their launch, kernel, reason and offset', problems)
    said, stacks = run(plugin, 'folded:value=accelerator-time,', folder)
    got = sum(value for stack, value in stacks.items() if f'{site}' in stack and 'matmul_[G]' in stack)
    report('the time of jobs is below their launch and kernel',
           [] if got == 1000 * STEPS else [said, f'{got} ns, not {1000 * STEPS}', *stacks])


if __name__ == '__main__':
    main()
