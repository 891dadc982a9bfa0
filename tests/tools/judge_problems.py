#!/usr/bin/env python3
"""Plans bare problems with neap and holds what it reports against the schedules that it writes:
judge_problems.py [--options OPTIONS] FILE.problem... BUDGET...

A budget is what --arena takes. Each problem is planned at each, in both orders; the schedule is
judged by replay_schedule.py, and the report's peak, cost, budget and bounds must agree with it.
Prints a line for each plan. NEAP names the command.
"""
import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

import replay_schedule


class Disagreement(Exception):
    """What the report and the schedule do not agree on."""


def expect(condition, what):
    if not condition:
        raise Disagreement(what)


def same(a, b):
    return abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))


def run_neap(path, budget, order, options):
    """The report, and the steps of the schedule or None where the budget is not met."""
    with tempfile.TemporaryDirectory() as folder:
        schedule = os.path.join(folder, "schedule")
        command = [os.environ["NEAP"], "plan", path, "--arena", str(budget), "--order", order,
                   "--json", "-q", "-o", schedule, *options]
        done = subprocess.run(command, capture_output=True, text=True)
        expect(done.returncode in (0, 5), f"exit code {done.returncode}: {done.stderr.strip()}")
        report = json.loads(done.stdout)
        expect(report["fits"] == (done.returncode == 0), "fits and the exit code disagree")
        expect(report["fits"] == os.path.exists(schedule), "fits and the file disagree")
        if not report["fits"]:
            return report, None
        return report, replay_schedule.read_schedule(schedule, report["ops"])


def check_budget(report, budget, peak_in_order):
    expect(report["peak_store_all_bytes"] == peak_in_order, "peak_store_all_bytes")
    if str(budget).endswith("%"):
        budget = int(Fraction(str(budget)[:-1]) * peak_in_order / 100)
    expect(report["budget_bytes"] == int(budget), "budget_bytes")


def check_bounds(report):
    expect(report["fits"] == (report["peak_bytes"] <= report["budget_bytes"]), "fits")
    expect(report["peak_bytes"] <= report["arena_bytes"], "the arena is below the peak")
    floor, smallest = report["peak_lower_bound_bytes"], report["smallest_budget_bytes"]
    expect(floor <= smallest <= report["peak_bytes"], "smallest_budget_bytes")
    expect(report["smallest_proven"] == (floor == smallest), "smallest_proven")
    if report["fits"]:
        gap = report["overhead"] - report["overhead_lower_bound"]
        expect(same(report["gap"], gap) and gap >= -1e-9, "gap")
        expect(report["proven"] == (gap <= 1e-9), "proven")
    else:
        expect(not report["proven"] and report["gap"] is None, "proven, and does not fit")


def check_schedule(report, ops, steps, order):
    peak, cost = replay_schedule.replay(ops, steps, order == "fixed")
    once = sum(op[0] for op in ops)
    expect(peak == report["peak_bytes"], f"peak_bytes: the schedule's is {peak}")
    expect(same(float(cost), report["cost"]), f"cost: the schedule's is {float(cost)}")
    expect(same(float(once), report["cost_store_all"]), "cost_store_all")
    overhead = float((cost - once) / once) if once else 0
    expect(same(overhead, report["overhead"]), "overhead")
    expect(report["recomputed_ops"] == len(steps) - len(ops), "recomputed_ops")


def plan_and_judge(path, budget, order, options=()):
    """Raises Disagreement or replay_schedule.Invalid; returns the report."""
    ops = replay_schedule.read_problem(path)
    peak_in_order, _ = replay_schedule.replay(ops, list(range(len(ops))), True)
    report, steps = run_neap(path, budget, order, options)
    check_budget(report, budget, peak_in_order)
    check_bounds(report)
    if steps is not None:
        check_schedule(report, ops, steps, order)
    return report


def main():
    words, options = sys.argv[1:], []
    if words[:1] == ["--options"]:
        options, words = words[1].split(), words[2:]
    paths = [word for word in words if word.endswith(".problem")]
    failures = 0
    for path, budget, order in ((path, budget, order) for path in paths
                                for budget in words if budget not in paths
                                for order in ("free", "fixed")):
        try:
            report = plan_and_judge(path, budget, order, options)
            said = f"+{100 * report['overhead']:.3f} %" if report["fits"] else "does not fit"
        except (Disagreement, replay_schedule.Invalid) as wrong:
            said = f"WRONG: {wrong}"
            failures += 1
        print(f"{os.path.basename(path)} {budget} {order}: {said}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
