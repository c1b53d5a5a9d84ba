# SPDX-License-Identifier: Apache-2.0
"""An HTTP server on this machine, whose answers a test decides."""
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
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *ignored):
        self.ending.set()
        self.server.shutdown()
        self.server.server_close()
