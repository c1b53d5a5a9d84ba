#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# iaprof's own plugins hold up against the plugin interface like anybody's: each check of each is a subtest.
# usage: test_our_plugins.sh PLUGIN_CHECK PLUGIN_FOLDER CAPTURE
set -u
report=$(mktemp)
all=$(mktemp)
# A receiver for sinks that send. It takes everything.
python3 - "$all" <<'RECEIVER' &
import http.server, sys


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
with open(sys.argv[1] + '.port', 'w') as file:
    file.write(f'{server.server_port}\n')
server.serve_forever()
RECEIVER
receiver=$!
trap 'kill "$receiver"; rm -rf "$report" "$all" "$all.port" "$all.ring"' EXIT
until [ -s "$all.port" ]; do sleep 0.1; done
for plugin in "$2"/*/iaprof-*.so; do
  name=${plugin##*/iaprof-}
  name=${name%.so}
  case $name in
  replay) set -- "$1" "$2" "$3" "file=$3" ;;
  ivpu-trace) set -- "$1" "$2" "$3" "input=${3%/capture/*}/ivpu_trace/boot-and-job" ;;
  top) set -- "$1" "$2" "$3" batch=yes ;;
  otlp | otlp-metrics) set -- "$1" "$2" "$3" "endpoint=http://127.0.0.1:$(cat "$all.port")" ;;
  pprof-push) set -- "$1" "$2" "$3" "url=http://127.0.0.1:$(cat "$all.port")" ;;
  prometheus) set -- "$1" "$2" "$3" address=127.0.0.1:0 ;;
  ring) set -- "$1" "$2" "$3" "folder=$all.ring" ;;
  *) set -- "$1" "$2" "$3" ;;
  esac
  if ! "$1" "$plugin" ${4:+"$4"} >"$report" 2>&1 && ! grep -q '^not ok' "$report"; then
    echo "not ok 0 - the check itself failed" >>"$report"
  fi
  sed -n "s/^\(not \)\{0,1\}ok [0-9]* - /\1ok - $name: /p; s/^#/# $name:/p" "$report" | tee -a "$all"
done
tests=$(grep -c 'ok - ' "$all")
[ "$tests" -gt 0 ] || echo "Bail out! there are no plugins in $2"
echo "1..$tests"
! grep -q '^not ok' "$all"
