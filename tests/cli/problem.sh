# `neap plan` of bare problems and placements: the fields it promises, bad files, options that make
# no sense there, budgets that cannot be met, and files written whole or not at all.
# shellcheck shell=bash disable=SC1091,SC2034
. "$SOURCE_DIR/tests/support/cli.sh"

# Keeping a (8 bytes) for d while c (8) is made from b (2) takes 18 bytes; making it again, 17.
printf '4\n1 8 0\n1 2 1 0\n1 8 1 1\n1 1 2 0 2\n' >small.problem
# Two that never meet, and one beside both.
printf 'id,lower,upper,size\na,0,4,16\nb,4,9,24\nc,0,9,8\n' >small.csv

neap plan small.problem
expect 0 'no budget given'
expect_out '4 ops, order free' 'peak' 'overhead' 'none, proven' 'smallest budget'
neap plan small.problem -q
expect 0
[ -s err ] && failed 'a diagnostic in spite of -q'
neap plan small.problem --arena 18 --order fixed --seed 3 --json -o schedule
expect 0 'saved schedule'
[ "$(tr '\n' ' ' <schedule)" = '0 1 2 3 ' ] || failed "the schedule is '$(cat schedule)'"
check '
import json
report = json.load(open("out"))
promised = """ops peak_store_all_bytes budget_bytes fits peak_bytes arena_bytes cost_store_all cost
    overhead overhead_lower_bound gap solver_seconds smallest_budget_bytes proven smallest_proven
    stopped strategy recomputed_ops peak_lower_bound_bytes""".split()
assert not [key for key in promised if key not in report], report
assert report["ops"] == 4 and report["peak_store_all_bytes"] == 18 == report["budget_bytes"]
assert report["fits"] is True and report["peak_bytes"] == 18 <= report["arena_bytes"]
assert report["cost"] == report["cost_store_all"] == 4 and report["proven"] is True
assert report["overhead"] == report["overhead_lower_bound"] == report["gap"] == 0
assert report["peak_lower_bound_bytes"] == 17 <= report["smallest_budget_bytes"] <= 18
assert report["stopped"] is None'
echo '{"arena": "100%", "order": "fixed"}' >config.json
neap plan small.problem --config config.json --json
expect 0
expect_out '"budget_bytes": 18,'
neap plan ./small.problem -v --json
expect 0 '--order free (default)' '--time-limit none (default)'
grep -q -- '--lr\|--opt' err && failed 'tells options that have no effect'

# Percentages are rounded down.
for pair in '100% 18' '99% 17' '95% 17' '150% 27' '17 17' '1K 1024'; do
    neap plan small.problem --arena "${pair% *}" --json
    expect_out "\"budget_bytes\": ${pair#* },"
done

# What cannot be met is told with what was found, and leaves no file.
neap plan small.problem --arena 10 --json -o no-schedule
expect_error 5 'small.problem does not fit in 10 bytes: no schedule does' \
    'every schedule needs at least 17' 'would fit:  --arena 1'
expect_out '"fits": false' '"overhead_lower_bound": null' '"gap": null' '"ops": 4'
expect_missing no-schedule
neap plan small.problem --arena 10
expect_error 5 'does not fit'
[ -s out ] && failed 'a table of a plan that does not fit'

# Placement.
neap plan small.csv
expect 0
expect_out '3 buffers' 'proven the smallest'
neap plan small.csv --arena 32 -o out.csv --json
expect 0 'saved out.csv'
check '
import csv, json
report = json.load(open("out"))
for key in "buffers lower_bound_bytes arena_bytes fits optimal solver_seconds".split():
    assert key in report, key
assert report["buffers"] == 3 and report["lower_bound_bytes"] == report["arena_bytes"] == 32
assert report["fits"] is True and report["optimal"] is True
rows = list(csv.DictReader(open("out.csv")))
assert [row["id"] for row in rows] == ["a", "b", "c"]
a, b, c = ((int(row["offset"]), int(row["offset"]) + int(row["size"])) for row in rows)
assert all(low >= 0 and high <= 32 for low, high in (a, b, c))
assert all(x[1] <= c[0] or c[1] <= x[0] for x in (a, b))'
neap plan small.csv --arena 31 --json -o no.csv
expect_error 5 'small.csv does not fit in 31 bytes: no placement does' 'would fit:  --arena 32'
expect_out '"fits": false' '"arena_bytes": 32'
expect_missing no.csv
neap plan small.csv --arena 50%
expect_error 2 'is a size'

# Options of models.
for option in '--opt adam' '-b 8' '-m 1G' '--recompute none' '--explain' '--threads 2' \
    '--device null' '--micro-batch 2' '--cost measured'; do
    # shellcheck disable=SC2086
    neap plan small.problem $option
    expect_error 2 "for models, and 'small.problem' is a bare planning problem"
done
for option in '--order free' '--seed 1' '--time-limit 5' '--opt adam'; do
    # shellcheck disable=SC2086
    neap plan small.csv $option
    expect_error 2 "is a placement problem"
done
echo '{"lr": 1}' >config.json
neap plan small.problem --config config.json
expect_error 2 "config.json:1:2: 'neap plan' does not take 'lr'"
echo '{"batch": 1}' >config.json
neap plan small.problem --config config.json
expect_error 2 "'--batch' is for models"
neap plan small.problem --order random
expect_error 2 'is not one of free, fixed'
neap plan small.problem --time-limit 0
expect_error 2 'a number of at least 0.001'
neap plan small.problem --seed -1
expect_error 2 "option '--seed'"
neap plan small.problem other.problem
expect_error 2 "unexpected argument 'other.problem'"
neap help plan
expect_out 'a bare problem, .problem' '--arena --order --time-limit --seed --output'

# The planner's options belong to models too, where a plan is made.
neap plan mlp -b 8 --device null --order fixed --seed 5 --time-limit 60 --json
expect 0
expect_out '"stopped": null'
neap verify mlp -b 8 --updates 1 --order fixed --time-limit 60 --json
expect 0
neap eval mlp --order fixed
expect_error 2 "'neap eval' does not take '--order', an option of plan, train, verify"

neap eval mlp --seed 1
expect_error 2 "'neap eval' does not take '--seed', an option of plan, train, verify"

# Files that are none.
neap plan no-such.problem
expect_error 4 "cannot read 'no-such.problem'"
mkdir -p folder.problem folder.csv
neap plan folder.problem
expect_error 4 'folder.problem'
neap plan folder.csv
expect_error 4 'folder.csv'
refused() {
    neap plan "$@" --json -o never
    expect_error 4 "${1%%:*}"
    [ -s out ] && failed 'prints a report'
    expect_missing never
}
: >empty.problem
refused empty.problem
: >empty.csv
refused empty.csv
echo 'id,lower,upper,size' >none.csv
refused none.csv
head -c 4096 /dev/urandom >noise.problem
refused noise.problem
cp noise.problem noise.csv
refused noise.csv
head -c 20 small.problem >short.problem
refused short.problem
sed 's/1 2 1 0/1 2 1 3/' small.problem >forward.problem
refused forward.problem
grep -qF 'forward.problem:3: op 1 reads op 3' err || failed 'does not say where'
sed 's/8/-8/' small.problem >negative.problem
refused negative.problem
sed 's/^a,0,4/a,4,4/' small.csv >backward.csv
refused backward.csv
sed 's/$/\r/' small.problem >crlf.problem
neap plan crlf.problem --json
expect 0
expect_out '"peak_store_all_bytes": 18'

# Places that cannot be written: known before the search begins.
echo text >file
for problem in small.problem small.csv; do
    for place in file/out /proc/neap/out .; do
        neap plan "$problem" -o "$place"
        expect_error 1 "$place"
    done
    last="neap plan $problem --json >/dev/full"
    "$NEAP" plan "$problem" --json >/dev/full 2>err </dev/null
    code=$?
    expect_error 1 'cannot write to standard output'
    neap plan "$problem" -q -o /dev/full
    expect_error 1 '/dev/full'
done
[ "$(cat file)" = text ] || failed 'a file in the way was changed'
echo before >kept
neap plan small.problem --arena 10 -o kept
[ "$(cat kept)" = before ] || failed 'a schedule that does not exist was written'
finish
