#!/bin/bash
# Builds and runs the whole test-suite on the release build, and the tests of units, command line
# and errors once more under the address and undefined-behaviour sanitizers. One ctest runs both,
# so that one closing line counts all of it; skipped tests are listed before it with their reasons.
# Arguments go to ctest: scripts/test.sh -R style
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh release --tests
scripts/build.sh sanitize --tests
# What `subdirs` names is run in order, as if it were one build.
echo 'subdirs(release sanitize)' >build/CTestTestfile.cmake

log=build/test.log
status=0
ctest --test-dir build --output-on-failure --no-tests=error --no-label-summary \
    --label-exclude by-hand --parallel "$(nproc)" --output-junit test.xml --test-output-size-passed 65536 \
    --test-output-truncation head "$@" | tee "$log" || status=$?
python3 scripts/skipped.py build/test.xml
grep -E '^[0-9]+% tests passed' "$log" || true
exit "$status"
