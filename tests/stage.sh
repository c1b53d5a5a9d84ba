#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a build below a folder, for a test to look at: stage.sh BUILD FOLDER.
set -eu
log=$1/meson-logs/install-log.txt
# Tests that run at the same time take turns.
exec 9<"$1/build.ninja"
flock 9
# 'ninja uninstall' reads this file: it has to go on naming what the user installed.
[ ! -e "$log" ] || cp -p "$log" "$2.log"
DESTDIR=$2 meson install -C "$1" --no-rebuild >/dev/null
if [ -e "$2.log" ]; then mv "$2.log" "$log"; else rm -f "$log"; fi
