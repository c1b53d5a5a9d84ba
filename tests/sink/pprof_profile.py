# SPDX-License-Identifier: Apache-2.0
"""Samples of a profile of pprof, by the field numbers of profile.proto."""
import protobuf

SAMPLE = {1: ('location', protobuf.NUMBERS), 2: ('value', protobuf.NUMBERS), 3: ('label', protobuf.BYTES)}
PROFILE = {2: ('sample', SAMPLE), 13: ('comment', protobuf.NUMBERS),
           **{field: ('message', protobuf.BYTES) for field in (1, 3, 4, 5, 6, 11)},
           **{field: ('number', protobuf.NUMBER) for field in (7, 8, 9, 10, 12, 14)}}


def samples_of(profile):
    """-> the values of each sample"""
    return [sample['value'] for sample in protobuf.message(profile, PROFILE)['sample']]
