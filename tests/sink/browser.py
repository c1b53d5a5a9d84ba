# SPDX-License-Identifier: Apache-2.0
"""Tabs of one headless Chromium, for all pages of a test: the Chrome DevTools Protocol over two pipes."""
import atexit
import base64
import collections
import contextlib
import functools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

LIMIT = 300  # seconds after which whatever has not happened never will


class Failure(Exception):
    """The browser, or a script in it, reports an error."""


NONE = 'there is no Chromium, or no need of it: a sanitizer is in what wrote the page, not in the browser'


def find():
    """-> its path; None if there is none, or a sanitizer is to look at the programs that write what it would show"""
    if os.environ.get('TEST_SANITIZERS', 'none') != 'none':
        return None
    # Without the user interface of a browser, which is redrawn for every page, the same pages need a third of the time.
    return next(filter(None, map(shutil.which, ('chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'))), None)


KEYS = {'Tab': 9, 'Enter': 13, 'Escape': 27, 'Backspace': 8, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40}
SHIFT, CONTROL = 8, 2  # of the keys that are held

# In every page: counts what waits for the next frame of the screen. whenDrawn() resolves after a frame in which nothing
# was drawn and after which nothing is left to be drawn.
COUNT_FRAMES = '''(() => {
  const ask = window.requestAnimationFrame.bind(window);
  let waiting = 0, drawn = 0;
  window.requestAnimationFrame = draw => { waiting++; return ask(time => { waiting--; drawn++; draw(time); }); };
  window.whenDrawn = () => new Promise(done => ask(function look() {
    const before = drawn;
    ask(() => waiting || drawn !== before ? look() : done(true)); }));
})()'''


class NoPage(Failure):
    """The page became another one while it was asked."""


class Process:
    """The one Chromium of this process, started when the first tab is opened."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix='iaprof-browser-', ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()  # commands, answers: descriptors 3 and 4 of the browser

        def pipes():
            commands, answers = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(commands, 3)
            os.dup2(answers, 4)
        self.program = subprocess.Popen(
            [find(), '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
             '--disable-smooth-scrolling', '--remote-debugging-pipe', f'--user-data-dir={self.folder.name}'],
            preexec_fn=pipes, pass_fds=(3, 4, ours[0], theirs[1]), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(ours[0])
        os.close(theirs[1])
        self.commands, self.answers = os.fdopen(ours[1], 'wb'), os.fdopen(theirs[0], 'rb')
        self.number, self.rest = 0, b''
        self.events = collections.defaultdict(list)  # by session
        atexit.register(self.close)

    def message(self, method):
        end = time.monotonic() + LIMIT
        while b'\0' not in self.rest:
            if not select.select([self.answers], [], [], 1)[0]:
                if self.program.poll() is not None:  # its other processes, which have the pipe, may still be there
                    self.ended()
                if time.monotonic() > end:
                    raise Failure(f'{method}: the browser has not answered for {LIMIT} s')
                continue
            part = os.read(self.answers.fileno(), 1 << 20)
            if not part:
                self.ended()
            self.rest += part
        message, self.rest = self.rest.split(b'\0', 1)
        return json.loads(message)

    def ended(self):
        raise Failure(f'the browser ended with status {self.program.wait(LIMIT)} and opens no more pages')

    def call(self, session, method, **parameters):
        self.number += 1
        command = {'id': self.number, 'method': method, 'params': parameters, **({'sessionId': session} if session else {})}
        try:
            self.commands.write(json.dumps(command).encode() + b'\0')
            self.commands.flush()
        except BrokenPipeError:
            self.ended()
        while True:
            message = self.message(method)
            if message.get('id') == self.number:
                if 'error' in message:
                    raise (NoPage if re.search('navigated|context|collected', message['error']['message']) else Failure)(f'{method}: {message["error"]}')
                return message['result']
            if message.get('method') == 'Inspector.targetCrashed' and message['sessionId'] == session:
                raise Failure(f'{method}: the process of the page ended')
            if 'method' in message:
                self.events[message.get('sessionId')].append(message)

    def close(self):
        """Its other processes write into its folder until it has ended them itself."""
        with contextlib.suppress(Failure, OSError):
            self.call(None, 'Browser.close')
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.program.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.program.pid, signal.SIGKILL)
        self.program.wait()
        with contextlib.suppress(BrokenPipeError):
            self.commands.close()
        self.answers.close()
        self.folder.cleanup()


process = functools.cache(Process)


class Browser:
    """A tab with storage of its own, in which every error and everything that the page's policy refuses is a failure."""

    def __init__(self, width=1200, height=800):
        self.process, self.session, self.size, self.pages = process(), None, (width, height), 0
        self.context = self.call('Target.createBrowserContext')['browserContextId']
        self.target = self.call('Target.createTarget', url='about:blank', browserContextId=self.context)['targetId']
        self.session = self.call('Target.attachToTarget', targetId=self.target, flatten=True)['sessionId']
        self.events = self.process.events[self.session]
        for domain in 'Page', 'Runtime', 'Log', 'Inspector':
            self.call(f'{domain}.enable')
        self.call('Page.addScriptToEvaluateOnNewDocument', source=COUNT_FRAMES)
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def reset(self):
        """Whatever was done with it, the next page is opened as the first one was; until then the last one stays."""
        if self.pages:
            self.call('Page.resetNavigationHistory')
        self.call('Storage.clearDataForOrigin', origin='*', storageTypes='all')
        self.call('Emulation.setTouchEmulationEnabled', enabled=False)
        self.call('Emulation.setDeviceMetricsOverride', width=self.size[0], height=self.size[1], deviceScaleFactor=1, mobile=False)

    def call(self, method, **parameters):
        return self.process.call(self.session, method, **parameters)

    def wrong(self):
        """What the page was not allowed to do, and what its scripts did not catch."""
        texts = []
        for event in self.events:
            if event['method'] == 'Runtime.exceptionThrown':
                details = event['params']['exceptionDetails']
                texts.append(details.get('exception', {}).get('description') or details['text'])
            elif event['method'] == 'Log.entryAdded' and event['params']['entry']['level'] == 'error':
                texts.append(event['params']['entry']['text'])
        return texts

    def evaluate(self, expression):
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise Failure(f'{expression}: {result["exceptionDetails"]["exception"].get("description")}')
        return result['result'].get('value')

    def wait_for(self, expression):
        end = time.monotonic() + LIMIT
        while True:
            with contextlib.suppress(NoPage):
                if value := self.evaluate(expression):
                    return value
            if time.monotonic() > end:
                raise Failure(f'never: {expression}: {self.wrong()}')
            time.sleep(0.02)

    def open(self, path, fragment='', is_ready='document.readyState === "complete"'):
        """Opens a file. Its query, which is a new one, makes it another page even if this file is open."""
        self.events.clear()
        self.pages += 1
        self.call('Page.navigate', url=f'{pathlib.Path(path).resolve().as_uri()}?{self.pages}{fragment}')
        # The page before may still be there, and would answer.
        self.wait_for(f'location.search === "?{self.pages}" && document.documentElement && {is_ready}')

    def leave(self):
        """Opens an empty page, so that nothing of the one before runs or asks a server."""
        empty = pathlib.Path(self.process.folder.name, 'empty.html')
        empty.touch()
        self.open(empty)

    def drawn(self):
        """Waits until nothing is left to be drawn."""
        self.evaluate('whenDrawn()')

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def click(self, x, y, times=1, modifiers=0):
        self.mouse('mouseMoved', x, y)
        for count in range(1, times + 1):
            for kind in 'mousePressed', 'mouseReleased':
                self.mouse(kind, x, y, button='left', clickCount=count, modifiers=modifiers)

    def drag(self, begin, end):
        """From a place to another one, each x and y."""
        self.mouse('mouseMoved', *begin)
        self.mouse('mousePressed', *begin, button='left', buttons=1, clickCount=1)
        self.mouse('mouseMoved', *end, button='left', buttons=1)
        self.mouse('mouseReleased', *end, button='left', clickCount=1)

    def press(self, key, modifiers=0):
        text = {'Enter': '\r'}.get(key, key if len(key) == 1 else '')
        for kind in 'keyDown', 'keyUp':
            self.call('Input.dispatchKeyEvent', type=kind, key=key, text=text if kind == 'keyDown' else '',
                      modifiers=modifiers, windowsVirtualKeyCode=KEYS.get(key, ord(key[0])))

    def screenshot(self, path):
        picture = self.call('Page.captureScreenshot', format='png')['data']
        pathlib.Path(path).write_bytes(base64.b64decode(picture))

    def close(self):
        self.session = None
        with contextlib.suppress(Failure, OSError):
            self.call('Target.disposeBrowserContext', browserContextId=self.context)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
