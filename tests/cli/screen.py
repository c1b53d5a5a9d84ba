# SPDX-License-Identifier: Apache-2.0
"""A run on a terminal that a test looks at and types on: what it shows is what pyte makes of it, another program."""
import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

from harness import TIMEOUT, Skip, equal, require, start, end

ENTER, LEAVE, SHOW_CURSOR = b'\x1b[?1049h', b'\x1b[?1049l', b'\x1b[?25h'

# Titles of the last column.
NAMES = ('GPU KERNEL', 'STALL REASON', 'FUNCTION', 'STACK (LEAF FIRST)', 'CALL', 'PROGRAM')


class Screen:
    def __init__(self, *arguments, rows=24, columns=80, environment=None, take_input=False, **options):
        try:
            import pyte
        except ImportError:
            raise Skip('the Python module pyte is not installed') from None
        try:
            self.master, self.slave = pty.openpty()
        except OSError as error:
            raise Skip(f'no pseudo terminal: {error}') from None
        self.raw = b''
        self.emulator = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.emulator)
        self.set_size(rows, columns)
        self.modes = termios.tcgetattr(self.slave)
        surroundings = {name: value for name, value in os.environ.items() if name not in ('NO_COLOR', 'LC_ALL')}
        options.setdefault('stderr', self.slave)
        if take_input:
            options['stdin'] = self.slave
        self.process = start(*arguments, stdout=self.slave, env={
            **surroundings, 'TERM': 'xterm-256color', 'LC_ALL': 'C.UTF-8', **(environment or {})}, **options)

    def set_size(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
        self.emulator.resize(rows, columns)

    def lines(self):
        return [line.rstrip() for line in self.emulator.display]

    def text(self):
        return '\n'.join(self.lines())

    def pump(self, seconds=0.05):
        """Takes what comes in a while; False: nothing more will."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            shown = os.read(self.master, 65536)
        except OSError:  # EIO: nobody has the other side open
            return False
        self.raw += shown
        self.stream.feed(shown)
        return bool(shown)

    def until(self, condition, what):
        """Waits for a picture; a text is to be in it."""
        wanted = condition if callable(condition) else lambda: condition in self.text()
        deadline = time.monotonic() + TIMEOUT
        while not wanted():
            self.pump()
            require(self.process.poll() is None or wanted(), f'the run has ended without {what}:\n{self.text()}')
            require(time.monotonic() < deadline, f'waited in vain for {what}:\n{self.text()}')

    def press(self, keys):
        os.write(self.master, keys)

    def heading(self):
        """The position of the table's heading; the tabs are above it, the rows below."""
        return next((i for i, line in enumerate(self.lines()) if line.strip().startswith('SELF%')), None)

    def column(self, title):
        """Where a column begins, from its title in the heading."""
        return self.lines()[self.heading()].index(title)

    def shares(self):
        """Of the rows of the table: (self, total or None, amount, name)."""
        rows = []
        if self.heading() is None:
            return rows
        begin = next(self.column(title) for title in NAMES if title in self.lines()[self.heading()])
        for line in self.lines():
            match = re.match(r' *(\d+\.\d+)% +(?:(\d+\.\d+)% +)?(\d\S*(?: (?:[num]?s|[kMGTP]))?)  ', line)
            if match:
                rows.append((float(match[1]), match[2] and float(match[2]), match[3], line[begin:]))
        return rows

    def signal(self, number):
        os.kill(self.process.pid, number)

    def drain(self):
        while self.process.poll() is None:
            self.pump()
        while select.select([self.master], [], [], 0)[0] and self.pump():
            pass

    def finish(self):
        """Waits for the end, which has to give the terminal back; -> how the run ended, and what was said at last."""
        with contextlib.suppress(OSError):
            self.drain()
        equal(termios.tcgetattr(self.slave), self.modes, 'modes of the terminal')
        require(self.raw.count(ENTER) == self.raw.count(LEAVE), 'the alternate screen is not left')
        if ENTER in self.raw:
            require(self.raw.rfind(LEAVE) > self.raw.rfind(ENTER), 'the alternate screen is taken after it was left')
            require(self.raw.rfind(SHOW_CURSOR) > self.raw.rfind(b'\x1b[?25l'), 'the cursor is not shown')
        os.close(self.slave)
        os.close(self.master)
        outcome = end(self.process)
        outcome.out = self.raw.rpartition(LEAVE)[2].decode(errors='replace').replace('\r\n', '\n')
        return outcome

    def quit(self):
        self.press(b'q')
        return self.finish()
