# neap bench: rows of every strategy, the forms of a report, results that are kept and gone on from.
# shellcheck shell=bash disable=SC1091,SC2034
. "$SOURCE_DIR/tests/support/cli.sh"
export XDG_CACHE_HOME="$PWD/cache"
norms 5 >norms.neap
quick='-b 8 --seconds 0.01 --threads 1 --cost model'

# ---- rows ------------------------------------------------------------------------------------------
# shellcheck disable=SC2086
neap bench norms.neap $quick --strategies sequential:2,auto,sqrt --arena 60% --arena 1 -m 1G \
    --micro-batch 4 --json
expect 0 '1 of 1: norms.neap' 'a step, median of'
check '
import json
bench = json.load(open("out"))
rows = bench["rows"]
keys = """model batch strategy arena_planned_bytes arena_measured_bytes peak_planned_bytes rss_bytes
    seconds_median seconds_min overhead""".split()
for row in rows:
    assert all(key in row for key in keys), row
    assert row["model"] == "norms.neap" and row["batch"] == 8, row
said = [(row["strategy"], row["flags"], row["slicing"]) for row in rows]
limits = ["--arena 60%", "--arena 1", "-m 1073741824"]
assert said == [("none", "", "off"), ("sequential:2", "", "off")] + [
    ("auto", limit, "off") for limit in limits] + [("sqrt", "", "off")] + [
    ("auto", limit, "4") for limit in limits], said
store_all = rows[0]
assert store_all["overhead"] == store_all["overhead_planned"] == 0
for row in rows:
    if row["flags"] == "--arena 1":
        assert not row["fits"] and "does not fit" in row["missing"], row
        assert row["steps"] == 0 and row["overhead"] is None, row
        continue
    assert row["fits"] and row["missing"] == "" and row["steps"] >= 3, row
    assert 0 < row["seconds_min"] <= row["seconds_median"], row
    ratio = row["seconds_median"] / store_all["seconds_median"] - 1
    assert abs(row["overhead"] - ratio) < 1e-9, row
    assert abs(row["images_per_second"] * row["seconds_median"] - 8) < 1e-6, row
    assert 0 <= row["arena_planned_bytes"] - row["arena_measured_bytes"] <= 1024, row
    assert row["rss_bytes"] > row["arena_measured_bytes"], row
tight = rows[2]
assert tight["arena_planned_bytes"] <= 0.6 * store_all["arena_planned_bytes"], tight
assert tight["recomputed_ops"] > 0 and tight["overhead_planned"] > 0, tight
assert rows[-3]["micro_batch"] == 4 and tight["micro_batch"] == 8, rows'

# The plan is the one that neap plan makes of the flags.
neap plan norms.neap -b 8 --arena 60% --threads 1 --json
expect 0
cp out plan.json
# shellcheck disable=SC2086
neap bench norms.neap $quick --strategies auto --arena 60% --json -q
expect 0
[ -s err ] && failed 'quiet speaks'
check '
import json
rows = json.load(open("out"))["rows"]
plan = json.load(open("plan.json"))["plan"]
assert [row["strategy"] for row in rows] == ["none", "auto"], rows
assert rows[1]["arena_planned_bytes"] == plan["arena_bytes"], (rows[1], plan)
assert rows[1]["peak_planned_bytes"] == plan["peak_bytes"], (rows[1], plan)
assert abs(rows[1]["overhead_planned"] - plan["overhead"]) < 1e-9, (rows[1], plan)'

# Without a limit auto has half of the arena; the gradient of the input has a group of its own.
# shellcheck disable=SC2086
neap bench lenet5 $quick --strategies auto --input-gradient --opt none --format csv
expect 0
check '
import csv
rows = list(csv.DictReader(open("out")))
assert [(r["strategy"], r["flags"], r["input_gradient"]) for r in rows] == [
    ("none", "", "false"), ("auto", "--arena 50%", "false"),
    ("none", "", "true"), ("auto", "--arena 50%", "true")], rows'

# ---- results that are kept -------------------------------------------------------------------------
# shellcheck disable=SC2086
neap bench lenet5 $quick --strategies none -o kept.json -q
expect 0
cp kept.json first.json
# shellcheck disable=SC2086
neap bench lenet5 $quick --strategies none -o kept.json
expect 0 'there already'
expect_out 'lenet5' 's a step'
cmp -s kept.json first.json || failed 'what was measured is measured again'
# shellcheck disable=SC2086
neap bench mlp $quick --strategies none,sqrt -o kept.json --format markdown
expect 0
check '
import json
lines = [line for line in open("out") if line.startswith("|")]
assert len(lines) == 4 and len({line.count("|") for line in lines}) == 1, lines
assert "---:" in lines[1] and "mlp" in lines[2] and "sqrt" in lines[3], lines
first, kept = (json.load(open(name))["rows"] for name in ("first.json", "kept.json"))
assert kept[0] == first[0] and len(kept) == 3, kept'

# Of another machine: what is there can be printed, and nothing added to it.
sed 's/threads: /strands: /' kept.json >other.json
cp other.json before.json
# shellcheck disable=SC2086
neap bench lenet5 $quick --strategies none -o other.json
expect 0 'there already'
# shellcheck disable=SC2086
neap bench lenet5 $quick --strategies sqrt -o other.json
expect_error 2 'other.json' 'another machine' 'another file'
cmp -s other.json before.json || failed 'results of another machine were changed'

# What is no file of results stays as it is.
for content in '' '{' '{}' '[1]' '{"format": "neap-bench/1", "version": "", "machine": "", "rows": [{}]}'; do
    printf '%s' "$content" >bad.json
    # shellcheck disable=SC2086
    neap bench lenet5 $quick --strategies none -o bad.json
    expect_error 4 'bad.json'
    [ "$(cat bad.json)" = "$content" ] || failed 'a file of something else was written over'
done
sed 's/"batch": 8/"batch": "8"/' first.json >bad.json
# shellcheck disable=SC2086
neap bench lenet5 $quick --strategies none -o bad.json
expect_error 4 "a row without 'batch'"
# shellcheck disable=SC2086
neap bench lenet5 $quick --strategies none -o no/such/folder.json
expect_error 1 'no/such/folder.json'

# ---- the suite -------------------------------------------------------------------------------------
suite='--suite ogc --networks alexnet --scale 1/256 --seconds 0.01 --cost model'
# shellcheck disable=SC2086
neap bench $suite -o suite.json --json
expect 0 '1 of 1: alexnet' '--max-overhead 30.6%'
check '
import json
bench = json.load(open("out"))
rows = bench["rows"]
assert bench["suite"] == "ogc" and bench["scale"] == 1 / 256, bench
assert [(r["batch"], r["limit"]) for r in rows] == [(4, "none"), (4, "arena"), (4, "overhead")]
assert rows[1]["flags"] == "--arena %d" % (3287 * 2**20 // 256), rows[1]
assert rows[1]["arena_planned_bytes"] <= 3287 * 2**20 // 256
assert rows[2]["overhead_planned"] <= 0.306 + 1e-9, rows[2]
assert "opt=none" in rows[0]["setup"] and "img=224" in rows[0]["setup"], rows[0]
assert len(bench["marks"]) == 6 and all(m["of"] == 1 for m in bench["marks"]), bench["marks"]
missed = [m["text"] for m in bench["marks"] if not m["met"]]
assert bool(missed) == bool(bench["misses"]), bench'
# shellcheck disable=SC2086
neap bench $suite -o suite.json
expect 0 'there already'
expect_out 'What the suite is to show' '14 wanted' 'Every row' '--max-overhead 30.6%'

# A dry run plans, on any device, and judges what it planned.
neap bench --suite ogc --networks alexnet,vgg11 --dry-run --cost model --device null --json
expect 0
check '
import json
bench = json.load(open("out"))
assert bench["planned_only"] and len(bench["rows"]) == 6
for row in bench["rows"]:
    assert row["steps"] == 0 and row["missing"] == "a dry run" and row["overhead"] is None, row
met = {mark["needed"]: mark["met"] for mark in bench["marks"]}
assert all(m["of"] == 2 for m in bench["marks"]), bench
assert bench["marks"][0]["met"] == 2, bench["marks"]  # planned overheads are judged'
neap bench lenet5 --dry-run -o dry.json
expect_error 2 'a dry run measures nothing'
expect_missing dry.json

# ---- what makes no sense ---------------------------------------------------------------------------
neap bench
expect_error 2 "needs a MODEL|--suite NAME"
neap bench resnet18 --suite ogc
expect_error 2 'a model or a suite'
neap bench --suite cifar
expect_error 2 "unknown suite 'cifar': there is ogc"
neap bench --suite ogc --networks resnet20
expect_error 2 "'resnet20' is no network of the suite"
neap bench --suite ogc --networks resnet18 --scale 1/7
expect_error 2 'resnet18' 'no whole number of samples'
for scale in 0 2 1/0 x 1/ /4 -1; do
    neap bench --suite ogc --scale "$scale"
    expect_error 2 'a number or a fraction (1/4)'
done
neap bench --suite ogc -b 4
expect_error 2 "'--batch' is for a model"
neap bench --suite ogc --strategies none
expect_error 2 "'--strategies' is for a model"
neap bench lenet5 --scale 1/4
expect_error 2 "'--scale' is for '--suite'"
neap bench lenet5 --strategies none,,auto
expect_error 2 'an empty name in the list'
neap bench lenet5 --strategies none,none
expect_error 2 "'none' is there twice"
neap bench lenet5 --strategies none,most
expect_error 2 "unknown strategy 'most'"
neap bench lenet5 --strategies none,sqrt --arena 50%
expect_error 2 "for the strategy 'auto'"
neap bench lenet5 --strategies none --micro-batch 4
expect_error 2 "for the strategy 'auto'"
neap bench lenet5 --precision fp31
expect_error 2 "unknown precision 'fp31'"
neap bench lenet5 --precision fp32,
expect_error 2 'an empty name in the list'
neap bench lenet5 --device null
expect_error 2 'runs nothing that could be measured'
neap bench lenet5 --json --format csv
expect_error 2 "'--json' is '--format json'"
neap bench lenet5 --format yaml
expect_error 2 "'yaml' is not one of table, csv, json, markdown"
neap bench nosuchmodel
expect_error 3 'not a model'
# shellcheck disable=SC2046
neap bench lenet5 $(printf -- '-m 1G %.0s' 1 2 3 4 5 6 7 8 9)
expect_error 2 'bounds are the most'
finish
