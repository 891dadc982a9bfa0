#!/usr/bin/env python3
"""Checks a plan.json by replaying it: check_plan.py PLAN.json

Knows the format "neap-plan/1" and its rules from the command line's contract alone, and nothing of
how plans are made. Of the contract's additions it knows one: an op with the field `alternative_of`
does the work of that op, and counts as it. Ops stand in their base order. Prints one line and exits 0 where every rule holds; otherwise prints each rule
that is broken and exits 1.
"""
import json
import sys
from collections import Counter, defaultdict

KINDS = {  # kind: must it be persistent? None: either
    "input": False, "parameter": True, "weight_copy": False, "activation": False, "saved": False,
    "gradient": False, "parameter_gradient": None, "optimizer_state": True, "buffer": True,
    "scratch": False, "loss": None,
}

NUMBER = (int, float)
FIELDS = {
    "plan": {"format": str, "model": str, "batch": int, "micro_batch": int, "micro_batches": int,
             "alignment_bytes": int, "arena_bytes": int, "live_peak_bytes": int,
             "values": list, "ops": list, "buffers": list, "steps": list},
    "values": {"id": int, "name": str, "bytes": int, "persistent": bool,
               "view_of": (int, type(None)), "kind": str},
    "ops": {"id": int, "name": str, "kind": str, "phase": str, "seconds": NUMBER, "inputs": list,
            "outputs": list, "updates": list, "may_overwrite": list, "effect": bool},
    "buffers": {"id": int, "value": int, "first_step": int, "last_step": int, "offset": int,
                "bytes": int, "in_place_of": (int, type(None))},
    "steps": {"op": int, "part": str, "recompute": bool, "reads": list, "writes": list,
              "updates": list},
}


class Malformed(Exception):
    """Ids or fields that the other rules cannot be checked without."""


def is_a(value, types):
    types = types if isinstance(types, tuple) else (types,)
    return type(value) in types  # a bool is no int here


def check_fields(thing, kind, where, broken):
    if not isinstance(thing, dict):
        broken.append(f"{where} is not an object")
        return
    for name, types in FIELDS[kind].items():
        if name not in thing:
            broken.append(f"{where} has no '{name}'")
        elif not is_a(thing[name], types):
            broken.append(f"{where}: '{name}' is {thing[name]!r}")


def check_shape(plan):
    """Every field there and of its type; every id an integer, known and given once."""
    broken = []
    check_fields(plan, "plan", "the plan", broken)
    if broken:
        raise Malformed(broken)
    for kind in ("values", "ops", "buffers", "steps"):
        for i, thing in enumerate(plan[kind]):
            check_fields(thing, kind, f"{kind}[{i}]", broken)
    if broken:
        raise Malformed(broken)
    known = {}
    for kind in ("values", "ops", "buffers"):
        ids = Counter(thing["id"] for thing in plan[kind])
        broken += [f"{kind}: id {i} is given {n} times" for i, n in ids.items() if n > 1]
        known[kind] = set(ids)

    def refer(ids, kind, where):
        broken.extend(f"{where}: {i!r} is no id in {kind}" for i in ids
                      if not is_a(i, int) or i not in known[kind])

    for v in plan["values"]:
        refer([v["view_of"]] if v["view_of"] is not None else [], "values", f"value {v['id']}")
    for op in plan["ops"]:
        where = f"op {op['id']}"
        refer([op["alternative_of"]] if "alternative_of" in op else [], "ops", where)
        refer(op["inputs"] + op["outputs"] + op["updates"], "values", where)
        for pair in op["may_overwrite"]:
            if is_a(pair, list) and len(pair) == 2:
                refer(pair, "values", where)
            else:
                broken.append(f"{where}: may_overwrite holds {pair!r}")
    for b in plan["buffers"]:
        refer([b["value"]], "values", f"buffer {b['id']}")
        refer([b["in_place_of"]] if b["in_place_of"] is not None else [], "buffers",
              f"buffer {b['id']}")
    for i, step in enumerate(plan["steps"]):
        refer([step["op"]], "ops", f"step {i}")
        refer(step["reads"] + step["writes"] + step["updates"], "buffers", f"step {i}")
    if broken:
        raise Malformed(broken)


class Checker:
    def __init__(self, plan):
        check_shape(plan)
        self.plan = plan
        self.steps = plan["steps"]
        self.values = {v["id"]: v for v in plan["values"]}
        self.ops = {op["id"]: op for op in plan["ops"]}
        self.buffers = {b["id"]: b for b in plan["buffers"]}
        self.of_value = defaultdict(list)
        for b in plan["buffers"]:
            self.of_value[b["value"]].append(b)
        self.broken = []
        self.roots = {v: self.find_root(v) for v in self.values}
        for op in self.ops.values():
            if "alternative_of" in self.primary_of(op):
                raise Malformed([f"op {op['id']} is an alternative of an alternative"])

    def say(self, text):
        self.broken.append(text)

    def find_root(self, value):
        seen = set()
        while self.values[value]["view_of"] is not None:
            if value in seen:
                raise Malformed([f"value {value} is a view of itself"])
            seen.add(value)
            value = self.values[value]["view_of"]
        return value

    def stored(self, ids):
        """The values with buffers behind these: roots, without the persistent ones."""
        return {self.roots[v] for v in ids if not self.values[self.roots[v]]["persistent"]}

    def made(self, op):
        """The values of which an execution starts a life: views make none."""
        return {v for v in op["outputs"]
                if self.values[v]["view_of"] is None and not self.values[v]["persistent"]}

    def primary_of(self, op):
        """The op whose work it does: itself, mostly."""
        return self.ops[op["alternative_of"]] if "alternative_of" in op else op

    def changed(self, op):
        """The values, persistent or not, that an execution makes or updates."""
        return ({v for v in op["outputs"] if self.values[v]["view_of"] is None} |
                {self.roots[v] for v in op["updates"]})

    def op_of(self, step):
        return self.ops[self.steps[step]["op"]]

    # ---- what does not depend on the steps ----

    def check_head(self):
        p = self.plan
        if p["format"] != "neap-plan/1":
            self.say(f"format is {p['format']!r}")
        for name in ("batch", "micro_batch", "micro_batches", "alignment_bytes"):
            if p[name] < 1:
                self.say(f"{name} is {p[name]}")
        if p["micro_batch"] >= 1 and p["micro_batches"] != -(-p["batch"] // p["micro_batch"]):
            self.say(f"{p['micro_batches']} micro-batches of {p['micro_batch']} "
                     f"are not a batch of {p['batch']}")

    def check_values(self):
        for v in self.values.values():
            where = f"value {v['id']} ('{v['name']}')"
            if v["kind"] not in KINDS:
                self.say(f"{where} is of kind {v['kind']!r}")
            elif v["view_of"] is None and KINDS[v["kind"]] not in (None, v["persistent"]):
                self.say(f"{where} of kind {v['kind']} has persistent = {v['persistent']}")
            if v["bytes"] < 0 or (v["view_of"] is not None and v["bytes"] != 0):
                self.say(f"{where} has {v['bytes']} bytes")
            if (v["persistent"] or v["view_of"] is not None) and self.of_value[v["id"]]:
                self.say(f"{where} is {'persistent' if v['persistent'] else 'a view'} "
                         f"and has a buffer")

    def check_ops(self):
        producers = Counter(v for v, _ in {(v, self.primary_of(op)["id"])
                                           for op in self.ops.values() for v in op["outputs"]})
        for v in self.values.values():
            n, is_input = producers[v["id"]], v["kind"] == "input" and v["view_of"] is None
            if n > 1 or (is_input and n):
                self.say(f"value {v['id']} is an output of {n} ops")
        for op in self.ops.values():
            where = f"op {op['id']} ('{op['name']}')"
            if op["phase"] not in ("forward", "backward", "update"):
                self.say(f"{where} is of phase {op['phase']!r}")
            if not op["seconds"] >= 0:
                self.say(f"{where} takes {op['seconds']} seconds")
            for name in ("inputs", "outputs", "updates"):
                if name != "inputs" and len(set(op[name])) != len(op[name]):
                    self.say(f"{where} has a value twice in its {name}")
            for source, target in op["may_overwrite"]:
                if (self.roots[source] not in {self.roots[v] for v in op["inputs"]} or
                        target not in op["outputs"]):
                    self.say(f"{where} may overwrite {source} by {target}, "
                             f"which are not its input and output")
            self.check_alternative(op)
        if not any(v["kind"] == "loss" and (producers[v["id"]] or self.updated(v["id"]))
                   for v in self.values.values()):
            self.say("no op makes a loss")

    def check_alternative(self, op):
        primary = self.primary_of(op)
        for name in ("phase", "effect"):
            if op[name] != primary[name]:
                self.say(f"op {op['id']} has another {name} than op {primary['id']}")
        lasting = [{v for v in self.changed(one) if self.values[v]["kind"] != "scratch"}
                   for one in (op, primary)]
        if lasting[0] != lasting[1]:
            self.say(f"op {op['id']} does not do what op {primary['id']} does")

    def updated(self, value):
        return any(value in op["updates"] for op in self.ops.values())

    # ---- the sequence ----

    def check_runs(self):
        runs = Counter()
        for i, step in enumerate(self.steps):
            op = self.primary_of(self.op_of(i))
            again = op["phase"] == "forward" and runs[op["id"]] > 0
            if step["recompute"] != again:
                self.say(f"step {i}: recompute is {step['recompute']}, op {op['id']} ran "
                         f"{runs[op['id']]} times before")
            runs[op["id"]] += 1
        for op in self.ops.values():
            if op is not self.primary_of(op):
                continue
            n, once = runs[op["id"]], op["phase"] != "forward" or op["effect"] or op["updates"]
            if n == 0 or (once and n > 1):
                self.say(f"op {op['id']} ('{op['name']}') runs {n} times")

    def check_parts(self):
        updating = False
        for i, step in enumerate(self.steps):
            if step["part"] not in ("micro", "update"):
                self.say(f"step {i} is of part {step['part']!r}")
            elif updating and step["part"] == "micro":
                self.say(f"step {i} is of a micro-batch, behind the update")
            updating = updating or step["part"] == "update"
            phase = self.op_of(i)["phase"]
            if step["part"] == "update" and phase != "update":
                self.say(f"step {i} runs a {phase} op in the update")
            if step["part"] == "micro" and phase == "update" and self.plan["micro_batches"] > 1:
                self.say(f"step {i} updates in each of {self.plan['micro_batches']} micro-batches")
        for b in self.buffers.values():
            parts = {self.steps[s]["part"] for s in (b["first_step"], b["last_step"])
                     if 0 <= s < len(self.steps)}
            if len(parts) > 1:
                self.say(f"buffer {b['id']} lives across the seam before the update")

    def check_versions(self):
        """Each access finds what it finds in the base order: the same op's work."""
        def accessed(op):
            return sorted({self.roots[v] for v in op["inputs"] + op["updates"]})

        left_by, found = {}, {}
        alternatives = defaultdict(list)
        for op in self.ops.values():
            alternatives[self.primary_of(op)["id"]].append(op)
        for primary in self.ops.values():
            for op in alternatives[primary["id"]]:
                found[op["id"]] = [left_by.get(v) for v in accessed(op)]
            if alternatives[primary["id"]]:
                left_by.update(dict.fromkeys(self.changed(primary), primary["id"]))
        final, left_by = left_by, {}
        for i in range(len(self.steps)):
            op = self.op_of(i)
            for v, maker in zip(accessed(op), found[op["id"]]):
                if left_by.get(v) != maker:
                    self.say(f"step {i} (op {op['id']}) finds value {v} as op {left_by.get(v)} "
                             f"left it, in the base order op {maker}")
            left_by.update(dict.fromkeys(self.changed(op), self.primary_of(op)["id"]))
        for v in self.values:
            if self.values[v]["persistent"] and left_by.get(v) != final.get(v):
                self.say(f"value {v} ends as op {left_by.get(v)} left it, in the base order "
                         f"op {final.get(v)}")

    # ---- lives ----

    def live_buffer(self, value, step):
        """The buffer of a value that a step can read: made before it, or an input's."""
        is_input = self.values[value]["kind"] == "input"
        found = [b["id"] for b in self.of_value[value]
                 if (b["first_step"] < step or is_input) and
                 b["first_step"] <= step <= b["last_step"]]
        return found[0] if found else None

    def check_reads(self, i, values, claimed, what):
        expected = set()
        for v in sorted(self.stored(values)):
            b = self.live_buffer(v, i)
            if b is None:
                self.say(f"step {i} {what} value {v}, which has no live buffer")
            else:
                expected.add(b)
        if set(claimed) != expected:
            self.say(f"step {i} {what} buffers {sorted(claimed)}, "
                     f"its op asks for {sorted(expected)}")

    def check_writes(self, i, step):
        expected = set()
        for v in self.made(self.ops[step["op"]]):
            fresh = [b["id"] for b in self.of_value[v] if b["first_step"] == i]
            if len(fresh) != 1:
                self.say(f"step {i} makes value {v}, of which {len(fresh)} buffers start there")
            expected.update(fresh)
        if set(step["writes"]) != expected or len(step["writes"]) != len(expected):
            self.say(f"step {i} writes buffers {sorted(step['writes'])}, "
                     f"its op makes {sorted(expected)}")

    def check_steps(self):
        for i, step in enumerate(self.steps):
            op = self.ops[step["op"]]
            self.check_reads(i, op["inputs"], step["reads"], "reads")
            self.check_reads(i, op["updates"], step["updates"], "updates")
            self.check_writes(i, step)

    def check_lives(self):
        last_use, written = {}, Counter()
        for i, step in enumerate(self.steps):
            for b in step["reads"] + step["updates"]:
                last_use[b] = i
            written.update(step["writes"])
        for b in self.buffers.values():
            where, value = f"buffer {b['id']}", self.values[b["value"]]
            if not 0 <= b["first_step"] <= b["last_step"] < len(self.steps):
                self.say(f"{where} lives from step {b['first_step']} to {b['last_step']}")
            if b["bytes"] != value["bytes"]:
                self.say(f"{where} has {b['bytes']} bytes, its value {value['bytes']}")
            if b["last_step"] != last_use.get(b["id"], b["first_step"]):
                self.say(f"{where} ends at step {b['last_step']}, its last use is at "
                         f"{last_use.get(b['id'], b['first_step'])}")
            if value["kind"] == "input" and b["first_step"] != 0:
                self.say(f"{where} of an input starts at step {b['first_step']}")
            if written[b["id"]] != (value["kind"] != "input"):
                self.say(f"{where} is written {written[b['id']]} times")
            if value["kind"] == "scratch" and b["first_step"] != b["last_step"]:
                self.say(f"{where} of scratch outlives its step")
        for v, buffers in self.of_value.items():
            lives = sorted((b["first_step"], b["last_step"], b["id"]) for b in buffers)
            for one, next_one in zip(lives, lives[1:]):
                if next_one[0] <= one[1]:
                    self.say(f"buffers {one[2]} and {next_one[2]} of value {v} live at once")

    # ---- bytes ----

    def check_in_place(self):
        taken = Counter()
        for b in self.buffers.values():
            if b["in_place_of"] is None:
                continue
            where, source = f"buffer {b['id']}", self.buffers[b["in_place_of"]]
            taken[source["id"]] += 1
            if b["first_step"] != source["last_step"]:
                self.say(f"{where} is in place of {source['id']}, which does not die there")
            if b["offset"] != source["offset"]:
                self.say(f"{where} is in place of {source['id']} at another offset")
            if not 0 <= b["first_step"] < len(self.steps):
                continue
            allowed = {(self.roots[x], y) for x, y in self.op_of(b["first_step"])["may_overwrite"]}
            if (source["value"], b["value"]) not in allowed:
                self.say(f"{where} is in place of {source['id']}, "
                         f"which its op may not overwrite")
        for b, n in taken.items():
            if n > 1:
                self.say(f"{n} buffers are in place of buffer {b}")

    def check_offsets(self):
        p, top = self.plan, 0
        for b in self.buffers.values():
            if b["offset"] < 0 or (p["alignment_bytes"] > 0 and b["offset"] % p["alignment_bytes"]):
                self.say(f"buffer {b['id']} lies at {b['offset']}, which is not aligned")
            top = max(top, b["offset"] + b["bytes"])
        if top != p["arena_bytes"]:
            self.say(f"arena_bytes is {p['arena_bytes']}, the highest buffer ends at {top}")

    def shared_bytes(self, lives, step):
        """Of buffers that share a step: bytes shared rightly; says which share wrongly."""
        shared = 0
        lives = sorted((b for b in lives if b["bytes"] > 0), key=lambda b: b["offset"])
        for i, low in enumerate(lives):
            for high in lives[i + 1:]:
                common = min(low["offset"] + low["bytes"], high["offset"] + high["bytes"])
                common -= high["offset"]
                if common <= 0:
                    break
                linked = any(a["in_place_of"] == b["id"] and
                             a["first_step"] == step == b["last_step"]
                             for a, b in ((low, high), (high, low)))
                if linked:
                    shared += common
                elif step in (low["first_step"], high["first_step"]):
                    self.say(f"buffers {low['id']} and {high['id']} share bytes in step {step}")
        return shared

    def check_bytes(self):
        coming, live, peak = defaultdict(list), [], 0
        for b in self.buffers.values():
            coming[b["first_step"]].append(b)
        for i in range(len(self.steps)):
            live = [b for b in live if b["last_step"] >= i] + coming[i]
            bytes_live = sum(b["bytes"] for b in live)
            if coming[i]:
                bytes_live -= self.shared_bytes(live, i)
            peak = max(peak, bytes_live)
        if peak != self.plan["live_peak_bytes"]:
            self.say(f"live_peak_bytes is {self.plan['live_peak_bytes']}, "
                     f"{peak} are live at once")

    def run(self):
        for check in (self.check_head, self.check_values, self.check_ops, self.check_runs,
                      self.check_parts, self.check_versions, self.check_steps, self.check_lives,
                      self.check_in_place, self.check_offsets, self.check_bytes):
            check()
        return self.broken


def check_plan(plan):
    """The rules that are broken, in words; empty for a valid plan."""
    try:
        return Checker(plan).run()
    except Malformed as malformed:
        return malformed.args[0]


def main():
    if len(sys.argv) != 2:
        print("usage: check_plan.py PLAN.json", file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            plan = json.load(file)
    except (OSError, ValueError) as error:
        print(f"{sys.argv[1]}: {error}")
        return 1
    broken = check_plan(plan)
    for text in broken:
        print(text)
    if broken:
        return 1
    print(f"ok: {len(plan['steps'])} steps, {len(plan['buffers'])} buffers, "
          f"peak {plan['live_peak_bytes']}, arena {plan['arena_bytes']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
