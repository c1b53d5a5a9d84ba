# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that opens files and does what a reader does: the Chrome DevTools Protocol over two pipes."""
import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time


class Failure(Exception):
    """The browser, or a script in it, reports an error."""


NONE = 'there is no Chromium, or no need of it: a sanitizer is in what wrote the page, not in the browser'


def find():
    """-> its path; None if there is none, or a sanitizer is to look at the programs that write what it would show"""
    if os.environ.get('TEST_SANITIZERS', 'none') != 'none':
        return None
    return shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')


KEYS = {'Tab': 9, 'Enter': 13, 'Escape': 27, 'Backspace': 8, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40}
SHIFT, CONTROL = 8, 2  # of the keys that are held


class NoPage(Failure):
    """The page became another one while it was asked."""


class Browser:
    """One page, in which every error and everything that the page's policy refuses is a failure."""

    def __init__(self, width=1200, height=800):
        self.folder = tempfile.TemporaryDirectory(prefix='iaprof-browser-', ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()  # commands, answers: descriptors 3 and 4 of the browser

        def pipes():
            commands, answers = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(commands, 3)
            os.dup2(answers, 4)
        self.process = subprocess.Popen(
            [find(), '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
             '--remote-debugging-pipe', f'--user-data-dir={self.folder.name}', f'--window-size={width},{height}',
             'about:blank'], preexec_fn=pipes, pass_fds=(3, 4, ours[0], theirs[1]), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(ours[0])
        os.close(theirs[1])
        self.commands, self.answers = os.fdopen(ours[1], 'wb'), os.fdopen(theirs[0], 'rb')
        self.number, self.rest, self.events, self.session = 0, b'', [], None
        targets = self.call('Target.getTargets')['targetInfos']
        target = next(target['targetId'] for target in targets if target['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in 'Page', 'Runtime', 'Log':
            self.call(f'{domain}.enable')
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def message(self):
        while b'\0' not in self.rest:
            part = os.read(self.answers.fileno(), 1 << 20)
            if not part:
                raise Failure('the browser ended')
            self.rest += part
        message, self.rest = self.rest.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        command = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            command['sessionId'] = self.session
        self.commands.write(json.dumps(command).encode() + b'\0')
        self.commands.flush()
        while True:
            message = self.message()
            if message.get('id') == self.number:
                if 'error' in message:
                    raise (NoPage if re.search('navigated|context|collected', message['error']['message']) else Failure)(f'{method}: {message["error"]}')
                return message['result']
            self.events.append(message)

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

    def wait_for(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(NoPage):
                if value := self.evaluate(expression):
                    return value
            if time.monotonic() > end:
                raise Failure(f'never: {expression}: {self.wrong()}')
            time.sleep(0.02)

    def open(self, path):
        self.events.clear()
        self.call('Page.navigate', url=pathlib.Path(path).resolve().as_uri())
        self.wait_for('document.readyState === "complete"')

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
        """Its other processes write into its folder until it has ended them itself."""
        self.session = None
        with contextlib.suppress(Failure, OSError):
            self.call('Browser.close')
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.commands.close()
        self.answers.close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
