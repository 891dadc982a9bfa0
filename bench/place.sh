#!/bin/sh
# Placement problems, each against a capacity: the arena that is found, the most live bytes, and how
# long it took.
#
#   bench/place.sh [FILE.csv...]      (the cases of ../shared/data/place; ARENA sets the capacity)
#
# NEAP names the binary (default build/release/neap). Exit status 1: a case exceeds the capacity, or
# something is missing.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "place.sh: error: $*" >&2
    exit 1
}

neap=${NEAP:-build/release/neap}
capacity=${ARENA:-1048576}
command -v "$neap" >/dev/null ||
    fail "no neap at '$neap': run make, or say where it is with NEAP=path"
[ $# -gt 0 ] || set -- ../shared/data/place/*.csv
[ -e "$1" ] || fail "no placement problems at '$1'"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# field NAME : a value of the report
field() {
    value=$(sed -n 's/.*"'"$1"'": *\([a-z0-9.]*\).*/\1/p' "$work/report")
    [ -n "$value" ] || fail "no '$1' in neap's report"
    echo "$value"
}

missed=0
printf '%-16s %7s %12s %12s %8s %9s\n' case buffers 'most live' arena optimal seconds
for file in "$@"; do
    "$neap" plan "$file" --arena "$capacity" --json >"$work/report" 2>"$work/log" || {
        [ -s "$work/report" ] || fail "neap plan $file: $(tail -n 1 "$work/log")"
    }
    printf '%-16s %7s %12s %12s %8s %9s\n' "$(basename "$file")" "$(field buffers)" \
        "$(field lower_bound_bytes)" "$(field arena_bytes)" "$(field optimal)" \
        "$(field solver_seconds)"
    [ "$(field fits)" = true ] || missed=$((missed + 1))
done
if [ "$missed" -gt 0 ]; then
    echo "within $capacity bytes: NOT MET by $missed"
    exit 1
fi
echo "within $capacity bytes: ok"
