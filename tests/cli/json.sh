# The fields that --json promises, and what must hold between them.
# shellcheck shell=bash disable=SC1091,SC2034
. "$SOURCE_DIR/tests/support/cli.sh"
idx data

neap plan resnet20 -b 16 --arena 60% --json
expect 0
check '
import json
plan = json.load(open("out"))
top = """model batch micro_batch precision device optimizer parameters budget_bytes fits
    smallest_budget_bytes arena_lower_bound_bytes store_all plan""".split()
both = """peak_bytes arena_bytes weights_bytes gradients_bytes optimizer_bytes buffers_bytes
    step_seconds""".split()
own = """live_peak_bytes recompute_seconds overhead recomputed_ops micro_batches
    overhead_lower_bound gap solver_seconds strategy""".split()
missing = [key for key in top if key not in plan]
missing += [f"store_all.{key}" for key in both if key not in plan["store_all"]]
missing += [f"plan.{key}" for key in both + own if key not in plan["plan"]]
assert not missing, missing
assert plan["model"] == "resnet20" and plan["batch"] == 16 and plan["fits"] is True
assert plan["budget_bytes"] == plan["store_all"]["arena_bytes"] * 60 // 100
for part in (plan["store_all"], plan["plan"]):
    whole = sum(part[f"{key}_bytes"] for key in
                "weights gradients optimizer buffers host arena".split())
    assert part["peak_bytes"] == whole, (part["peak_bytes"], whole)
    assert part["live_peak_bytes"] <= part["arena_bytes"]
assert plan["plan"]["arena_bytes"] <= plan["budget_bytes"]
assert plan["plan"]["recomputed_ops"] > 0
gap = plan["plan"]["overhead"] - plan["plan"]["overhead_lower_bound"]
assert abs(plan["plan"]["gap"] - gap) < 1e-9'

neap plan mlp -o plan.json -q
expect 0
check '
import json
plan = json.load(open("plan.json"))
assert plan["format"] == "neap-plan/1"
keys = """model batch micro_batch micro_batches alignment_bytes arena_bytes live_peak_bytes values
    ops buffers steps""".split()
assert not [key for key in keys if key not in plan]'

neap verify resnet20 -b 8 --arena 60% --updates 2 --json
expect 0
check '
import json
report = json.load(open("out"))
keys = """identical updates loss gradients buffers masks arena_planned_bytes
    arena_measured_bytes""".split()
assert not [key for key in keys if key not in report], report
for key in ("gradients", "buffers", "masks"):
    assert sorted(report[key]) == ["differing", "tensors", "values"], report[key]
    assert report[key]["differing"] == 0
assert report["identical"] is True and report["updates"] == 2
assert report["gradients"]["tensors"] == 19 + 19 * 2 + 2  # convolutions, norms, the last layer
assert report["arena_planned_bytes"] == report["arena_measured_bytes"]'

neap train mlp --data data --val-data data -b 64 --epochs 2 --log-interval 1 --json -o run
expect 0
check '
import json
lines = [json.loads(line) for line in open("out")]
promised = {
    "banner": "model batch plan store_all",
    "update": "epoch update train_loss train_top1",
    "epoch": "epoch update train_loss train_top1 seconds images_per_second arena_bytes rss_bytes",
    "eval": "loss top1 top5",
    "saved": "path",
    "done": "peak_planned_bytes peak_measured_bytes rss_bytes updates seconds",
}
seen = {}
for line in lines:
    seen[line["event"]] = seen.get(line["event"], 0) + 1
    missing = [key for key in promised[line["event"]].split() if key not in line]
    assert not missing, (line, missing)
assert lines[0]["event"] == "banner" and lines[-1]["event"] == "done"
assert seen["epoch"] == 2 and seen["eval"] == 2 and seen["update"] == 8, seen
assert lines[-1]["updates"] == 8
assert lines[-1]["peak_planned_bytes"] == lines[-1]["peak_measured_bytes"]'

neap eval mlp --weights run --data data --json
expect 0
check '
import json
report = json.load(open("out"))
for key in "loss top1 top5 images seconds peak_planned_bytes peak_measured_bytes".split():
    assert key in report, key
assert report["images"] == 64'

for what in models datasets; do
    neap "$what" --json
    expect 0
    check "
import json
assert all(entry['name'] for entry in json.load(open('out'))['$what'])"
done
neap env --json
expect 0
check 'import json; assert len(json.load(open("out"))) > 2'
neap inspect mlp --json
expect 0
check '
import json
layers = json.load(open("out"))["layers"]
assert sum(layer["parameters"] for layer in layers) == 669706'
finish
