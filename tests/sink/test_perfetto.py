#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink perfetto: each slice and value of a trace by how its records were made, read by the rules of the format, and
in Perfetto's trace processor where that is (perfetto_trace.py). TAP."""
import collections
import os
import pathlib
import re
import subprocess
import sys

from perfetto_trace import BOOTTIME, MONOTONIC, REALTIME, Trace, agree, ask, can_ask
from stacks import (LINUX_KERNEL, LOST, PROGRAM, USER, Frame, Times, equal, module, record, run_cases, span_words,
                    write_profile)

from harness.cases import Skip  # where it is, stacks.py says

# enum iaprof_job_state, iaprof_process_event, iaprof_call_kind, iaprof_activity_kind, of include/iaprof/record.h
DONE, ABORTED, IN_FLIGHT = 1, 2, 3
GPU, NPU = 1, 2
EXISTING, FORK, EXEC, NAME, EXIT = 1, 2, 3, 4, 5
API, IOCTL, FUNCTION, CONTEXT = 1, 2, 3, 4
SCHEDULER, STATISTICS = 1, 2
SECOND, MS = 1000000000, 1000000
START = 1000 * SECOND  # of the trace
THREAD = ('process 7', 'thread 8')
DEVICE = 'Intel NPU (0000:00:0b.0)'
NAMES = ['</script>', '"quoted" \\ back', '🔥', 'a' * 10000, b'\xff\xfe', b'\x1b[31m', 'new\nline', 'f(int&&)::g<T>',
         '\u2028']


def at(milliseconds):
    return START + round(milliseconds * MS)


def write(records, types=(), lost=(), options=(), stacks=(), **how):
    """Every trace is held against what the trace processor makes of it."""
    trace = Trace(write_profile('perfetto', pathlib.Path('out.pftrace'), types, stacks, lost=lost, options=options,
                                records=records, **how))
    if can_ask():
        agree(trace)
    return trace


def call(name, begin, duration, depth=0, parent='', pid=7, tid=8, count=1, **more):
    return record('call', source=1, time=at(begin), first_time=at(begin), duration=round(duration * MS), name=name,
                  depth=depth, pid=pid, tid=tid, count=count, **({'parent': parent} if parent else {}), **more)


def job(number, submitted, queued, started, end, pid=7, state=DONE, **more):
    times = {name: at(time) for name, time in (('submitted', submitted), ('queued', queued), ('started', started))
             if time is not None}
    return record('job', source=1, time=at(end), id=number, pid=pid, device=1, engine='compute', state=state, **times,
                  **more)


def setting(**of_device):
    return [record('source', number=1, name='ivpu'),
            record('device', source=1, id=1, name='Intel NPU', address='0000:00:0b.0', **of_device),
            record('process', pid=7, event=EXISTING, name='model')]


def drawn(slices):
    """-> (name, begin, duration, depth), times in ms"""
    return [(item.name, (item.begin - START) / MS, item.duration / MS, item.depth) for item in slices]


def calls_nest_on_their_thread(_):
    """They are sent when they end, the inner ones first, and may begin and end at the same time."""
    trace = write([*setting(), call('inner', 10, 5, 2, 'middle'), call('last', 15, 5, 2, 'middle'),
                   call('middle', 10, 10, 1, 'outer'), call('outer', 10, 20, result=-22),
                   call('next', 30, 1), call('other', 12, 30, tid=9)])
    equal(drawn(trace.on(*THREAD)), [('outer', 10, 20, 0), ('middle', 10, 10, 1), ('inner', 10, 5, 2),
                                     ('last', 15, 5, 2), ('next', 30, 1, 0)], 'calls')
    equal(drawn(trace.on('process 7', 'thread 9')), [('other', 12, 30, 0)], 'calls of the other thread')
    outer, middle, *_ = trace.on(*THREAD)
    equal(outer.values, {'result': -22, 'self (ns)': 0}, 'attributes of a call')
    equal(middle.values['inside of'], 'outer', 'the call around it')
    equal(trace.processes, {7: 'model'}, 'processes')


def threads_of_calls_and_jobs_have_names(_):
    """Where the source knows them; the main thread has the name of its process."""
    trace = write([*setting(), call('first', 10, 5, thread_name='worker'), call('main', 10, 5, tid=7, thread_name='x'),
                   call('other', 10, 5, tid=9), job(1, 0, 1, 2, 10, tid=11, thread_name='submitter'),
                   job(2, 11, 12, 13, 14)])
    equal(trace.threads, {(7, 8): 'worker', (7, 7): 'model', (7, 9): None}, 'names')
    equal([item.values.get('thread') for item in trace.on(DEVICE, 'compute')], ['submitter', None], 'threads of jobs')


def a_call_waits_for_the_one_around_it(_):
    """Ten seconds is longer than names take; what does not nest gets a lane of its own."""
    syncs = [record('sync', time=at(1000 * second)) for second in range(11)]
    trace = write([*setting(), call('inner', 10, 5, 1, 'outer'), *syncs, call('outer', 0, 10000),
                   record('sync', time=at(60000)), call('late', 20, 20000)])
    equal(drawn(trace.on(*THREAD)), [('outer', 0, 10000, 0), ('inner', 10, 5, 1)], 'calls')
    equal(drawn(trace.on(*THREAD, 'calls')), [('late', 20, 20000, 0)], 'what came too late to be around others')


def a_call_in_a_context_waits_for_nothing(_):
    trace = write([*setting(), record('call_function', source=1, id=1, name='[interrupt]', kind=CONTEXT),
                   call('irq', 10, 5, 1, '[interrupt]', pid=0, tid=0), call('irq', 20, 5, 1, '[interrupt]', pid=0,
                                                                            tid=0)])
    equal(drawn(trace.on('calls of no program')), [('irq', 10, 5, 0), ('irq', 20, 5, 0)], 'calls')


def a_call_without_a_duration_is_an_instant(_):
    trace = write([*setting(), call('outer', 10, 0), call('inner', 10, 0, 1, 'outer'),
                   call('inner', 10.000001, 0, 1, 'outer')])
    equal([(name, begin) for name, begin, *_ in drawn(trace.on(*THREAD))],
          [('outer', 10), ('inner', 10), ('inner', 10.000001)], 'calls')


def sums_of_calls_are_rates(_):
    """100 calls in a tenth of a second are 1,000 a second; a sum of one is none the less a sum where all are sums."""
    many = call('many', 100, 50, count=100).replace(f'first_time={at(100)}', f'first_time={at(0)}')
    trace = write([*setting(), many, call('single', 40, 5)])
    equal(drawn(trace.on(*THREAD)), [('single', 40, 5, 0)], 'slices')
    (first, value), (last, end) = trace.counters['ivpu', 'many']
    equal((first, round(value, 6), last, end), (at(0), 1000, at(100), 0), 'calls a second')
    trace = write([*setting(), record('metadata', source=1, key='mode', value='count'), many, call('single', 40, 5)])
    equal(trace.slices[0].name, 'run', 'the only slice')
    equal([len(trace.slices), round(trace.total('ivpu', 'single'), 9)], [1, 1], 'slices and calls')
    equal(trace.units['ivpu', 'many'], 'calls/s', 'unit')


def jobs_wait_and_run(_):
    """Two wait at once, so there are two lanes; the third began when the second was over, as nobody said when."""
    trace = write([*setting(), job(1, 0, 1, 2, 10), job(2, 1, 3, 10, 20), job(3, 4, 5, None, 25, status=0),
                   job(4, 30, None, None, 40, state=ABORTED, status=4), job(9, None, None, None, 50, state=IN_FLIGHT)])
    runs = trace.on(DEVICE, 'compute')
    equal([(begin, duration) for _, begin, duration, _ in drawn(runs)], [(2, 8), (10, 10), (20, 5), (30, 10), (50, 0)],
          'runs')
    equal([item.values['job'] for item in runs], [1, 2, 3, 4, 9], 'numbers')
    equal([(item.values['state'], item.values['status']) for item in runs[3:]], [('aborted', 4), ('in flight', 0)],
          'states')
    equal({item.name for item in runs}, {'job of model'}, 'names')
    waits = trace.on('process 7', 'jobs that wait')
    equal(drawn(waits), [('job waits', 0, 2, 0), ('job waits', 1, 9, 0), ('job waits', 4, 16, 0)], 'waits')
    equal([item.flow for item in waits], [item.flow for item in runs[:3]], 'what joins the parts of a job')
    equal(len({item.flow for item in runs}), 5, 'jobs')
    equal('begin of work' in runs[2].values and 'begin of work' not in runs[1].values, True, 'unknown begin of work')


def launches_have_the_names_that_come_later(_):
    process = 'process 7'
    trace = write([*setting(), record('device', source=3, id=1, name='GPU', machine=205, kind=GPU),
                   record('kernel', source=2, id=5, code_object=3, pid=7, name='_ZTS6matmul'),
                   record('kernel', source=2, id=6, pid=7, name='plain'),
                   record('launch', source=2, time=at(10), first_time=at(10), kernel=5, pid=7, tid=8, count=1,
                          user_stack=4, **span_words('0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331')),
                   record('launch', source=2, time=at(90), first_time=at(20), kernel=6, pid=7, count=12),
                   record('launch', source=2, time=at(95), first_time=at(30), kernel=6, pid=7, count=3),
                   record('code_function', source=2, code_object=3, name='_ZTS6matmul', shown_name='matmul', flags=1),
                   record('stack_frames', stack=4, pid=7, frame_count=['main', 'run;it'])])
    one, = trace.on(*THREAD, 'GPU kernel launches')
    equal((one.name, one.begin, one.duration, one.values['count']), ('matmul', at(10), 0, 1), 'one launch')
    equal(one.values['stack'].split(';')[0], 'main', 'the outermost function')
    equal(one.values['stack'].count(';'), 1, 'functions')
    equal((one.values['trace_id'], one.values['span_id']), ('0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'), 'span')
    equal(drawn(trace.on(process, 'GPU kernel launches')),
          [('plain (12 launches)', 20, 70, 0), ('plain (3 launches)', 30, 65, 0)], 'sums of launches')


def executions_have_the_names_of_their_kernels(_):
    """Without a device that executes code, launches are of no known kind."""
    trace = write([*setting(), record('kernel', source=1, id=5, pid=7, name='matmul'),
                   job(1, None, None, 2, 10, kernel=5, time_type=9), job(2, 3, None, 10, 12, kernel=6, time_type=9),
                   record('launch', source=1, time=at(1), first_time=at(1), kernel=5, pid=7, count=1)])
    equal(drawn(trace.on(DEVICE, 'compute')), [('matmul', 2, 8, 0), ('[unknown kernel]', 10, 2, 0)], 'executions')
    equal(drawn(trace.on('process 7', 'jobs that wait')), [('[unknown kernel] waits', 3, 7, 0)], 'waits')
    equal(len(trace.on('process 7', 'kernel launches')), 1, 'launches')


def counters_have_their_values(_):
    trace = write([*setting(), record('counter', source=1, id=1, name='memory', unit='bytes', kind=1, device=1),
                   record('counter', source=1, id=2, name='rows', unit='count', kind=2),
                   *(record('counter_value', source=1, time=at(time), counter=number, value=value)
                     for time, number, value in ((1, 1, 5.5), (2, 2, 10), (3, 1, 0), (4, 2, 1e18), (5, 1, -2)))])
    equal(trace.counters[DEVICE, 'memory'], [(at(1), 5.5), (at(3), 0), (at(5), -2)], 'a level')
    equal(trace.counters['ivpu', 'rows'], [(at(2), 10), (at(4), 1e18)], 'a sum')
    equal((trace.units[DEVICE, 'memory'], trace.units['ivpu', 'rows']), ('bytes', 'count'), 'units')


def samples_are_a_rate_of_each_reason(_):
    """Intervals of 10 ms, which the steps do not begin with; each has several addresses. A later one has nothing."""
    samples, sums, name = [], collections.Counter(), 'NPU samples (tile-time)'
    for interval in range(50):
        for address in range(4):
            counts = [interval * address, 7 if address == 2 else 0, 0]
            sums['control'] += counts[0]
            sums['sbid'] += counts[1]
            samples.append(record('stall_sample', source=1, time=at(3 + 10 * (interval + 1)),
                                  begin=at(3 + 10 * interval),
                                  address=address, device=1, reason_count=counts))
    reasons = [record('stall_reason', source=1, id=number, name=name) for number,
               name in enumerate(('control', 'sbid', 'none'))]
    for options, gap in ((), 20), (['step=3ms'], 3):
        trace = write([*setting(kind=NPU, sample_unit='tile'), *reasons, *reversed(samples), record('stall_sample', source=1, time=at(2000),
                                                                        begin=at(1990),
                                                                        device=1, reason_count=[40, 0, 0])],
                                                                        options=options)
        for reason, more in ('control', 40), ('sbid', 0):
            equal(round(trace.total(DEVICE, f'{name}: {reason}'), 6), sums[reason] + more, reason)
        equal(round(trace.total(DEVICE, name), 6), sum(sums.values()) + 40, 'samples')
        equal(trace.units[DEVICE, name], 'samples/s', 'unit')
        assert (DEVICE, f'{name}: none') not in trace.counters, 'a reason that was never counted'
        points = trace.counters[DEVICE, name]
        assert any(value == 0 and at(500) < time <= at(503 + gap) for time, value in points), 'it does not end'
        assert at(0) <= points[0][0] <= at(3) and at(2000) <= points[-1][0] <= at(2000 + gap), points


def a_device_is_busy(_):
    trace = write([*setting(), record('device_activity', source=1, time=at(40), begin=at(0), busy=30 * MS, device=1,
                                      pid=7,
                                      kind=SCHEDULER),
                   record('device_activity', source=1, time=at(40), begin=at(0), busy=4 * MS, device=1, pid=7,
                          kind=STATISTICS)])
    (time, value), end = trace.counters[DEVICE, 'busy']
    equal((time, round(value, 9), end), (at(0), 75, (at(40), 0)), 'share of time')
    equal(round(trace.total(DEVICE, 'busy, by statistics'), 9), 100 * 0.004, 'what statistics say')


def cpu_samples_are_cpus_in_use(_):
    """Ten samples of 10 ms, one after the other, and one of another process at the same time."""
    trace = write([*setting(), record('value_type', id=1, name='cpu', unit='nanoseconds', period=10 * MS),
                   record('sample', source=2, time=at(110), first_time=at(20), pid=7, value_type=1, count=10,
                          value=100 * MS),
                   record('sample', source=2, time=at(110), first_time=at(110), pid=9, value_type=1, count=1,
                          value=10 * MS)],
                  options=['step=10ms'])
    equal([(time, round(value, 9)) for time, value in trace.counters['process 7', 'CPU time']], [(at(10), 1), (at(110), 0)],
          'one')
    equal([(time, round(value, 9)) for time, value in trace.counters['CPU time of all processes',]],
          [(at(10), 1), (at(100), 2), (at(110), 0)], 'all')
    equal(trace.units['process 9', 'CPU time'], 'CPUs', 'unit')


def waits_are_threads_that_wait(_):
    """Three threads wait for 100 ms each."""
    trace = write([*setting(), record('value_type', id=1, name='off-cpu', unit='nanoseconds'),
                   record('value_type', id=2, name='faults', unit='count'),
                   *(record('sample', source=2, time=at(110), first_time=at(110), pid=7, value_type=1, count=1,
                            value=100 * MS) for _ in range(3)),
                   record('sample', source=2, time=at(110), first_time=at(10), pid=7, value_type=2, count=6, value=6)],
                  options=['step=10ms'])
    equal([(time, round(value, 9)) for time, value in trace.counters['process 7', 'waiting']], [(at(10), 3), (at(110), 0)],
          'waits')
    equal([trace.units['process 7', name] for name in ('waiting', 'faults')], ['threads', 'samples/s'], 'units')


def what_is_missing_is_stated(_):
    trace = write([*setting(), record('lost', source=1, time=at(5), begin=at(1), count=12, reason='ring full'),
                   record('lost', source=1, time=at(6), begin=at(6), count=2**64 - 1, reason='nobody knows'),
                   record('finding', source=1, time=at(7), severity=2, name='npu-hang', text='a job hangs', value=6,
                          threshold=5)],
                  lost=[(12, 'ivpu', 'ring full')])
    known, unknown = trace.on('lost')
    equal((known.name, known.begin, known.values),
          ('lost: ring full', at(5), {'source': 'ivpu', 'count': 12, 'within (ns)': 4 * MS}), 'a loss')
    equal(unknown.values['count'], 'not known', 'a loss that nobody counted')
    finding, = trace.on('findings')
    equal((finding.name, finding.values),
          ('npu-hang', {'text': 'a job hangs', 'severity': 'warning', 'value': 6, 'threshold': 5}), 'a finding')
    run, = trace.on('iaprof')
    equal((run.begin, run.begin + run.duration), (1000, 5000001000), 'the run')  # as tests/plugin/test_profile.c has it
    equal([run.values['lost: ivpu: ring full'], trace.attributes['lost: ivpu: ring full']], ['12', '12'], 'in all')


def clocks_are_those_of_the_run(_):
    here = pathlib.Path('/proc/sys/kernel/random/boot_id').read_text(encoding='ascii').strip()
    for boot_id in here, '00000000-0000-0000-0000-000000000000':
        trace = write([record('metadata', time=START, key='realtime offset', value='1700000000000000000'),
                       record('metadata', time=START, key='boot id', value=boot_id)])
        first, clocks = trace.clocks
        equal(set(first), {MONOTONIC}, 'clocks before anything is known')
        equal((clocks[MONOTONIC], clocks[REALTIME]), (START, START + 1700000000000000000), 'clocks')
        equal(BOOTTIME in clocks, boot_id == here, 'time since this machine was started')


def a_pid_is_used_again(_):
    trace = write([*setting(), call('one', 0, 5), record('sync', time=at(9000)), record('process', pid=7, event=EXIT),
                   record('process', pid=7, event=FORK, name='other'), call('two', 10000, 5),
                   record('sync', time=at(20000)), record('process', pid=7, event=EXEC, name='third'),
                   call('three', 30000, 5)])
    equal(drawn(trace.on(*THREAD)), [('one', 0, 5, 0), ('two', 10000, 5, 0), ('three', 30000, 5, 0)], 'calls')
    equal(len({number for number, path in trace.tracks.items() if path == THREAD}), 2, 'threads')


def hostile_names_are_text(_):
    records = setting()
    for number, name in enumerate(NAMES):
        records += [record('process', pid=100 + number, event=EXISTING, name=name),
                    record('device', source=3, id=number + 1, name=name),
                    record('counter', source=3, id=number + 1, name=name, unit=name, kind=1, device=number + 1),
                    record('counter_value', source=3, time=at(1), counter=number + 1, value=1),
                    record('metadata', source=3, key=name, value=name), call(name, number, 0.5, pid=100 + number)]
    trace = write(records, lost=[(1, '\x1b[2J', '</script>')])
    texts = [text for item in trace.slices for text in (item.name, *item.values, *map(str, item.values.values()))]
    texts += [text for path in trace.tracks.values() for text in path if text] + list(trace.attributes)
    assert not any(re.search('[\x00-\x1f\x7f\u2028]', text) for text in texts), texts
    equal(len([item for item in trace.slices if item.track[0].startswith('process 10')]), len(NAMES), 'calls')
    assert 'f(int&&)::g<T>' in texts and '🔥' in texts and 'a' * 10000 in texts, 'a name is another one'


def times_that_make_no_sense_do_no_harm(_):
    """Backwards, at both ends of time, and across each other on one thread. The trace processor has signed times."""
    end = 2**63 - 1
    records = [*setting(), job(1, 50, 40, 30, 20), job(2, 0, 100, 5, 60), call('whole', 0, 1),
               record('call', source=1, time=end - 1, first_time=1, duration=0, name='far', pid=7, tid=8, count=1),
               record('launch', source=1, time=5, first_time=at(9), kernel=99, pid=7, count=2),
               record('stall_sample', source=1, time=at(1), begin=at(9), device=5, reason_count=[3]),
               record('stall_sample', source=1, time=0, begin=0, device=5, reason_count=[4]),
               record('device_activity', source=1, time=at(1), begin=0, busy=2**62, device=1, kind=SCHEDULER),
               *(call(f'cut {number}', number, 10) for number in range(30))]
    trace = write(records)
    lanes = collections.Counter(item.track for item in trace.slices if item.name.startswith('cut'))
    equal(sum(lanes.values()), 30, 'calls that cut each other')
    equal(max(item.depth for item in trace.slices if item.name.startswith('cut')), 0, 'depth of what does not nest')
    equal(round(trace.total('device 5', 'GPU samples'), 6), 7, 'samples')


def what_has_no_lane_is_reported(_):
    """64 lanes at most: of 100 jobs that wait at once 36 cannot be drawn, and the run goes on."""
    trace = write([*setting(), *(job(number, number, number, 1000 + number, 1001 + number) for number in range(100))])
    equal(len(trace.on('process 7', 'jobs that wait')), 64, 'jobs that wait')
    equal(len(trace.on(DEVICE, 'compute')), 100, 'jobs')
    equal(trace.attributes.get('slices not drawn'), '36', 'what the trace says of it')


def texts_are_repeated(_):
    """More names than are kept: definitions are forgotten, and written again."""
    names = [f'function {number}' for number in range(20000)]
    trace = write([*setting(), *(call(name, number, 0.5, tid=8) for number, name in enumerate([*names, names[0]]))])
    equal([item.name for item in trace.on(*THREAD)], [*names, names[0]], 'calls')


def an_empty_run_is_a_trace(_):
    trace = write([])
    equal([item.name for item in trace.slices], ['run'], 'slices')


def samples_have_stacks_and_times(_):
    """Those of a slot are spread over it; the main thread has the name of its process, as far as it is known."""
    def stack(name, kind=USER, pid=7):
        return [Frame('model', PROGRAM, pid=pid), Frame('main'), Frame(name, kind)]

    times = Times(end=START + SECOND, width=20 * MS)
    stacks = [module('/opt/model', 'c0ffee01'), (0, 30, stack('left'), at(20)), (0, 1, stack('right'), at(40)),
              (0, 2, stack('read', LINUX_KERNEL), at(0)), (0, 1, stack('main', pid=9), at(60)),
              (0, 3, [Frame('[lost]', LOST), Frame('ivpu', LOST)])]
    trace = write(setting(), types=[('cpu', 'count')], stacks=stacks, times=times)
    main = (('', 'model'), ('/opt/model', 'main'))
    equal([(item.time, item.pid, item.tid, item.mode, item.stack) for item in trace.samples if item.pid != 9], [
        *((at(5 + 10 * i), 7, 7, 1, (*main, ('/kernel', 'read'))) for i in range(2)),
        *((at(20) + 20 * MS * (2 * i + 1) // 60, 7, 7, 2, (*main, ('/opt/model', 'left'))) for i in range(30)),
        (at(50), 7, 7, 2, (*main, ('/opt/model', 'right')))], 'samples')
    equal({(item.type, item.period) for item in trace.samples}, {('cpu', 1)}, 'what a sample is')
    equal(trace.build_ids, {'/opt/model': bytes.fromhex('c0ffee01')}, 'build ids')
    equal((trace.processes[7], trace.threads), ('model', {(7, 7): 'model', (9, 9): ''}), 'names')


def many_values_are_fewer_samples(_):
    """At most 131,072 of a value type: of 40,000,000 each stands for 1,000."""
    stacks = [(0, value, [Frame('model', PROGRAM, pid=7), Frame(name)])
              for name, value in (('hot', 39_990_000), ('warm', 9_600), ('cold', 400))]
    trace = write(setting(), types=[('gpu-stalls', 'count'), ('other', 'count')],
                  stacks=[*stacks, (1, 3, [Frame('model', PROGRAM, pid=7), Frame('cold')])])
    counts = collections.Counter((item.type, item.period, item.stack[-1][1]) for item in trace.samples)
    equal(counts, {('gpu-stalls', 1000, 'hot'): 39990, ('gpu-stalls', 1000, 'warm'): 10, ('other', 1, 'cold'): 3},
          'samples')
    equal(trace.attributes['value of one sample: gpu-stalls'], '1000', 'what a sample stands for')


def samples_of_the_demo_are_its_folded_stacks(_):
    """By SQL in Perfetto's trace processor: each stack within half a sample of its value."""
    if not can_ask():
        raise Skip('TEST_PERFETTO names no folder with a trace processor')
    demo = pathlib.Path(os.environ['TEST_SOURCE_FOLDER'], 'examples/demo.iaprof')
    subprocess.run([os.environ['TEST_IAPROF'], '-q', '--replay', demo, '-k', 'perfetto:output=demo.pftrace', '-k',
                    'folded:output=demo.folded,annotate=no,pid=no'], check=True)
    wrong, periods, rows = ask('demo.pftrace', "select name from stats where value != 0 and severity != 'info'",
                               "select name, str_value from metadata where name glob 'trace_attribute.value of one sample*'",
                               'with recursive up(leaf, id, parent, text) as ('
                               'select c.id, c.id, c.parent_id, f.name from stack_profile_callsite c '
                               'join stack_profile_frame f on f.id = c.frame_id union all '
                               "select leaf, c.id, c.parent_id, f.name || ';' || text from up "
                               'join stack_profile_callsite c on c.id = up.parent '
                               'join stack_profile_frame f on f.id = c.frame_id) '
                               'select text, perf_session_id as session, count(*) as count from perf_sample '
                               'join up on leaf = callsite_id where up.parent is null group by 1, 2')
    equal(wrong, [], 'what the trace processor complains of')
    files = {'NPU driver time': 'npu-time', 'NPU driver calls': 'npu-calls', 'CPU time': 'cpu', 'GPU samples': 'gpu-stalls'}
    periods = {files[row['name'].rpartition(': ')[2]]: int(row['str_value'].split()[0]) for row in periods}
    equal(set(periods), set(files.values()), 'value types')
    by_session = collections.defaultdict(dict)
    for row in rows:
        by_session[int(row['session'])][row['text']] = int(row['count'])
    sessions = list(by_session.values())
    for name, period in periods.items():
        lines = pathlib.Path(f'demo.{name}.folded').read_text(encoding='utf-8').splitlines()
        wanted = {stack: int(value) for stack, value in (line.rsplit(' ', 1) for line in lines)
                  if not stack.startswith('[lost]')}
        found, = (session for session in sessions if session.keys() <= wanted.keys() and
                  abs(sum(session.values()) * period - sum(wanted.values())) <= len(wanted) * period / 2)
        off = {stack: (found.get(stack, 0) * period, value) for stack, value in wanted.items()
               if abs(found.get(stack, 0) * period - value) > period / 2}
        equal(off, {}, f'{name}: stacks whose samples are not their value')
        if name == 'cpu':
            equal(sum(found.values()) * period, sum(wanted.values()), 'CPU samples are not rounded')


# A trace of the driver's calls, as bpftrace writes it.
DRIVER = ['ivpu_submit_ioctl', 'ivpu_bo_pin', 'ivpu_mmu_context_map_sgt', 'ivpu_mmu_context_map_page',
          'ivpu_hw_irq_handler']


def run_trace(lines, mode, path='driver.pftrace'):
    pathlib.Path('driver.txt').write_text(''.join(f'{line}\n' for line in lines), encoding='ascii')
    source = f'ivpu-trace:input=driver.txt,time-unit=ns,mode={mode}'
    with subprocess.Popen([os.environ['TEST_IAPROF'], '-q', '-s', source, '-k', f'perfetto:output={path}']) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    equal(process.returncode, 0, 'status of the run')
    return usage.ru_maxrss


def a_trace_of_the_driver_has_every_call(_):
    names = [DRIVER[number % 5] for number in range(5000)]
    run_trace([f'{number * MS} kprobe:intel_vpu:{name}' for number, name in enumerate(names)], 'events')
    trace = Trace('driver.pftrace')
    calls = sorted((item for item in trace.slices if item.name in DRIVER), key=lambda item: item.begin)
    equal([item.name for item in calls], names, 'calls')
    equal([item.begin - calls[0].begin for item in calls], [number * MS for number in range(5000)], 'times')
    if can_ask():
        agree(trace)
    run_trace([f'{number * MS} kprobe:intel_vpu:{name}' for number, name in enumerate(names)], 'count')
    trace = Trace('driver.pftrace')
    equal([item for item in trace.slices if item.name in DRIVER], [], 'calls that are sums')
    equal({name: round(trace.total('ivpu-trace', name), 6) for name in DRIVER}, dict.fromkeys(DRIVER, 1000), 'sums')
    if can_ask():
        agree(trace)


def the_trace_processor_has_seen_them_all(_):
    if not can_ask():
        raise Skip('TEST_PERFETTO names no folder with a trace processor: only the rules of the format were tried')
    wrong, attributes = ask(write([], lost=[(3, 'ivpu', 'ring full')]).path,
                            "select name from stats where value != 0 and severity != 'info'",
                            "select name, str_value from metadata where name glob 'trace_attribute.lost*'")
    equal((wrong, attributes), ([], [{'name': 'trace_attribute.lost: ivpu: ring full', 'str_value': '3'}]),
          'what is lost')


CASES = [calls_nest_on_their_thread, threads_of_calls_and_jobs_have_names, a_call_waits_for_the_one_around_it, a_call_in_a_context_waits_for_nothing,
         a_call_without_a_duration_is_an_instant, sums_of_calls_are_rates, jobs_wait_and_run,
         launches_have_the_names_that_come_later, executions_have_the_names_of_their_kernels,
         counters_have_their_values, samples_are_a_rate_of_each_reason,
         a_device_is_busy, cpu_samples_are_cpus_in_use, waits_are_threads_that_wait, what_is_missing_is_stated, clocks_are_those_of_the_run,
         a_pid_is_used_again, hostile_names_are_text, times_that_make_no_sense_do_no_harm, what_has_no_lane_is_reported,
         texts_are_repeated, an_empty_run_is_a_trace, a_trace_of_the_driver_has_every_call,
         samples_have_stacks_and_times, many_values_are_fewer_samples, samples_of_the_demo_are_its_folded_stacks,
         the_trace_processor_has_seen_them_all]

if __name__ == '__main__':
    chosen = [case for case in CASES if not sys.argv[1:] or case.__name__ in sys.argv[1:]]
    sys.exit(run_cases(chosen, None) != 0)
