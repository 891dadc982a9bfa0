# The frontier of memory and time, and files about plans: --curve and --emit.
# shellcheck shell=bash disable=SC1091,SC2034
. "$SOURCE_DIR/tests/support/cli.sh"

neap plan mlp -b 32 --curve 6 --json --emit svg curve.svg --emit csv curve.csv
expect 0 'wrote curve.svg' 'wrote curve.csv'
cp curve.svg first.svg
cp curve.csv first.csv
check '
import csv, json
plan = json.load(open("out"))
curve = plan["curve"]
keys = "peak_bytes arena_bytes overhead overhead_lower_bound strategy".split()
assert curve and all(key in point for point in curve for key in keys), curve
for a, b in zip(curve, curve[1:]):
    assert a["arena_bytes"] < b["arena_bytes"] and a["overhead"] > b["overhead"], (a, b)
outside = plan["store_all"]["peak_bytes"] - plan["store_all"]["arena_bytes"]
for point in curve + plan["curve_strategies"]:
    assert point["peak_bytes"] - point["arena_bytes"] == outside
    assert point["overhead"] >= point["overhead_lower_bound"] - 1e-9
    assert point["arena_bytes"] >= plan["arena_lower_bound_bytes"]
assert curve[-1]["overhead"] == 0
for mark in plan["curve_strategies"]:
    fitting = [p["overhead"] for p in curve if p["arena_bytes"] <= mark["arena_bytes"]]
    assert min(fitting) <= mark["overhead"] + 1e-9, mark
assert plan["curve_strategies"][0]["strategy"] == "none"

rows = list(csv.DictReader(open("curve.csv")))
own = [row for row in rows if row["series"] == "neap"]
assert [int(row["arena_bytes"]) for row in own] == [p["arena_bytes"] for p in curve]
for row, point in zip(own, curve):
    assert abs(float(row["overhead"]) - point["overhead"]) < 1e-8
assert {row["series"] for row in rows} == {"neap", "strategy", "bound", "floor"}
floor = [row for row in rows if row["series"] == "floor"]
assert [int(row["arena_bytes"]) for row in floor] == [plan["arena_lower_bound_bytes"]]'
svg='
import xml.etree.ElementTree as tree
root = tree.parse(NAME).getroot()
space = "{http://www.w3.org/2000/svg}"
assert root.tag == space + "svg"
shapes = list(root.iter())
ground = root.find(space + "rect")
assert ground.get("fill") == "#ffffff" and float(ground.get("width")) == float(root.get("width"))
text = [shape.text for shape in root.iter(space + "text")]
width, height = float(root.get("width")), float(root.get("height"))
for shape in root.iter(space + "text"):
    if shape.get("x"):
        assert 0 <= float(shape.get("x")) <= width and 0 <= float(shape.get("y")) <= height'
check "NAME = 'curve.svg'$svg
for word in 'neap', 'store-all', 'lower bound', 'overhead (%)', '% of store-all', 'mlp, batch 32':
    assert word in text, word
assert 'arena (KiB)' in text or 'arena (MiB)' in text, text
assert any(shape.get('stroke-dasharray') for shape in shapes)
assert root.find('.//' + space + 'pattern') is not None
import csv
points = sum(row['series'] == 'neap' for row in csv.DictReader(open('curve.csv')))
assert sum(1 for c in root.iter(space + 'circle') if c.get('r') == '3.00') == points + 1  # legend"

# The same call, the same bytes.
neap plan mlp -b 32 --curve 6 -q --emit svg curve.svg --emit csv curve.csv
expect 0
cmp -s curve.svg first.svg || failed 'another figure'
cmp -s curve.csv first.csv || failed 'other numbers'
[ -s err ] && failed '-q is not quiet'
expect_out 'overhead' 'lower bound' '100.0 %' 'no plan needs less than'

# N may be left out, and a model is no number.
neap plan --curve mlp -b 4 -q
expect 0
expect_out 'no plan needs less than'
neap plan mlp -b 4 --curve=2 --json
expect 0
check 'import json; assert 1 <= len(json.load(open("out"))["curve"])'
neap plan mlp -b 4 --json
expect 0
check 'import json; assert "curve" not in json.load(open("out"))'
for value in 0 1 1001 x; do
    neap plan mlp "--curve=$value"
    expect_error 2 "option '--curve': '$value' is not a whole number"
done
neap train mlp --data synthetic --curve
expect_error 2 "does not take '--curve'"

# In slices: bytes are a slice's, percent are of the whole batch in one piece.
neap plan mlp -b 32 --micro-batch 8 --curve 4 --json
expect 0
check '
import json
plan = json.load(open("out"))
last = plan["curve"][-1]
assert last["arena_bytes"] < plan["store_all"]["arena_bytes"]
assert last["recomputed_ops"] == 0 and abs(last["overhead"] - plan["plan"]["overhead"]) < 1e-9, last'

# The frontier is there where the budget is too small; the plan is not.
neap plan mlp -b 32 --arena 1% --curve 3 --emit svg small.svg --emit dot small.dot
expect_error 5 'does not fit' 
expect_out 'no plan needs less than'
[ -s small.svg ] || failed 'no figure of the frontier'
expect_missing small.dot

# One plan: its memory over the steps, as a figure and as numbers.
neap plan resnet20 -b 8 --arena 60% --json --emit svg plan.svg --emit csv plan.csv \
    --emit dot plan.dot --emit torch plan.py -o plan.json
expect 0 'wrote plan.dot' 'wrote plan.py'
check '
import csv, json
plan, steps = json.load(open("out")), json.load(open("plan.json"))["steps"]
rows = list(csv.DictReader(open("plan.csv")))
assert [int(row["step"]) for row in rows] == list(range(len(steps)))
assert [row["recompute"] == "1" for row in rows] == [step["recompute"] for step in steps]
assert max(int(row["live_bytes"]) for row in rows) == plan["plan"]["live_peak_bytes"]
seconds = sum(float(row["seconds"]) for row in rows)
assert abs(seconds / plan["plan"]["step_seconds"] - 1) < 1e-6'
check "NAME = 'plan.svg'$svg
for word in 'resnet20, batch 8', 'step', 'recomputed', 'kept for backward', 'forward', 'backward':
    assert word in text, word
for start in 'worst moment: step', 'store-all, ', 'arena, ':
    assert any(t.startswith(start) for t in text), start
import json
drawn = len(list(root.iter(space + 'g')))
buffers = json.load(open('plan.json'))['buffers']
assert drawn == sum(b['first_step'] + (b['in_place_of'] is not None) <= b['last_step']
                    for b in buffers), drawn"
check '
import json, re
plan = json.load(open("plan.json"))
text = open("plan.dot").read()
assert text.startswith("digraph step {") and text.rstrip().endswith("}")
nodes = re.findall(r"^  n(\d+) \[label=\"((?:[^\"\\]|\\.)*)\", fillcolor=\"(#\w+)\"", text, re.M)
edges = re.findall(r"^  n(\d+) -> n(\d+) \[", text, re.M)
ids = {n for n, label, colour in nodes}
assert len(nodes) == len(ids) and all(a in ids and b in ids for a, b in edges)
colour = dict(re.findall(r"legend\d \[label=\"([\w ,]+)\", fillcolor=\"(#\w+)\"", text))
again = {step["op"] for step in plan["steps"] if step["recompute"]}
assert sum(c == colour["recomputed"] for n, label, c in nodes) == len(again) > 0
assert sum("runs" in label for n, label, c in nodes) == len(again)
assert sum(c == colour["backward"] for n, label, c in nodes) == \
    sum(op["phase"] == "backward" and op.get("alternative_of") is None for op in plan["ops"])'
check '
import ast
tree = ast.parse(open("plan.py").read())
names = {t.id: node.value for node in tree.body if isinstance(node, ast.Assign)
         for t in node.targets}
modules = ast.literal_eval(names["MODULES"])
assert modules and all(name.startswith("layer") for name in modules), modules
assert ast.literal_eval(names["RUNS"]) == []
assert {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} >= {"apply"}'

# Of a Sequential: runs of children, which the file itself can apply. A model of plain Python stands
# in for PyTorch, whose checkpoint(function, *arguments) calls the function.
neap plan vgg11 -b 8 --img-size 64 --recompute all --json --emit torch plan.py
expect 0
check '
import sys, types
calls = []
def checkpoint(function, *arguments, use_reentrant):
    calls.append(arguments[:-1])
    return function(*arguments)
module = types.ModuleType("torch.utils.checkpoint")
module.checkpoint = checkpoint
sys.modules.update({"torch": types.ModuleType("torch"), "torch.utils": types.ModuleType("utils"),
                    "torch.utils.checkpoint": module})
sys.path.insert(0, ".")
import plan
assert plan.RUNS and plan.MODULES == []
assert all(0 <= first < end for name, first, end in plan.RUNS)
class Sequential(list):
    pass
class Model:
    def __init__(self):
        self.parts = {"features": Sequential((lambda x, i=i: x + [i]) for i in range(21)),
                      "classifier": Sequential((lambda x, i=i: x + [i]) for i in range(7))}
    def get_submodule(self, name):
        return self.parts[name]
model = plan.apply(Model())
for name in {run[0] for run in plan.RUNS}:
    part = model.get_submodule(name)
    assert part.forward([]) == list(range(len(part))), name
assert len(calls) == len(plan.RUNS)'

# A bare problem's frontier is of its live peak.
printf '5\n1 10 0\n1 8 1 0\n1 8 1 1\n1 4 2 2 0\n1 1 2 3 1\n' >small.problem
neap plan small.problem --curve 5 --json --emit svg curve.svg --emit csv curve.csv
expect 0
check '
import json
problem = json.load(open("out"))
curve = problem["curve"]
assert curve[-1]["overhead"] == 0
assert all(p["peak_bytes"] == p["live_peak_bytes"] <= p["arena_bytes"] for p in curve)
assert curve[0]["peak_bytes"] <= problem["smallest_budget_bytes"], curve[0]'
check "NAME = 'curve.svg'$svg
assert 'live peak (B)' in text and 'small.problem' in text, text"
neap plan small.problem --emit svg curve.svg
expect_error 2 "goes with '--curve'"
neap plan small.problem --curve --emit torch plan.py
expect_error 2 'are for models'

# Arguments.
neap plan mlp --emit
expect_error 2 "option '--emit' needs two values: dot|svg|csv|torch FILE"
neap plan mlp --emit svg
expect_error 2 "option '--emit' needs two values"
neap plan mlp --emit svg --json
expect_error 2 "option '--emit' needs two values"
neap plan mlp --emit gif out.gif
expect_error 2 "option '--emit': 'gif' is not one of dot, svg, csv, torch"
neap plan mlp --emit=csv one.csv -q
expect 0
[ -s one.csv ] || failed 'no one.csv'
neap plan mlp --emit svg no-such-folder/plan.svg
expect_error 1 'no-such-folder'
echo '{"emit": {"svg": "a.svg", "csv": "a.csv"}, "curve": 3}' >config.json
neap plan mlp -b 4 --config config.json -q
expect 0
{ [ -s a.svg ] && [ -s a.csv ]; } || failed 'not written from a config'
expect_out 'no plan needs less than'
echo '{"emit": "svg"}' >config.json
neap plan mlp --config config.json
expect_error 2 "'emit' takes an object"
echo '{"emit": {"svg": 3}}' >config.json
neap plan mlp --config config.json
expect_error 2 "'svg' takes a string"
finish
