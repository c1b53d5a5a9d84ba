# SPDX-License-Identifier: Apache-2.0
"""The launcher on Intel's runtime: started, led from step to step, and the truth that it prints."""
import os
import pathlib
import re
import subprocess
from collections import Counter, defaultdict

from . import heaps

APPENDS = {'zeCommandListAppendLaunchKernel': 'append_launch',
           'zeCommandListAppendLaunchCooperativeKernel': 'append_cooperative',
           'zeCommandListAppendLaunchKernelIndirect': 'append_indirect',
           'zeCommandListAppendLaunchMultipleKernelsIndirect': 'append_multiple_indirect',
           'zeCommandListAppendLaunchKernelWithParameters': 'append_with_parameters',
           'zeCommandListAppendLaunchKernelWithArguments': 'append_with_arguments'}

# Turns until the program is led to its end; should nobody do that, it ends by itself.
ENDLESS = '--duration', 120000


class Truth:
    """Where kernels are in the instruction heap, to which rows of the layouts for 29 bits are relative, and from which
    stacks they are launched; a place is (layer, site, append function)."""

    def __init__(self, text=''):
        self.modules = {}  # (pid, load) -> {module: (address, size)}
        self.kernels = {}  # (pid, load) -> {kernel: (address, size)}
        self.launches = defaultdict(Counter)  # (pid, load, kernel) -> {place: how often it ran}
        starts = heaps.read_reservations(text)
        for line in text.splitlines():
            kind, *words = line.split('\t')
            if kind in ('kernel', 'module'):
                pid, load, module, name, address, size = words
                places = self.kernels if kind == 'kernel' else self.modules
                start = int(address, 16)
                places.setdefault((int(pid), int(load)), {})[name if kind == 'kernel' else module] = (
                    start and start - heaps.base(starts.get(int(pid), []), start), int(size))
            elif kind == 'launch':
                pid, load, _thread, _name, layer, site, call, kernel, _appended, executed = words
                self.launches[int(pid), int(load), kernel][layer, site, APPENDS[call]] += int(executed)


class Launcher:
    """A process that loads, launches and unloads step by step: a step is "loaded 0", "launched 0", ..."""

    def __init__(self, source, build, product, arguments, preload=None, truth='truth', profiler=(),
                 errors=subprocess.STDOUT):
        self.truth_file = os.path.abspath(truth)
        preloaded = ['env', f'LD_PRELOAD={preload}'] if preload else []
        self.process = subprocess.Popen(
            [*profiler, source / 'tests/lab/guest/in-chroot', *preloaded,
             source / 'tests/lab/level_zero/run-without-gpu', product,
             build / 'tests/lab/level_zero/launcher-fp', '--formats', 'native', '--steps', '--truth',
             self.truth_file, *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, encoding='utf-8', bufsize=1)
        self.said = []
        self.step = None
        self.pid = int(self.line().split()[1])

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f'the launcher ended: {"".join(self.said)}')
        self.said.append(line)
        return line

    def go_to(self, step):
        """Goes on until it has done this."""
        while self.step != step:
            if self.step:
                self.process.stdin.write('\n')
            line = self.line()
            if line.startswith('step '):
                self.step = line[len('step '):].strip()

    def make_turns(self):
        """Goes on; it has made its first turn, and makes others until it is led to its end."""
        self.process.stdin.write('\n')
        while self.line() != 'turns\n':
            pass

    def time_on_device(self):
        """How long its jobs have kept the device's compute engines busy, in the device's cycles."""
        texts = [file.read_text(encoding='ascii') for file in pathlib.Path(f'/proc/{self.pid}/fdinfo').iterdir()]
        return sum(int(cycles) for text in texts for cycles in re.findall(r'^drm-cycles-ccs:\s*(\d+)', text, re.MULTILINE))

    def end(self):
        """Lets it run to its end."""
        said = self.process.communicate()[0]
        if self.process.returncode:
            raise RuntimeError(f'the launcher ended with {self.process.returncode}: {"".join(self.said)}{said}')

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def truth(self):
        with open(self.truth_file, encoding='utf-8') as file:
            return Truth(file.read())
