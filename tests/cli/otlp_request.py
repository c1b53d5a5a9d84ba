# SPDX-License-Identifier: Apache-2.0
"""Reads requests of OTLP by the field numbers of their definition, and holds profiles against its rules."""
import collections
import os
import sys

from harness import SOURCE, equal, require

sys.path.append(os.path.join(SOURCE, 'tests/sink'))

from protobuf import BYTES, DOUBLE, FIXED, NUMBER, NUMBERS, SIGNED, TEXT, message

VALUE = {1: ('string', TEXT), 3: ('int', NUMBER)}
PAIR = {1: ('key', TEXT), 2: ('value', VALUE)}
TYPE = {1: ('type', NUMBER), 2: ('unit', NUMBER)}
SAMPLE = {1: ('stack', NUMBER), 2: ('attributes', NUMBERS), 3: ('link', NUMBER), 4: ('values', NUMBERS)}
PROFILE = {1: ('sample_type', TYPE), 2: ('samples', SAMPLE), 3: ('time', FIXED), 4: ('duration', NUMBER),
           5: ('period_type', TYPE), 6: ('period', NUMBER), 7: ('id', BYTES)}
DICTIONARY = {1: ('mappings', {2: ('limit', NUMBER), 4: ('file', NUMBER), 5: ('attributes', NUMBERS)}),
              2: ('locations', {1: ('mapping', NUMBER), 2: ('address', NUMBER),
                                3: ('lines', {1: ('function', NUMBER), 2: ('line', NUMBER)}),
                                4: ('attributes', NUMBERS)}),
              3: ('functions', {1: ('name', NUMBER), 3: ('file', NUMBER)}),
              4: ('links', {1: ('trace', BYTES), 2: ('span', BYTES)}),
              5: ('strings', TEXT),
              6: ('attributes', {1: ('key', NUMBER), 2: ('value', VALUE)}),
              7: ('stacks', {1: ('locations', NUMBERS)})}
REQUEST = {1: ('resources', {1: ('resource', {1: ('attributes', PAIR)}),
                             2: ('scopes', {1: ('scope', {1: ('name', TEXT), 2: ('version', TEXT)}),
                                            2: ('profiles', PROFILE)})}),
           2: ('dictionary', DICTIONARY)}

POINT = {2: ('start', FIXED), 3: ('time', FIXED), 4: ('double', DOUBLE), 6: ('int', SIGNED), 7: ('attributes', PAIR)}
METRIC = {1: ('name', TEXT), 2: ('description', TEXT), 3: ('unit', TEXT), 5: ('gauge', {1: ('points', POINT)}),
          7: ('sum', {1: ('points', POINT), 2: ('temporality', NUMBER), 3: ('monotonic', NUMBER)})}
METRICS = {1: ('resources', {1: ('resource', {1: ('attributes', PAIR)}),
                             2: ('scopes', {1: ('scope', {1: ('name', TEXT), 2: ('version', TEXT)}),
                                            2: ('metrics', METRIC)})})}


def one(found, name, default=0):
    values = found.get(name, [default])
    require(len(values) == 1, f'{name}: {values}')
    return values[0]


Metric = collections.namedtuple('Metric', 'unit kind points')


def pairs_of(found):
    """-> {key: text} of attributes, whose keys are unique"""
    pairs = [(one(pair, 'key'), one(one(pair, 'value'), 'string')) for pair in found.get('attributes', [])]
    require(len(dict(pairs)) == len(pairs), f'a key occurs twice: {pairs}')
    return dict(pairs)


def metrics_of(data):
    """-> attributes of the resource, {name: Metric}, where points are {(attributes): value}"""
    resource = one(message(data, METRICS), 'resources')
    metrics = {}
    for metric in one(resource, 'scopes')['metrics']:
        name, summed = one(metric, 'name'), one(metric, 'sum', None)
        kind = 'gauge' if summed is None else 'counter' if one(summed, 'monotonic') else 'sum'
        require(summed is None or one(summed, 'temporality') == 2, f'{name}: temporality')
        require(name not in metrics and one(metric, 'description'), f'{name}: twice, or without a description')
        points = {}
        for point in (one(metric, 'gauge') if summed is None else summed)['points']:
            require(one(point, 'time') and (kind == 'gauge' or 0 < one(point, 'start') <= one(point, 'time')), f'{name}: times')
            key = tuple(sorted(pairs_of(point).items()))
            require(key not in points, f'{name}: {key} occurs twice')
            points[key] = one(point, 'double') if 'double' in point else one(point, 'int')
        metrics[name] = Metric(one(metric, 'unit'), kind, points)
    return pairs_of(one(resource, 'resource', {})), metrics


class Request:
    """profiles: (attributes of the resource, type, unit, period type, period, {(attributes, stack): value})
    where a stack has the names of its functions, the root first, and 'link' is an attribute: ids of trace and span."""

    def __init__(self, data):
        found = message(data, REQUEST)
        self.tables = one(found, 'dictionary')
        self.used = collections.defaultdict(lambda: {0})
        self.check_first_elements()
        self.profiles = [self.profile(one(resource, 'resource', {}), profile) for resource in found['resources']
                         for profile in self.scope(resource)['profiles']]
        self.check_tables()

    def check_first_elements(self):
        for name in ('mappings', 'locations', 'functions', 'stacks', 'attributes'):
            require(not self.tables[name][0], f'{name}[0] is not empty')
        require(self.tables['strings'][0] == '', 'not as the format has it')
        link = self.tables['links'][0]
        require(one(link, 'trace') == bytes(16) and one(link, 'span') == bytes(8), 'the first link is not empty')

    def check_tables(self):
        """No duplicates, and nothing that nobody refers to."""
        for name, items in self.tables.items():
            require(len({repr(item) for item in items}) == len(items), f'{name} has duplicates')
            orphans = set(range(len(items))) - self.used[name]
            require(not orphans, f'{name}: nobody refers to {sorted(orphans)[:5]} of {len(items)}')

    def get(self, table, index):
        self.used[table].add(index)
        require(index < len(self.tables[table]), f'{table}[{index}]')
        return self.tables[table][index]

    def text(self, found, name):
        return self.get('strings', one(found, name))

    def attributes(self, found):
        pairs = []
        for index in found.get('attributes', []):
            require(index, 'attribute 0')
            attribute = self.get('attributes', index)
            value = one(attribute, 'value')
            pairs.append((self.text(attribute, 'key'), one(value, 'string') if 'string' in value else one(value, 'int')))
        require(len({key for key, _ in pairs}) == len(pairs), f'a key occurs twice: {pairs}')
        return dict(pairs)

    @staticmethod
    def scope(resource):
        scoped = one(resource, 'scopes')
        require(one(one(scoped, 'scope'), 'name') == 'iaprof', 'scope')
        return scoped

    def type(self, profile, name):
        return self.text(one(profile, name), 'type'), self.text(one(profile, name), 'unit')

    def frames(self, location):
        mapping = self.get('mappings', one(location, 'mapping'))
        self.text(mapping, 'file')
        self.attributes(mapping)
        self.attributes(location)
        for line in reversed(location['lines']):
            function = self.get('functions', one(line, 'function'))
            self.text(function, 'file')
            yield self.text(function, 'name')

    def sample(self, sample):
        stack = self.get('stacks', one(sample, 'stack'))
        names = tuple(name for index in reversed(stack['locations'])
                      for name in self.frames(self.get('locations', index)))
        return tuple(sorted({**self.attributes(sample), **self.link(sample)}.items())), names

    def link(self, sample):
        index = one(sample, 'link')
        link = self.get('links', index)
        ids = one(link, 'trace'), one(link, 'span')
        equal(tuple(map(len, ids)), (16, 8), 'ids of a link')
        require(not index or all(map(any, ids)), f'link {index} is of no span')
        return {'link': tuple(part.hex() for part in ids)} if index else {}

    def profile(self, resource, profile):
        pairs = [(one(pair, 'key'), one(one(pair, 'value'), 'string')) for pair in resource.get('attributes', [])]
        require(len(dict(pairs)) == len(pairs), pairs)
        require(len(one(profile, 'id')) == 16, 'id of a profile')
        values, identities = collections.Counter(), set()
        for sample in profile['samples']:
            identity = one(sample, 'stack'), tuple(sorted(sample['attributes'])), one(sample, 'link')
            require(identity not in identities, f'two samples of {identity}')
            identities.add(identity)
            values[self.sample(sample)] += one(sample, 'values')
        return (dict(pairs), *self.type(profile, 'sample_type'), *self.type(profile, 'period_type')[:1],
                one(profile, 'period'), values)
