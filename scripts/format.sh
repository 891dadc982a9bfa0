#!/bin/sh
# Lays out every C file with the clang-format that tests/style/style.py asks for.
set -eu
cd "$(dirname "$0")/.."
command -v clang-format-14 >/dev/null || {
    echo "format: clang-format-14 is missing; apt-get install clang-format-14" >&2
    exit 1
}
find include src tests examples bench -name '*.[ch]' -exec clang-format-14 -i {} +
