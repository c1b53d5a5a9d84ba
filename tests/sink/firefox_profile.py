# SPDX-License-Identifier: Apache-2.0
"""A profile of Firefox Profiler: valid by firefox_profile.schema.json, with tables whose columns have one length, and
indexes that are in range."""
import collections
import fractions
import gzip
import json
import pathlib

try:
    import jsonschema
except ImportError:
    jsonschema = None

from stacks import Skip, equal

SCHEMA = json.loads(pathlib.Path(__file__).with_name('firefox_profile.schema.json').read_text(encoding='utf-8'))

# name and file of a function, line of a frame, category of the stack, subcategory of the frame
Shown = collections.namedtuple('Shown', 'name file resource line category subcategory')


def columns(table, name):
    """Each column has the length of the table."""
    for column, items in table.items():
        if isinstance(items, list):
            equal(len(items), table['length'], f'{name}.{column}')


def refers(indexes, length, name, none=None):
    """Each index is below a length, or the value that stands for none."""
    wrong = [index for index in indexes if index != none and not 0 <= index < length]
    equal(wrong, [], f'{name}: indexes out of range')


class FirefoxProfile:
    """threads: as in the file; stack(): the frames of a stack, the root first."""

    def __init__(self, path):
        if not jsonschema:
            raise Skip('no python3-jsonschema')
        # Weights and times are exact decimals.
        self.file = json.loads(gzip.decompress(pathlib.Path(path).read_bytes()), parse_float=fractions.Fraction)
        self.meta, self.shared, self.threads = (self.file[name] for name in ('meta', 'shared', 'threads'))
        numbers = json.loads(gzip.decompress(pathlib.Path(path).read_bytes()))
        jsonschema.Draft7Validator(SCHEMA).validate(numbers)
        self.check_tables()
        self.check_threads()
        self.stacks = {}

    def check_tables(self):
        shared, libraries = self.shared, len(self.file['libs'])
        for name, table in shared.items():
            if name != 'stringArray':
                columns(table, name)
        frames, functions, resources, sources = (shared[name] for name in
                                                 ('frameTable', 'funcTable', 'resourceTable', 'sources'))
        texts = len(shared['stringArray'])
        equal(len(set(shared['stringArray'])), texts, 'texts are stored once')
        refers(shared['stackTable']['frame'], frames['length'], 'stackTable.frame')
        wrong = [offset for i, offset in enumerate(shared['stackTable']['prefixOffset']) if offset > i]
        equal(wrong, [], 'callers that are not before their callees')
        refers(frames['func'], functions['length'], 'frameTable.func')
        refers(frames['lib'], libraries, 'frameTable.lib', -1)
        categories = self.meta['categories']
        refers(frames['category'], len(categories), 'frameTable.category', None)
        for category, subcategory in zip(frames['category'], frames['subcategory']):
            equal(subcategory is None, category is None, 'subcategory')
            assert category is None or subcategory < len(categories[category]['subcategories']), 'subcategory'
        equal(set(frames['nativeSymbol'] + frames['originalLocation'] + functions['originalLocation']) - {None}, set(),
              'indexes of empty tables')
        refers(functions['name'], texts, 'funcTable.name')
        refers(functions['resource'], resources['length'], 'funcTable.resource', -1)
        refers(functions['source'], sources['length'], 'funcTable.source', None)
        refers(resources['name'], texts, 'resourceTable.name')
        refers(sources['filename'], texts, 'sources.filename')
        equal(resources['length'], libraries, 'resources')

    def check_threads(self):
        equal(len({thread['tid'] for thread in self.threads}), len(self.threads), 'IDs of threads')
        mains = collections.Counter(thread['pid'] for thread in self.threads if thread['isMainThread'])
        equal(mains, dict.fromkeys({thread['pid'] for thread in self.threads}, 1), 'main threads')
        for thread in self.threads:
            samples = thread['samples']
            columns(samples, 'samples')
            columns(thread['markers'], 'markers')
            refers(samples['stack'], self.shared['stackTable']['length'], 'samples.stack', None)
            equal(samples['time'], sorted(samples['time']), 'order of times')
        for name in 'initialVisibleThreads', 'initialSelectedThreads':
            refers(self.meta.get(name, []), len(self.threads), name)
        for counter in self.file['counters']:
            columns(counter['samples'], 'counter')
            equal(counter['samples']['time'], sorted(counter['samples']['time']), 'order of times of a counter')
            equal(self.threads[counter['mainThreadIndex']]['pid'], counter['pid'], 'process of a counter')

    def text(self, index):
        return self.shared['stringArray'][index]

    def stack(self, number):
        """-> the frames, the root first; a frame without a category has that of its caller"""
        if number is None:
            return ()
        if number not in self.stacks:
            table, frames, functions = (self.shared[name] for name in ('stackTable', 'frameTable', 'funcTable'))
            offset, frame = table['prefixOffset'][number], table['frame'][number]
            callers = self.stack(number - offset) if offset else ()
            function, category = frames['func'][frame], frames['category'][frame]
            source, resource = functions['source'][function], functions['resource'][function]
            name = self.meta['categories'][category]['name'] if category is not None else \
                callers[-1].category if callers else 'Other'
            self.stacks[number] = (*callers, Shown(
                self.text(functions['name'][function]),
                None if source is None else self.text(self.shared['sources']['filename'][source]),
                None if resource == -1 else self.text(self.shared['resourceTable']['name'][resource]),
                frames['line'][frame], name, None if category is None else
                self.meta['categories'][category]['subcategories'][frames['subcategory'][frame]]))
        return self.stacks[number]

    def samples(self, thread):
        """-> [(time in ms, frames, weight)]"""
        samples = thread['samples']
        return list(zip(samples['time'], map(self.stack, samples['stack']), samples['weight']))

    def values(self):
        """-> {name of a thread: {names of a stack: value}}, times in ns, all processes together"""
        found = collections.defaultdict(collections.Counter)
        for thread in self.threads:
            factor = 1_000_000 if thread['samples']['weightType'] == 'tracing-ms' else 1
            for _, frames, weight in self.samples(thread):
                found[thread['name']][tuple(frame.name for frame in frames)] += weight * factor
        return {name: dict(stacks) for name, stacks in found.items()}
