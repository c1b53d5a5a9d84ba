# SPDX-License-Identifier: Apache-2.0
"""Labelled event lists: healthy work, and work that is wrong in one way, with the finding that names the cause."""
import re

from npu_events import MS, SECOND, US, Run


def program(buffers, work):
    """A program that opens the device, allocates buffers, works, and frees them."""
    run = Run()
    run.open()
    run.allocate(buffers)
    work(run)
    run.free(buffers)
    run.close()
    return run


def infer(run, pause=0, **job):
    """An inference that the program waits for, and a pause."""
    run.submit(**job)
    run.finish()
    run.wait()
    run.time += pause


def steady(rate, jobs, sleeps=False, length=200 * US):
    """Inferences at a rate per second with buffers that are reused."""
    def work(run):
        begin = run.time
        for i in range(jobs):
            run.sleep_until(begin + i * SECOND // rate)
            infer(run, pins=4 if i == 0 else 0, pages=64, length=length)
            if sleeps:
                run.time += 100 * MS
                run.suspend()
    return program(4, work)


def cold_start():
    """One inference of a large model: a boot with 942 polls, and 16 MiB that its submission maps."""
    run = program(24, lambda run: infer(run, pins=24, pages=172, polls=942, length=40 * MS))
    run.time += 100 * MS
    run.suspend()
    return run


def growth():
    """Each job has a buffer of its own, which is never freed."""
    def work(run):
        for i in range(300):
            run.allocate(1)
            infer(run, 10 * MS, pins=5 if i == 0 else 1, pages=8)
    return program(4, work)


def thrash():
    """Buffers are allocated for each job and freed after it."""
    def work(run):
        for _ in range(200):
            run.allocate(4)
            infer(run, pins=4, pages=16)
            run.free(4)
            run.time += 10 * MS
    return program(0, work)


def faults():
    """A pool of buffers, each of which is used for the first time by a job of its own."""
    def work(run):
        for _ in range(64):
            infer(run, 10 * MS, pins=1, pages=512)
    return program(64, work)


def hang():
    """The driver gives up on the 13th of 20 jobs after 20 s."""
    def work(run):
        for i in range(20):
            run.submit(pins=4 if i == 0 else 0, pages=64)
            if i == 12:
                run.time += 20 * SECOND
                run.recover()
            else:
                run.finish()
            run.wait()
            run.time += 10 * MS
    return program(4, work)


def boot_loop():
    """The device sleeps after each of 20 jobs a second, and each boots it again."""
    def work(run):
        for i in range(40):
            infer(run, 11 * MS, pins=4 if i == 0 else 0, pages=64, polls=400, poll_time=40 * US)
            run.suspend()
    return program(4, work)


def polling():
    """A firmware that takes 0.8 s to boot."""
    def work(run):
        for i in range(40):
            infer(run, 10 * MS, pins=4 if i == 0 else 0, pages=64, polls=30000, poll_time=20 * US)
    return program(4, work)


def turns():
    """Two models whose jobs wait for each other."""
    run = Run()
    programs = [(1234, 'detect', 1), (1235, 'classify', 1)]
    for program in programs:
        run.program = program
        run.open()
        run.allocate(4)
    run.submit(pins=4, pages=64, length=2 * MS)
    for i in range(200):
        run.program = programs[i % 2]
        run.submit(pins=4 if i == 0 else 0, pages=64, length=2 * MS)
        run.finish()
        run.program = programs[1 - i % 2]
        run.wait()
    run.finish()
    for program in programs:
        run.program = program
        run.free(4)
        run.close()
    return run


# The comparison with the driver's counter and jobs of unknown start are notes, unless they are warnings.
FINDING = re.compile(r'^iaprof: (?!npu-(?:job-coverage|unknown-starts):)(?:warning: )?(npu-[a-z-]+): (.*)$', re.M)
NOTES = re.compile(r'npu-(calls|rates|no-findings)$')
# What a reader must find in the two lines: the cause, and what to do.
CAUSES = {
    'npu-buffer-growth': ('keeps buffers of earlier jobs', 'free them'),
    'npu-mapping-thrash': ('created, mapped and freed repeatedly', 'reuse them'),
    'npu-map-at-submit': ('in its submission', 'reuse buffers'),
    'npu-job-hang': ('did not complete', 'dmesg'),
    'npu-recovery': ('aborted all jobs', 'dmesg'),
    'npu-boot-thrash': ('suspended between jobs', 'autosuspend_delay_ms'),
    'npu-firmware-polling': ('the firmware starts slowly', 'update it'),
    'npu-cold-start': ('firmware boot', 'run an inference before'),
    'npu-taking-turns': ('take turns', 'run one after the other'),
}


def findings_in(report):
    """-> {finding: text} of a report on standard error, without notes"""
    return {name: text for name, text in FINDING.findall(report) if not NOTES.match(name)}


def unclear(found):
    """{finding: text} -> those that do not name cause and remedy in two lines of a terminal"""
    return {name: text for name, text in found.items()
            if len(text) > 240 or not all(words in text for words in CAUSES[name])}


def table_of(said, title, name):
    """-> {last cell of a row: the others} of a table that sources send as notes"""
    heading = re.search(rf'^ *{title}  +.*  {name}$', said, re.M)
    rows = {}
    for line in said[heading.end():].split('\n')[1:] if heading else []:
        if not line.strip():
            break
        *cells, last = re.split(r' {2,}', line.strip())
        rows[last] = cells
    return rows


def nanoseconds(text):
    number, unit = text.split()
    return float(number) * {'s': SECOND, 'ms': MS, 'us': US, 'ns': 1}[unit]


def contexts_reported(said):
    """The table of users: -> {(pid, context): [jobs, ns on the NPU]}; context: 0 if not known"""
    told, pid = {}, None
    for name, cells in table_of(said, 'jobs', 'NPU user').items():
        of_process, of_context = re.search(r'\((\d+)\)', name), re.match(r'(?:.*, )?context (\d+)', name)
        pid = int(of_process.group(1)) if of_process else pid
        if name != 'all' and cells[0] != '-' and cells[1] != '-':
            told[pid, int(of_context.group(1)) if of_context else 0] = [int(cells[0]), nanoseconds(cells[1])]
    return told


# name: (list, findings)
SCENARIOS = {
    'healthy at 1 a second': (lambda: steady(1, 30, sleeps=True), []),
    'healthy at 30 a second': (lambda: steady(30, 90), []),
    'healthy at 500 a second': (lambda: steady(500, 1500), []),
    'healthy at 2,000 a second': (lambda: steady(2000, 3000, length=100 * US), []),
    'cold start': (cold_start, ['npu-cold-start']),
    'steady growth': (growth, ['npu-buffer-growth']),
    'mapping thrash': (thrash, ['npu-mapping-thrash']),
    'page faults at submission': (faults, ['npu-map-at-submit']),
    'hang and recovery': (hang, ['npu-job-hang', 'npu-recovery']),
    'boot loop': (boot_loop, ['npu-boot-thrash']),
    'firmware polling': (polling, ['npu-firmware-polling']),
    'two models that take turns': (turns, ['npu-taking-turns']),
}
