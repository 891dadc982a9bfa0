"""Plans of the published planning problems: overhead, bound and time, beside what others reported.

    python3 bench/planner.py [--data FOLDER] [--order free|fixed] [PROBLEM...]

Each problem is planned at each budget of the tables below in a process of its own; with a free
order without a limit of time, with a fixed one in a hundredth of the seconds that the other
planner took. Every schedule is replayed by tests/tools/replay_schedule.py. FOLDER holds the
.problem files (default ../shared/data/plan). Exit status 1: a figure is missed, a schedule is not
what the report says, or something is missing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import common

JUDGE = os.path.join(common.ROOT, "tests", "tools", "replay_schedule.py")

# By problem and budget: the most overhead in percent, and whether it must be proven optimal. A
# budget is a percentage of the peak without recompute; of chain100 it is bytes.
WANTED = {
    "fcn8": {"90%": (0.029, True), "80%": (0.136, True), "70%": (0.892, False)},
    "resnet50": {"90%": (0.108, True), "80%": (0.279, True), "70%": (0.569, False),
                 "50%": (1.53, False), "40%": (2.41, False), "30%": (3.85, False),
                 "20%": (6.6, False)},
    "unet": {"90%": (1.129, True), "80%": (1.984, True), "70%": (2.967, True),
             "60%": (4.451, True), "50%": (6.9, False)},
    "rl1": {"80%": (0.0, False), "70%": (2.14, False)},
    "rl3": {"90%": (0.0, False), "80%": (1.15, False), "70%": (6.4, False)},
    "chain100": {"60": (20.9, False), "30": (35.8, False), "20": (40.8, False),
                 "16": (42.8, False), "12": (62.2, False)},
}

# What others published: overhead in percent by budget (None: no plan found), and seconds.
# Checkmate's MILP and Moccasin keep the file's order (fixed), FastSA changes it (free); "exact" is
# the optimum of a uniform chain.
PUBLISHED = {
    "fcn8": {"Checkmate": ({"90%": 0.0, "80%": 0.1}, 6), "Moccasin": ({"90%": 0.0, "80%": 0.1}, 3),
             "FastSA": ({"90%": 0.1, "80%": 0.1, "70%": 3.0}, 10)},
    "resnet50": {"Checkmate": ({"90%": 0.1, "80%": 0.3}, 485),
                 "Moccasin": ({"90%": 0.2, "80%": 0.3}, 69),
                 "FastSA": ({"90%": 0.2, "80%": 0.4, "70%": 0.8}, 11)},
    "rl1": {"Checkmate": ({"90%": 0.8, "80%": 2.3}, 23), "Moccasin": ({"90%": 0.8, "80%": 2.3}, 10),
            "FastSA": ({"90%": 0.0, "80%": 0.3, "70%": 2.2}, 12)},
    "rl3": {"Moccasin": ({"90%": 0.7, "80%": 3.4}, 1805),
            "FastSA": ({"90%": 0.03, "80%": 2.3, "70%": None}, 21)},
    "chain100": {"exact": ({"60": 20.9, "30": 35.8, "20": 40.8, "16": 42.8, "12": 62.2}, None)},
}
FIXED_ORDER = ("Checkmate", "Moccasin")
SECONDS = {400: 10, None: 30}  # of the free order: at most so many for problems of so many ops

COLUMNS = "{:<9} {:>6} {:<6} {:>9} {:>9} {:<7} {:>9} {:>8} {:>7} {:<8} {:<7} {}"


def plan(path, budget, order, limit):
    """The report of one plan, with the judge's word on its schedule."""
    with tempfile.TemporaryDirectory() as folder:
        schedule = os.path.join(folder, "schedule")
        command = [common.find_neap(), "plan", path, "--arena", budget, "--order", order, "--json",
                   "-q", "-o", schedule]
        command += ["--time-limit", str(limit)] if limit else []
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 5):
            common.fail(f"'{' '.join(command)}' ended with {done.returncode}\n{done.stderr}")
        report = json.loads(done.stdout)
        report["judged"] = not report["fits"] or judge(path, schedule, order, report)
    return report


def judge(path, schedule, order, report):
    fixed = ["--fixed-order"] if order == "fixed" else []
    done = subprocess.run([sys.executable, JUDGE, *fixed, path, schedule], capture_output=True,
                          text=True)
    words = done.stdout.split()
    return (done.returncode == 0 and int(words[1]) == report["peak_bytes"] and
            abs(float(words[3]) - report["cost"]) <= 1e-9 * report["cost"])


def percent(fraction):
    return "-" if fraction is None else f"{100 * fraction:.3f}"


def within(overhead, wanted):
    """To the digits that the wanted figure has."""
    digits = len(str(wanted).partition(".")[2])
    return round(100 * overhead, digits) <= wanted


def others(name, budget):
    texts = []
    for who, (figures, seconds) in PUBLISHED.get(name, {}).items():
        if budget in figures:
            figure = "none" if figures[budget] is None else f"{figures[budget]:g}"
            texts.append(f"{who} {figure}" + (f" ({seconds} s)" if seconds else ""))
    return ", ".join(texts)


def verdict(report, order, wanted, must_be_proven):
    if not report["judged"]:
        return "WRONG"
    limit = next(s for n, s in SECONDS.items() if n is None or report["ops"] <= n)
    ok = wanted is None or (report["fits"] and within(report["overhead"], wanted))
    ok = ok and (report["proven"] or not must_be_proven)
    ok = ok and (order == "fixed" or report["solver_seconds"] <= limit)
    return ("ok" if ok else "NOT MET") if wanted is not None else ""


def show(name, budget, order, report, wanted, word):
    print(COLUMNS.format(name, budget, order, percent(report["overhead"] if report["fits"] else None),
                         percent(report["overhead_lower_bound"]),
                         "proven" if report["proven"] else "",
                         "-" if wanted is None else f"{wanted:g}",
                         f"{report['solver_seconds']:.2f}", report["recomputed_ops"],
                         report["stopped"] or "", word, others(name, budget)), flush=True)


def runs(name, orders):
    """(budget, order, wanted, must be proven, limit) of each plan of a problem."""
    if "free" in orders:
        for budget, (wanted, proven) in WANTED[name].items():
            yield budget, "free", wanted, proven, None
    if "fixed" not in orders:
        return
    published = {who: PUBLISHED.get(name, {}).get(who, ({}, None)) for who in FIXED_ORDER}
    budgets = set(WANTED[name]).union(*(figures for figures, _ in published.values()))
    for budget in sorted(budgets, key=lambda text: -int(text.rstrip("%"))):
        matches = {(figures[budget], max(seconds / 100, 0.1))
                   for figures, seconds in published.values() if budget in figures}
        for wanted, limit in sorted(matches) or [(None, None)]:
            yield budget, "fixed", wanted, False, limit


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.path.join(common.ROOT, "..", "shared", "data", "plan"))
    parser.add_argument("--order", choices=("free", "fixed"))
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", default=[])
    args = parser.parse_args()
    failed = 0
    print(COLUMNS.format("problem", "budget", "order", "overhead", "bound", "", "at most",
                         "seconds", "again", "stopped", "", "published, % (seconds)"))
    for name in args.problems or WANTED:
        path = os.path.join(args.data, f"{name}.problem")
        if name not in WANTED or not os.path.exists(path):
            common.fail(f"no problem '{name}': there are {', '.join(WANTED)}, and --data says where")
        for budget, order, wanted, proven, limit in runs(name, args.order or ("free", "fixed")):
            report = plan(path, budget, order, limit)
            word = verdict(report, order, wanted, proven)
            failed += word in ("WRONG", "NOT MET")
            show(name, budget, order, report, wanted, word)
    print(f"overheads and bounds in percent; {failed} NOT MET" if failed else "all met")
    raise SystemExit(1 if failed else 0)


main()
