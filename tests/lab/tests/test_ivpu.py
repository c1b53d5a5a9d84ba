#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short 6.12 newest
# lab: module intel_vpu
# lab: seconds 900
# lab: covers plugins/ivpu/** lib/npu/** lib/bpf/** plugins/sink-csv/**
# lab: covers tests/lab/programs/npu_*
"""The source ivpu on the double of the NPU, whose truth every call is held against, and on the real driver. TAP;
arguments choose."""
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness import npu_double, profiler
from harness.cases import Skip, check, equal, named, run, started
from harness.npu_double import FOLDER, PLAYER, SCENARIOS, load, play, wait_until_asleep
from harness.profiler import PROGRAM, ROWS, instance


class Run(profiler.Profiler):
    """iaprof with this source, from when it is attached."""

    def __init__(self, *options, arguments=()):
        super().__init__('-s', instance('ivpu', *options), *ROWS, *arguments, ready=lambda said: ' functions of intel_vpu in ' in said)
        self.rows = None

    def end(self, status=0, stop=True):
        super().end(status, stop)
        self.rows = profiler.read_rows('ivpu')
        return self

    def calls(self):
        """-> {(pid, function): [count, ns]}"""
        sums = collections.defaultdict(lambda: [0, 0])
        for row in self.rows['call']:
            entry = sums[int(row['pid'] or 0), row['name']]
            entry[0] += int(row['count'])
            entry[1] += int(row['duration'])
        return dict(sums)

    def lost(self):
        return profiler.losses(self.rows)

    def metadata(self):
        return profiler.metadata(self.rows)


def compare(run):
    """Each function's count in each process is the truth, less what was said to be lost."""
    expected, names = npu_double.calls()
    found = {key: value for key, value in run.calls().items() if key in expected or key[1].startswith('ivpu_')}
    # Of jobs there are losses, too, which are test_ivpu_jobs' business.
    lost = collections.Counter({reason: count for reason, count in run.lost().items() if reason.startswith('calls: ')})
    lacking = 0
    check(expected, 'the double did nothing')
    for key in sorted(expected.keys() | found.keys()):
        entries, seen = expected.get(key, (0, 0))[0], found.get(key, (0, 0))[0]
        check(entries >= seen, f'{key[1]} of {names.get(key[0], key[0])}: {seen} calls, not {entries}; lost: {lost}')
        lacking += entries - seen
    missed = lost.pop(npu_double.INTERRUPTED, 0)
    # Of a call that was interrupted either end may be missed, and the other one is reported.
    halves = sum(lost.pop(f'calls: {end} not seen', 0) for end in ('return', 'begin')) if missed else 0
    # Calls of other functions than the driver's are not in the truth.
    check(lacking <= missed + halves and not lost, f'{lacking} calls lack; lost: {run.lost()}')
    # An interrupt, or a thread that it wakes, may come while a BPF program runs: how often is a matter of how long the
    # machine's processors stand still, and only that most calls are reported is certain.
    check(missed <= sum(entries for entries, _ in expected.values()) / 2, f'too many lost: {run.lost()}')
    durations(expected, found)
    check(all(int(row['value']) <= int(row['duration']) for row in run.rows['call']), 'own time is more than all')
    print(f'# {sum(entries for entries, _ in expected.values())} calls, {lacking} of them reported as lost, '
          f'{run.metadata().get("kernel-side time per call")} each')
    return names


def durations(expected, found):
    """Not less than the truth, but for clocks. How much more it may be nobody can say: the probes of the calls nested in
    a call are in its time, and a processor that is emulated stands still at times."""
    for key, (entries, ns) in expected.items():
        if key in found and found[key][0] == entries:
            check(found[key][1] >= ns * 0.98 - 2000 * entries, f'{key}: {found[key][1]} ns, and {ns} in truth')


def steady_load():
    run = Run('functions=*', 'hot=yes')
    play('--load', SCENARIOS / 'steady.txt')
    compare(run.end())
    rows = run.rows['call']
    check(all(row['parent'] for row in rows if row['name'] == 'ivpu_bo_pin'), 'a call has no parent')
    print(f'# {run.metadata()}')


# By the option attach, the newest first, of this kernel. Single probes of all functions take a minute here.
WAYS = {'fsession': ('fsession.multi', '*'), 'session': ('kprobe session', '*'),
        'multi': ('kprobe.multi, entry and return', '*'), 'single': ('single kprobes, entry and return', 'ivpu_bo_*')}
HAS_FSESSION = tuple(map(int, re.findall(r'\d+', os.uname().release)[:2])) >= (7, 2)
if not HAS_FSESSION:
    del WAYS['fsession']


def attached_by(run, way):
    # Some functions have no BTF.
    equal(re.sub(r', \d+ of them by kprobe session$', '', run.metadata()['attached by']), way, 'attached by')


def every_way_to_attach():
    notes = []
    if not HAS_FSESSION:
        status, said = profiler.refused('-s', 'ivpu:attach=fsession')
        check(status and 'by fsession.multi: Operation not supported (use attach=auto)' in said, f'{status}: {said}')
    # every_call_is_reported() has the newest way, which attach=auto finds.
    ways = list(WAYS.items())[1:] if os.environ['LAB_LEVEL'] != 'full' else WAYS.items()
    for way, (name, functions) in ways:
        run = Run(f'functions={functions}', 'hot=yes', f'attach={way}')
        play('--load', SCENARIOS / 'two.txt')
        run.end()
        if way != 'single':
            compare(run)
        lost = sum(run.lost().values())
        expected, found = npu_double.calls()[0], run.calls()
        for key, (entries, _) in expected.items():
            if key[1] in ('ivpu_bo_pin', 'ivpu_bo_create_ioctl'):
                check(entries - lost <= found.get(key, (0, 0))[0] <= entries, f'{way}: {key}: {found.get(key)}, not {entries}')
        said = run.metadata()
        attached_by(run, name)
        notes.append(f'{way} {said["functions attached"]} in {said["time to attach"]}, out in {said["time to detach"]}')
    return '; '.join(notes)


def a_right_less():
    """The newest way needs CAP_SYS_ADMIN, and so does a libbpf that looks for a symbol in modules; another one does not."""
    # Debian's kernels ask for it at level 3 for every perf event, too.
    pathlib.Path('/proc/sys/kernel/perf_event_paranoid').write_text('2', encoding='ascii')
    ended = subprocess.run(['setpriv', '--bounding-set=-sys_admin', pathlib.Path(os.environ['LAB_BUILD']) / 'iaprof', '-v',
                            '-d', '1', '-s', 'ivpu:functions=ivpu_bo_*', '-k', 'csv:output=out.csv'],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8', check=False)
    check((ended.returncode == 0 and ' by kprobe session' in ended.stdout) or
          (ended.returncode and 'CAP_SYS_ADMIN is required' in ended.stdout), f'{ended.returncode}: {ended.stdout[-2000:]}')


def all_scenarios():
    for scenario in sorted(SCENARIOS.glob('*.txt')):
        if scenario.name not in ('steady.txt', 'two.txt', 'storm.txt'):
            run = Run('functions=*', 'hot=yes', 'drain=100ms')
            print(f'# {scenario.name}')
            play('--load', scenario)
            compare(run.end())


def two_processes_are_kept_apart():
    run = Run('functions=*', 'hot=yes')
    play('--load', SCENARIOS / 'two.txt')
    names = compare(run.end())
    submits = {names[pid]: count for (pid, name), (count, _) in run.calls().items() if name == 'ivpu_submit_ioctl'}
    # compare() held each count against the truth, less the losses that were reported.
    lost = sum(count for reason, count in run.lost().items() if reason.startswith('calls: '))
    truth = {'often': 60, 'seldom': 15}
    check(submits.keys() == truth.keys() and all(0 <= truth[name] - submits[name] <= lost for name in truth),
          f'{submits}, {lost} lost')


def interrupts_are_nobodys():
    run = Run('functions=*', 'hot=yes')
    play('--load', SCENARIOS / 'storm.txt')
    compare(run.end())
    handlers = [row for row in run.rows['call'] if row['name'] == 'ivpu_hw_irq_handler']
    check(handlers, 'no interrupts')
    for row in handlers:
        check(row['parent'] == '[interrupt]' and not int(row['pid'] or 0), f'{row}')
    # The same function in an interrupt and in a process's wait for the device's boot: each where it belongs.
    parents = {(row['parent'], bool(int(row['pid'] or 0))) for row in run.rows['call']
               if row['name'] == 'ivpu_ipc_irq_handler'}
    check(('ivpu_wait_for_ready', True) in parents and ('ivpu_hw_ip_irq_handler_40xx', False) in parents and
          all(process == (parent == 'ivpu_wait_for_ready') for parent, process in parents), f'{parents}')


def the_published_trace():
    if not npu_double.PUBLISHED_TRACE.exists():
        raise Skip('it is not beside the checkout')
    with open('matmul', 'w', encoding='utf-8') as file:
        subprocess.run([sys.executable, FOLDER / 'make_scenario.py', npu_double.PUBLISHED_TRACE], stdout=file, check=True)
    run = Run('functions=*', 'hot=yes')
    play('--load', 'matmul')
    compare(run.end())
    published = collections.Counter(re.findall(r'^kprobe:intel_vpu:(\S+)', npu_double.PUBLISHED_TRACE.read_text(), re.M))
    found = collections.Counter()
    for (_, name), (count, _) in run.calls().items():
        if name in published:
            found[name] += count
    check(sum(run.lost().values()) or found == published, f'{found - published} {published - found}')


def hot_functions_are_left_out():
    run = Run()
    play('--load', SCENARIOS / 'steady.txt')
    run.end()
    names = {row['name'] for row in run.rows['call']}
    check('ivpu_mmu_context_map_sgt' in names and 'ivpu_mmu_context_map_page' not in names, f'{names}')
    check(int(run.metadata()['functions left out as too frequent']) >= 1, f'{run.metadata()}')


def only_a_command():
    """Of two processes the command's alone, and interrupts."""
    (npu_double.CONTROL / 'scenario').write_text((SCENARIOS / 'two.txt').read_text())
    other = started(subprocess.Popen([PLAYER, '--process', 'seldom', SCENARIOS / 'two.txt'], stdout=subprocess.DEVNULL))
    run = Run('functions=*', 'hot=yes', arguments=('--scope', 'command', '--', PLAYER, '--process', 'often', SCENARIOS / 'two.txt'))
    other.wait()
    run.end(stop=False)
    wait_until_asleep()
    expected, names = npu_double.calls()
    found = run.calls()
    often = next(pid for pid, name in names.items() if name == 'often')
    check({pid for pid, _ in found} <= {0, often}, f'{[(key, value) for key, value in found.items() if key[0] not in (0, often)][:3]}: {names}, not {often}')
    check(found[often, 'ivpu_submit_ioctl'][0] == expected[often, 'ivpu_submit_ioctl'][0] == 60, f'{found}')


def entries_alone():
    """Counts are those of the truth, and there is neither a time nor a caller."""
    run = Run('functions=*', 'hot=yes', 'mode=entries')
    play('--load', SCENARIOS / 'two.txt')
    run.end()
    expected, names = npu_double.calls()
    found, lost = run.calls(), sum(run.lost().values())
    for key, (entries, _) in expected.items():
        check(entries - lost <= found.get(key, (0, 0))[0] <= entries, f'{key} of {names.get(key[0])}: {found.get(key)}, not {entries}')
    # In interrupts, those of softirqs are not in the truth.
    check(not {key for key in found if key[0] and key[1].startswith('ivpu_')} - expected.keys(), f'{found}, not {expected}')
    check(not any(int(row['duration'] or 0) for row in run.rows['call']), 'a call has a duration')
    check({row['parent'] for row in run.rows['call']} <= {'', '[order not known]'}, 'a call has a caller')
    attached_by(run, 'kprobe.multi, entry')
    return f'{lost} lost'


def every_call_is_reported():
    run = Run('functions=*', 'hot=yes', 'mode=events', arguments=('--record', 'capture'))
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    play('--load', SCENARIOS / 'two.txt')
    end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    compare(run.end())
    attached_by(run, next(iter(WAYS.values()))[0])  # the newest, of itself
    rows = run.rows['call']
    names = npu_double.calls()[1]
    for row in rows:
        equal(row['count'], '1', f'{row}')
        # Processes of one thread.
        check(int(row['pid'] or 0) not in names or names[int(row['pid'] or 0)] not in ('often', 'seldom') or
              row['tid'] == row['pid'], f'{row}')
    times = [int(row['time']) for row in rows if names.get(int(row['pid'] or 0)) in ('often', 'seldom')]
    check(begin < min(times) and max(times) < end, f'{min(times)} to {max(times)}, not in {begin} to {end}')
    check(len({row['time'] for row in rows}) > 0.9 * len(rows), 'calls share their times')
    nested_in_time(rows)
    subprocess.run([PROGRAM, '--replay', 'capture', *ROWS], check=True, stderr=subprocess.DEVNULL)
    again = profiler.read_rows('ivpu')['call']
    check(again == rows, f'the replay has {len(again)} calls, not {len(rows)}')
    return f'{len(rows)} calls'


def nested_in_time(rows):
    """A call lies within one of those that it is said to be nested in, of its thread."""
    mapped = [row for row in rows if row['name'] == 'ivpu_mmu_context_map_sgt']
    pins = [(row['tid'], int(row['time']), int(row['time']) + int(row['duration'])) for row in rows
            if row['name'] == 'ivpu_bo_pin']
    check(mapped and pins, 'no buffers were mapped')
    for row in mapped:
        begin = int(row['time'])
        check(any(row['tid'] == thread and first <= begin and begin + int(row['duration']) <= last
                  for thread, first, last in pins), f'{row}')


def what_the_ring_buffer_cannot_take_is_lost():
    """iaprof stands still while calls come."""
    run = Run('functions=*', 'hot=yes', 'mode=events', 'buffer=64KiB')
    run.process.send_signal(signal.SIGSTOP)
    play('--load', SCENARIOS / 'two.txt')
    run.process.send_signal(signal.SIGCONT)
    run.end()
    lost = run.lost()['calls: ring buffer full']
    reported = len(run.rows['call'])
    expected = sum(entries for (_, name), (entries, _) in npu_double.calls()[0].items())
    # A turn may come between that and the end, with the calls of reading the NPU's files.
    check(0 < reported <= 64 * 1024 // 72 + 50, f'{reported} calls fit into 64 KiB')
    missed = run.lost()[npu_double.INTERRUPTED]
    # Of Linux's own work with the device there are calls before and after the scenario, too.
    check(expected - missed <= reported + lost <= expected + 2000, f'{reported} reported, {lost} lost, {missed} missed of {expected}')
    check('calls: ring buffer full' in run.said, run.said)
    return f'{reported} reported, {lost} lost of {expected}'


def open_in_threads(count, leave):
    """So many threads each open and close the device once, and are there until leave is set."""
    def open_device():
        os.close(os.open('/dev/accel/accel0', os.O_RDWR))
        opened.release()
        leave.wait()
    opened = threading.Semaphore(0)
    threads = [threading.Thread(target=open_device, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for _ in threads:
        opened.acquire()
    return threads


def more_threads_than_there_is_room_for():
    """Threads without calls make room for others, if need be when there is none."""
    threading.stack_size(65536)
    leave = threading.Event()
    run = Run('functions=*')
    threads = open_in_threads(2200, leave)
    time.sleep(2.5)  # until what is full has been seen
    threads += open_in_threads(500, leave)
    leave.set()
    for thread in threads:
        thread.join()
    run.end()
    lost = run.lost()['calls: too many threads in the driver']
    opens = sum(count for (_, name), (count, _) in run.calls().items() if name == 'ivpu_open')
    check(2700 - lost - run.lost()[npu_double.INTERRUPTED] <= opens <= 2700, f'{opens} opens, {run.lost()}')
    check(opens >= 2400, f'{opens} opens: no room was made; {run.lost()}')
    return f'{opens} of 2700, {lost} calls lost'


def calls_in_flight_are_reported():
    """iaprof ends while a process waits in the driver."""
    pathlib.Path('slow').write_text(npu_double.one_job(8000))
    run = Run('functions=*')
    with npu_double.play_in_background('slow'):
        time.sleep(1)  # from the job to the call that waits for it
        run.end()
    wait_until_asleep()
    lost = run.lost()
    lost.pop(npu_double.INTERRUPTED, 0)
    check(lost == {'calls: still in flight at the end': 1}, f'{run.lost()}')


def the_module_stays_while_it_is_watched():
    """The kernel keeps a module that has probes; nothing of it is missed."""
    run = Run('functions=*', 'hot=yes')
    play('--load', SCENARIOS / 'two.txt')
    outcome = subprocess.run(['rmmod', 'intel_vpu'], stderr=subprocess.PIPE, encoding='utf-8', check=False)
    print('#', outcome.stderr.strip())
    if outcome.returncode:
        compare(run.end())
        subprocess.run(['rmmod', 'intel_vpu'], check=True)
    else:
        run.end()
        check(run.calls(), 'nothing was counted')
    load()


def the_real_module():
    subprocess.run(['rmmod', 'intel_vpu'], check=True)
    status, said = profiler.refused('-s', 'ivpu:functions=*')
    check(status == 3 and 'not loaded' in said, f'{status}: {said}')
    subprocess.run(['modprobe', 'intel_vpu'], check=True)
    try:
        run = Run().end()
        said = run.metadata()
        check(int(said['functions attached'].split()[0]) >= 200, f'{said}')
        print(f'# {said}')
        run = Run('functions=ivpu_boot*').end()
        check(run.metadata()['functions attached'].startswith('1 '), f'{run.metadata()}')
    finally:
        subprocess.run(['rmmod', 'intel_vpu'], check=True)
        load()


def nothing_matches():
    status, said = profiler.refused('-s', 'ivpu:functions=nothing_*')
    check(status in (2, 3) and 'functions=nothing_*' in said and 'none of the' in said, f'{status}: {said}')
    status, said = profiler.refused('-s', 'ivpu:functions=ivpu_mmu_context_map_page')
    check(status in (2, 3) and 'hot=yes' in said, f'{status}: {said}')


# What depends on the Linux kernel runs on the older one, too.
OF_EACH_KERNEL = (every_way_to_attach, a_right_less, every_call_is_reported, the_real_module)
ALL = (steady_load, two_processes_are_kept_apart, interrupts_are_nobodys, every_way_to_attach, a_right_less, all_scenarios,
       the_published_trace, hot_functions_are_left_out, only_a_command, entries_alone, every_call_is_reported,
       what_the_ring_buffer_cannot_take_is_lost, more_threads_than_there_is_room_for, calls_in_flight_are_reported,
       the_module_stays_while_it_is_watched, the_real_module, nothing_matches)

LONG = {'two processes are kept apart', 'interrupts are nobodys', 'all scenarios', 'hot functions are left out',
        'only a command', 'more threads than there is room for', 'calls in flight are reported', 'the real module'}

sys.exit(run(named(*(OF_EACH_KERNEL if os.environ['LAB_KERNEL'] == '6.12' else ALL)), long=LONG) != 0)
