#!/bin/sh
# Runs a command in an empty directory: scratch.sh DIRECTORY COMMAND...
# The directory is removed when the command succeeds or skips, and kept to look at otherwise.
set -u
directory=$1
shift
rm -rf "$directory"
mkdir -p "$directory" && cd "$directory" || exit 1
"$@"
status=$?
if [ "$status" = 0 ] || [ "$status" = 77 ]; then
    cd / && rm -rf "$directory"
fi
exit "$status"
