# A saved plan is run as it is, by whoever has the same step; anything else is refused, saying what
# differs. A plan's schedule alone serves as a strategy at any batch.
# shellcheck shell=bash disable=SC1091,SC2034
. "$SOURCE_DIR/tests/support/cli.sh"
idx data

# ---- as it is --------------------------------------------------------------------------------------
neap plan resnet20 --img-size 28 --num-classes 10 -b 8 --arena 50% -o plan.json
expect 0
neap plan lenet5 -b 8 --recompute sequential:2 -o lenet.json
expect 0
neap plan lenet5 -b 8 --plan lenet.json -o again.json
expect 0
cmp -s lenet.json again.json || failed 'the same plan, saved again, differs'
neap verify lenet5 -b 8 --plan lenet.json --updates 2 --json
expect 0
check '
import json
report, plan = json.load(open("out")), json.load(open("lenet.json"))
assert report["identical"] is True and report["recomputed_ops"] > 0
assert report["arena_planned_bytes"] == plan["arena_bytes"]
assert report["arena_planned_bytes"] - report["arena_measured_bytes"] <= 1024'
for how in "--plan lenet.json" "--recompute lenet.json" "--recompute none"; do
    # shellcheck disable=SC2086
    neap train lenet5 --data data -b 8 $how -o "run${how// /}" -q
    expect 0
done
cmp -s run--planlenet.json/last/model.safetensors run--recomputenone/last/model.safetensors ||
    failed 'the plan changes the weights'
cmp -s run--recomputelenet.json/last/model.safetensors run--recomputenone/last/model.safetensors ||
    failed 'the schedule changes the weights'
cmp -s run--planlenet.json/plan.json lenet.json || failed 'the run has another plan'
# 256 samples in batches of 60 leave 16: the short batch has a plan of its own
neap plan lenet5 -b 60 --recompute all -o sixty.json
neap train lenet5 --data data -b 60 --plan sixty.json --max-updates 6 --epochs 2 -q
expect 0

# By hand: what neap would not have placed so is a plan nonetheless.
check '
import json
plan = json.load(open("lenet.json"))
for buffer in plan["buffers"]:
    buffer["offset"] += 4096
plan["arena_bytes"] += 4096
json.dump(plan, open("higher.json", "w"))'
neap verify lenet5 -b 8 --plan higher.json --updates 1 --json
expect 0
check '
import json
a, b = (json.load(open(f))["arena_bytes"] for f in ("higher.json", "lenet.json"))
assert json.load(open("out"))["arena_planned_bytes"] == a == b + 4096'

# ---- of another step -----------------------------------------------------------------------------
refused() { # CODE TEXT OPTIONS...
    local code=$1 text=$2
    shift 2
    neap plan "$@"
    expect_error "$code" "$text"
}
refused 2 'a plan for batch 8 in slices of 8, here they are 16 and 16 (-b 8 --micro-batch 8' \
    lenet5 -b 16 --plan lenet.json
refused 2 'in slices of 8' lenet5 -b 8 --micro-batch 4 --plan lenet.json
refused 2 'exp_avg' lenet5 -b 8 --opt adam --plan lenet.json
refused 2 'is persistent here alone' lenet5 -b 8 --fuse-update off --plan lenet.json
refused 2 "is a plan of another step: value 'images'" lenet5 -b 8 --plan plan.json
refused 2 'is a plan of another step' resnet20 -b 8 --recompute lenet.json
refused 2 'give one' lenet5 -b 8 --plan lenet.json --recompute all
refused 2 'give one' lenet5 -b 8 --plan lenet.json --recompute-layers conv1
refused 2 'one batch and one slicing' lenet5 -b max -m 1G --plan lenet.json
refused 2 'one batch and one slicing' lenet5 -b 8 --micro-batch auto --recompute lenet.json
refused 2 'cannot be told' lenet5 -b 8 -m min --plan lenet.json
refused 5 'does not fit' lenet5 -b 8 --arena 64K --plan lenet.json
refused 4 'no-such.json' lenet5 -b 8 --plan no-such.json
refused 2 "unknown strategy 'no-such'" lenet5 -b 8 --recompute no-such

# ---- no plan at all, and plans that break a rule ---------------------------------------------------
cat >broken.py <<'PYTHON'
import copy, json, sys
good = json.load(open("lenet.json"))
def steps(p): p["steps"].pop(3)
def twice(p): p["steps"].append(p["steps"][-1])
def order(p): p["steps"][0], p["steps"][5] = p["steps"][5], p["steps"][0]
def overlap(p): p["buffers"][1]["offset"] = p["buffers"][0]["offset"]
def arena(p): p["arena_bytes"] -= 128
def life(p): p["buffers"][2]["last_step"] -= 1
def aligned(p): p["buffers"][3]["offset"] += 4
def negative(p): p["buffers"][0]["offset"] = -128
def huge(p): p["buffers"][0]["offset"] = 1 << 62
def missing(p): del p["buffers"]
def op(p): p["steps"][0]["op"] = 100000
def text(p): p["steps"][0]["op"] = "0"
def value(p): p["values"][0]["bytes"] += 128
def name(p): p["ops"][0]["name"] = "other"
def inputs(p): p["ops"][1]["inputs"] = [0]
def fewer(p): p["ops"].pop()
def format(p): p["format"] = "neap-plan/2"
def null(p): p["values"][0] = None
def in_place(p): p["buffers"][4]["in_place_of"] = 0
for break_it in (steps, twice, order, overlap, arena, life, aligned, negative, huge, missing, op,
                 text, value, name, inputs, fewer, format, null, in_place):
    plan = copy.deepcopy(good)
    break_it(plan)
    json.dump(plan, open(f"broken-{break_it.__name__}.json", "w"))
text = open("lenet.json").read()
for k in range(12):
    open(f"broken-cut{k}.json", "w").write(text[:len(text) * k // 12])
PYTHON
python3 broken.py
for file in broken-*.json; do
    neap verify lenet5 -b 8 --plan "$file" --updates 1
    case $file in
    broken-value.json | broken-name.json | broken-inputs.json | broken-fewer.json)
        expect_error 2 "$file is a plan of another step" ;;
    *) expect_error 4 "$file" ;;
    esac
done
neap verify lenet5 -b 8 --plan broken-overlap.json
expect_error 4 "breaks 'overlap'"

# ---- the schedule as a strategy --------------------------------------------------------------------
neap verify resnet20 --img-size 28 --num-classes 10 -b 12 --recompute plan.json --updates 1 --json
expect 0
check '
import json
report = json.load(open("out"))
steps = json.load(open("plan.json"))["steps"]
assert report["identical"] is True
assert report["recomputed_ops"] == sum(step["recompute"] for step in steps) > 0'
finish
