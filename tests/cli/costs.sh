# Measured costs: kept in a file, read again, and ignored with a note where it is damaged. And steps
# without an optimizer, which are for planning alone.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
export XDG_CACHE_HOME="$PWD/cache"

neap plan mlp -b 4 --cost measured --json
expect 0
cp out first.json
costs=$(echo cache/neap/costs-*.txt)
[ -f "$costs" ] || failed 'no file of costs'
cp "$costs" whole
neap plan mlp -b 4 --cost measured --json
expect 0
cmp -s "$costs" whole || failed 'the costs were measured again'
check "
import json
first, second = json.load(open('first.json')), json.load(open('out'))
assert first['plan']['step_seconds'] == second['plan']['step_seconds'] > 0, (first, second)"

head -c 300 whole >"$costs"
neap plan mlp -b 4 --cost measured
expect 0 'measured costs are measured again' "$costs"
neap plan mlp -b 4 --cost measured
expect 0
grep -q 'measured again' err && failed 'a file that was mended is noted'

# Where nothing can be kept, planning goes on.
: >nofolder
XDG_CACHE_HOME=$PWD/nofolder neap plan mlp -b 4 --cost measured
expect 0 'measured costs are not kept'
XDG_CACHE_HOME='' HOME='' neap plan mlp -b 4 --cost measured
expect 0

neap plan lenet5 -b 4 --opt none --json
expect 0
check "
import json
plan = json.load(open('out'))['plan']
assert plan['optimizer_bytes'] == 0 and plan['gradients_bytes'] > 0, plan"
neap train lenet5 --data synthetic --opt none
expect_error 2 "'none' is not one of sgd, adam, adamw"
neap verify lenet5 --opt none
expect_error 2 "'none' is not one of sgd, adam, adamw"
finish
