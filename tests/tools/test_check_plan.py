#!/usr/bin/env python3
"""check_plan.py accepts a good plan and notices each rule broken in it."""
import copy
import sys

from check_plan import check_plan

# x, y → z in place, h a view of z; w's gradient is summed; y is made again for the backward.
VALUES = [  # name, bytes, kind, view of
    ("x", 128, "input", None), ("w", 64, "parameter", None), ("n", 64, "buffer", None),
    ("y", 256, "activation", None), ("tmp", 64, "scratch", None), ("z", 256, "activation", None),
    ("h", 0, "activation", "z"), ("loss", 64, "loss", None), ("dh", 256, "gradient", None),
    ("dy", 256, "gradient", None), ("dw", 64, "parameter_gradient", None),
]
PERSISTENT = {"w", "n", "loss", "dw"}
OPS = [  # name, phase, inputs, outputs, updates, may_overwrite, effect
    ("conv", "forward", "x w", "y tmp", "", [], False),
    ("count", "forward", "y", "", "n", [], True),
    ("relu", "forward", "y", "z", "", [("y", "z")], False),
    ("flatten", "forward", "z", "h", "", [], False),
    ("loss", "forward", "h", "loss dh", "", [], False),
    ("drelu", "backward", "dh y", "dy", "", [("dh", "dy")], False),
    ("dconv", "backward", "dy x", "", "dw", [], False),
    ("sgd", "update", "dw", "", "w", [], True),
    ("count2", "forward", "y x", "", "n", [], True),
]
ALTERNATIVES = {"count2": "count"}
BUFFERS = [  # value, first, last, offset, in place of; live bytes by step:
    ("x", 0, 7, 0, None),      # 448 384 384 384 640 704 640 384 0
    ("y", 0, 2, 128, None),
    ("tmp", 0, 0, 384, None),
    ("z", 2, 4, 128, 1),
    ("dh", 4, 6, 384, None),
    ("y", 5, 6, 128, None),
    ("tmp", 5, 5, 640, None),
    ("dy", 6, 7, 384, 4),
]
STEPS = [  # op, reads, writes
    ("conv", [0], [1, 2]), ("count", [1], []), ("relu", [1], [3]), ("flatten", [3], []),
    ("loss", [3], [4]), ("conv", [0], [5, 6]), ("drelu", [4, 5], [7]), ("dconv", [7, 0], []),
    ("sgd", [], []),
]


def good_plan():
    value = {name: i for i, (name, *_) in enumerate(VALUES)}
    op = {name: i for i, (name, *_) in enumerate(OPS)}
    size = {name: n for name, n, *_ in VALUES}

    def ids(names):
        return [value[name] for name in names.split()]

    return {
        "format": "neap-plan/1", "model": "tiny", "batch": 2, "micro_batch": 2,
        "micro_batches": 1, "alignment_bytes": 64, "arena_bytes": 704, "live_peak_bytes": 704,
        "values": [{"id": value[name], "name": name, "bytes": n, "kind": kind,
                    "persistent": name in PERSISTENT, "view_of": value.get(of)}
                   for name, n, kind, of in VALUES],
        "ops": [{"id": op[name], "name": name, "kind": name, "phase": phase, "seconds": 0.5,
                 "inputs": ids(inputs), "outputs": ids(outputs), "updates": ids(updates),
                 "may_overwrite": [[value[a], value[b]] for a, b in overwrites], "effect": effect,
                 **({"alternative_of": op[ALTERNATIVES[name]]} if name in ALTERNATIVES else {})}
                for name, phase, inputs, outputs, updates, overwrites, effect in OPS],
        "buffers": [{"id": i, "value": value[name], "first_step": first, "last_step": last,
                     "offset": offset, "bytes": size[name], "in_place_of": source}
                    for i, (name, first, last, offset, source) in enumerate(BUFFERS)],
        "steps": [{"op": op[name], "part": "update" if name == "sgd" else "micro",
                   "recompute": i == 5, "reads": reads, "writes": writes, "updates": []}
                  for i, (name, reads, writes) in enumerate(STEPS)],
    }


def setting(path, new):
    """The change that sets plan[path[0]][path[1]]… to `new`."""
    def change(plan):
        for key in path[:-1]:
            plan = plan[key]
        plan[path[-1]] = new
    return change


def removing(path):
    def change(plan):
        for key in path[:-1]:
            plan = plan[key]
        del plan[path[-1]]
    return change


def adding(kind, entry, **changes):
    def change(plan):
        plan[kind].append({**copy.deepcopy(plan[kind][entry]), **changes})
    return change


def exchanging(kind, one, other):
    def change(plan):
        plan[kind][one], plan[kind][other] = plan[kind][other], plan[kind][one]
    return change


def both(*changes):
    def change(plan):
        for one in changes:
            one(plan)
    return change


X, W, N, Y, TMP, Z, H, LOSS, DH, DY, DW = range(11)
BROKEN = [  # what is said, the change
    ("format is", setting(["format"], "neap-plan/2")),
    ("'batch' is", setting(["batch"], 2.0)),
    ("has no 'model'", removing(["model"])),
    ("'steps' is", setting(["steps"], None)),
    ("'effect' is", setting(["ops", 0, "effect"], 0)),
    ("'id' is", setting(["values", 3, "id"], "3")),
    ("'id' is", setting(["buffers", 0, "id"], False)),
    ("is given 2 times", setting(["values", 3, "id"], 4)),
    ("is no id in values", setting(["ops", 0, "inputs"], [X, 99])),
    ("is no id in values", setting(["buffers", 0, "value"], 99)),
    ("is no id in values", setting(["ops", 2, "may_overwrite"], [[Y, 99]])),
    ("may_overwrite holds", setting(["ops", 2, "may_overwrite"], [[Y]])),
    ("is no id in buffers", setting(["steps", 0, "reads"], [99])),
    ("is no id in buffers", setting(["steps", 0, "reads"], [True])),
    ("is no id in buffers", setting(["buffers", 3, "in_place_of"], 99)),
    ("is no id in ops", setting(["steps", 0, "op"], 99)),
    ("is a view of itself", setting(["values", H, "view_of"], H)),
    ("are not a batch", setting(["micro_batches"], 2)),
    ("alignment_bytes is 0", setting(["alignment_bytes"], 0)),
    ("is of kind", setting(["values", Y, "kind"], "tensor")),
    ("has persistent", setting(["values", W, "kind"], "activation")),
    ("has persistent", setting(["values", Y, "kind"], "optimizer_state")),
    ("is persistent and has a buffer", setting(["values", Y, "persistent"], True)),
    ("is a view and has a buffer", adding("buffers", 3, id=8, value=H, bytes=0)),
    ("has 64 bytes", setting(["values", H, "bytes"], 64)),
    ("is an output of", setting(["ops", 6, "outputs"], [Y])),
    ("is an output of", setting(["ops", 6, "outputs"], [X])),
    ("is of phase", setting(["ops", 0, "phase"], "sideways")),
    ("seconds", setting(["ops", 0, "seconds"], -1)),
    ("twice in its outputs", setting(["ops", 0, "outputs"], [Y, TMP, TMP])),
    ("may overwrite", setting(["ops", 0, "may_overwrite"], [[Y, Y]])),
    ("no op makes a loss", setting(["values", LOSS, "kind"], "parameter_gradient")),
    ("recompute is False", setting(["steps", 5, "recompute"], False)),
    ("recompute is True", setting(["steps", 0, "recompute"], True)),
    ("runs 0 times", removing(["steps", 8])),
    ("runs 2 times", adding("steps", 8)),
    ("runs 2 times", setting(["ops", 0, "effect"], True)),
    ("is of part", setting(["steps", 0, "part"], "other")),
    ("behind the update", setting(["steps", 6, "part"], "update")),
    ("op in the update", setting(["steps", 7, "part"], "update")),
    ("micro-batches", both(setting(["batch"], 4), setting(["micro_batches"], 2),
                           setting(["steps", 8, "part"], "micro"))),
    ("lives across the seam", both(setting(["buffers", 7, "last_step"], 8),
                                   setting(["steps", 8, "reads"], [7]),
                                   setting(["ops", 7, "inputs"], [DW, DY]))),
    ("finds value", setting(["ops", 1, "updates"], [W])),
    ("finds value", both(setting(["ops", 1, "inputs"], [Y, DW]), exchanging("steps", 1, 2),
                         setting(["ops", 2, "updates"], [DW]))),
    ("ends as op 0 left it", setting(["ops", 0, "updates"], [N])),
    ("is no id in ops", setting(["ops", 8, "alternative_of"], 99)),
    ("is an alternative of an alternative", setting(["ops", 8, "alternative_of"], 8)),
    ("does not do what", setting(["ops", 8, "updates"], [])),
    ("another effect", setting(["ops", 8, "effect"], False)),
    ("runs 2 times", adding("steps", 1, op=8)),
    ("is an output of", setting(["ops", 8, "outputs"], [Z])),
    ("reads buffers", setting(["steps", 1, "op"], 8)),
    ("has no live buffer", setting(["ops", 0, "inputs"], [X, W, DY])),
    ("reads buffers", setting(["steps", 6, "reads"], [4])),
    ("reads buffers", setting(["steps", 6, "reads"], [4, 1])),
    ("reads buffers", setting(["steps", 6, "reads"], [4, 5, 0])),
    ("updates buffers", setting(["steps", 6, "updates"], [0])),
    ("has no live buffer", setting(["ops", 5, "updates"], [Z])),
    ("writes buffers", setting(["steps", 0, "writes"], [1])),
    ("writes buffers", setting(["steps", 0, "writes"], [1, 2, 2])),
    ("buffers start there", setting(["buffers", 2, "value"], Y)),
    ("lives from step", setting(["buffers", 7, "last_step"], 9)),
    ("lives from step", setting(["buffers", 0, "first_step"], -1)),
    ("its value", setting(["buffers", 0, "bytes"], 64)),
    ("its last use is at", setting(["buffers", 4, "last_step"], 7)),
    ("its last use is at", setting(["buffers", 1, "last_step"], 1)),
    ("of an input starts", setting(["buffers", 0, "first_step"], 1)),
    ("is written 0 times", setting(["steps", 2, "writes"], [])),
    ("outlives its step", setting(["buffers", 6, "last_step"], 6)),
    ("live at once", setting(["buffers", 1, "last_step"], 5)),
    ("does not die there", setting(["buffers", 7, "in_place_of"], 3)),
    ("at another offset", setting(["buffers", 7, "offset"], 640)),
    ("may not overwrite", setting(["ops", 2, "may_overwrite"], [])),
    ("buffers are in place of", setting(["buffers", 5, "in_place_of"], 4)),
    ("is not aligned", setting(["buffers", 6, "offset"], 641)),
    ("is not aligned", setting(["buffers", 0, "offset"], -64)),
    ("arena_bytes is", setting(["arena_bytes"], 768)),
    ("share bytes in step 5", setting(["buffers", 6, "offset"], 128)),
    ("share bytes in step 2", setting(["buffers", 3, "in_place_of"], None)),
    ("live_peak_bytes is", setting(["live_peak_bytes"], 640)),
]


def main():
    alternative = good_plan()
    both(setting(["steps", 1, "op"], 8), setting(["steps", 1, "reads"], [1, 0]))(alternative)
    failures = [f"a good plan is refused: {text}"
                for text in check_plan(good_plan()) + check_plan(alternative)]
    for i, (said, change) in enumerate(BROKEN):
        plan = good_plan()
        change(plan)
        broken = check_plan(plan)
        if not any(said in text for text in broken):
            failures.append(f"change {i}: nothing says '{said}': {broken}")
    for text in failures:
        print(text)
    print(f"{len(BROKEN)} broken plans, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
