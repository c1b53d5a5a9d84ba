# SPDX-License-Identifier: Apache-2.0
"""An HTTP server on this machine, whose answers a test decides."""
import gzip
import http.server
import threading


class Server:
    """Answers requests by calling answer(handler, server), until the end of a with statement."""

    def __init__(self, answer):
        self.asked, self.ending = [], threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):
                self.asked.append((handler.path, handler.headers))
                try:
                    answer(handler, self)
                except OSError:
                    pass

            do_POST = do_GET

            def log_message(self, *arguments):
                pass
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.url = f'http://127.0.0.1:{self.server.server_port}'

    def __enter__(self):
        # Seconds between two looks at whether it ends.
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *ignored):
        self.ending.set()
        self.server.shutdown()
        self.server.server_close()


def take(handler):
    """Reads a request. -> its body, as it was before compression"""
    body = handler.rfile.read(int(handler.headers['Content-Length']))
    return gzip.decompress(body) if handler.headers['Content-Encoding'] == 'gzip' else body


def reply(handler, status, body=b'', **headers):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace('_', '-'), value)
    handler.send_header('Content-Length', str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


class Receiver(Server):
    """Keeps requests. statuses: of the first answers, with headers; then 200."""

    def __init__(self, *statuses, body=b''):
        self.bodies, self.statuses = [], list(statuses)

        def answer(handler, _):
            taken = take(handler)
            status, headers = self.statuses.pop(0) if self.statuses else (200, {})
            if status == 200:
                self.bodies.append(taken)
            reply(handler, status, body, **headers)
        super().__init__(answer)
