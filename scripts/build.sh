#!/bin/sh
# Builds a preset of CMakePresets.json in build/PRESET: the library and the command, or with
# --tests everything.
#   scripts/build.sh PRESET [--tests]
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that may have called: this build is not a part of it

preset=$1
tests=${2-}
mkdir -p build
if [ -n "$tests" ] || [ ! -f "build/$preset/Makefile" ]; then
    # The tests need packages that the command does not.
    cmake --preset "$preset" -DNEAP_TESTS="$([ -n "$tests" ] && echo ON || echo OFF)" \
        >"build/configure-$preset.log" 2>&1 || {
        cat "build/configure-$preset.log" >&2
        exit 1
    }
fi
cmake --build --preset "$preset" --target "$([ -n "$tests" ] && echo all || echo neap)" \
    --parallel "$(nproc)"
