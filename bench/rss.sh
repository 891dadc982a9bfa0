#!/bin/sh
# Resident memory of a training process against the bytes neap planned, from neap's own report and
# from the kernel's high-water mark.
#
#   bench/rss.sh [MODEL [BATCH]]      (resnet18 64; NEAP_OPTIONS holds further options for neap)
#
# NEAP names the binary (default build/release/neap). Exit status 1: above plan + 64 MiB, or
# something is missing.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "rss.sh: error: $*" >&2
    exit 1
}

neap=${NEAP:-build/release/neap}
command -v "$neap" >/dev/null ||
    fail "no neap at '$neap': run make, or say where it is with NEAP=path"
[ -x /usr/bin/time ] || fail "no /usr/bin/time: apt-get install time"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# shellcheck disable=SC2086 # NEAP_OPTIONS is a list of words
/usr/bin/time -v -o "$work/time" "$neap" train "${1:-resnet18}" -b "${2:-64}" --data synthetic \
    --max-updates 2 --json ${NEAP_OPTIONS:-} >"$work/events" || fail "neap train ended with $?"

# field NAME : a number of the done event
field() {
    value=$(sed -n '/"event": *"done"/s/.*"'"$1"'": *\([0-9]*\).*/\1/p' "$work/events")
    [ -n "$value" ] || fail "no '$1' in neap's done event"
    echo "$value"
}

planned=$(field peak_planned_bytes)
measured=$(field peak_measured_bytes)
reported=$(field rss_bytes)
kernel=$(($(sed -n 's/.*Maximum resident set size (kbytes): //p' "$work/time") * 1024))
[ "$kernel" -gt 0 ] || fail "no 'Maximum resident set size' from /usr/bin/time -v: is it GNU time?"

mib() {
    awk -v bytes="$1" 'BEGIN { printf "%.1f MiB", bytes / 1048576 }'
}
limit=$((planned + 64 * 1048576))
echo "planned peak   $(mib "$planned")"
echo "measured peak  $(mib "$measured")"
echo "rss, neap      $(mib "$reported")"
echo "rss, kernel    $(mib "$kernel")"
if [ "$kernel" -le "$limit" ] && [ "$reported" -le "$limit" ]; then
    echo "within plan + 64 MiB = $(mib "$limit"): ok"
else
    echo "within plan + 64 MiB = $(mib "$limit"): NOT MET"
    exit 1
fi
