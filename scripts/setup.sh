#!/bin/sh
# Installs what is missing for a purpose, with apt, as root or through sudo; says nothing when
# nothing is missing. With --check it only names what is missing, and fails.
#   scripts/setup.sh [--check] build|demo|test
set -eu

build="gcc libc6-dev make cmake libdnnl-dev libjansson-dev zlib1g-dev libjpeg62-turbo-dev libpng-dev"
demo="$build dataset-fashion-mnist"
tests="$demo libcmocka-dev python3 binutils clang-format-14 coinor-cbc"

fail() {
    echo "setup: $*" >&2
    exit 1
}

check=false
if [ "${1-}" = --check ]; then
    check=true
    shift
fi
case "${1-}" in
build) wanted=$build ;;
demo) wanted=$demo ;;
test) wanted=$tests ;;
*) fail "usage: scripts/setup.sh [--check] build|demo|test" ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    # Elsewhere the build itself says what it lacks.
    if $check; then
        exit 0
    fi
    fail "only Debian's apt is known here; install the like of
  apt-get install $wanted
and build with cmake --preset release && cmake --build --preset release"
fi

missing=""
for package in $wanted; do
    state=$(dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null) || state=absent
    # One line per architecture.
    echo "$state" | grep -qx installed || missing="$missing $package"
done
if [ -z "$missing" ]; then
    exit 0
fi
if $check; then
    fail "packages are missing; install them with
  apt-get install$missing"
fi

as_root=""
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "neither root nor sudo; as root run
  apt-get install$missing"
    as_root=sudo
fi
echo "setup: installing$missing" >&2
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $apt update && $apt install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    cat "$log" >&2
    fail "apt-get failed; by hand:
  apt-get update && apt-get install$missing"
fi
