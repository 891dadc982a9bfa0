"""Plans of neap's own networks: overhead, bound, gap, arena beside live peak, and time.

    python3 bench/plan_models.py [--arena P,P...] [--order free|fixed] [MODEL[:BATCH]...]

Each network is planned within each percentage of store-all's arena, in a process of its own. Wanted
of every plan: an arena within the budget and planned in 5 seconds; a gap of at most 3 % of a step
where the budget is 50 % or more; of all together: arena / live peak at most 1.005 at the median and
1.02 at the worst. Budgets that are not met are shown with the bound ("inf": proven out of reach).
Exit status 1: something wanted is missed.
"""

import argparse
import json
import statistics
import subprocess

import common

MODELS = ["resnet20:128", "resnet18:16", "vgg11:16"]  # what recompute can help
ARENAS = "90,70,50,35"
MOST_SECONDS = 5
MOST_GAP, FROM_PERCENT = 0.03, 50
MOST_RATIO_MEDIAN, MOST_RATIO = 1.005, 1.02
DOES_NOT_FIT = 5  # neap's exit status

COLUMNS = "{:<14} {:>6} {:>9} {:>9} {:>9} {:>11} {:>6} {:>8} {}"


def plan(model, batch, percent, order):
    command = [common.find_neap(), "plan", model, "-b", batch, "--arena", f"{percent:g}%", "--order",
               order, "--json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, DOES_NOT_FIT):
        common.fail(f"'{' '.join(command)}' ended with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def in_percent(fraction):
    return f"{round(100 * fraction, 3) + 0:.3f}"


def show(name, percent, report):
    """Prints the plan's line; whether it is as wanted, and its arena / live peak if it fits."""
    p = report["plan"]
    in_time = p["solver_seconds"] <= MOST_SECONDS
    if not report["fits"]:
        proven = report["budget_bytes"] < report["arena_lower_bound_bytes"]
        print(COLUMNS.format(name, f"{percent:g}%", "-", "inf" if proven else
                             in_percent(p["overhead_lower_bound"]), "-", "-", "-",
                             f"{p['solver_seconds']:.2f}", "" if in_time else "NOT MET"), flush=True)
        return in_time, None
    ratio = p["arena_bytes"] / p["live_peak_bytes"] if p["live_peak_bytes"] else 1
    ok = in_time and p["arena_bytes"] <= report["budget_bytes"]
    ok = ok and (percent < FROM_PERCENT or p["gap"] <= MOST_GAP)
    print(COLUMNS.format(name, f"{percent:g}%", in_percent(p["overhead"]),
                         in_percent(p["overhead_lower_bound"]), in_percent(p["gap"]),
                         f"{ratio:.5f}", p["recomputed_ops"], f"{p['solver_seconds']:.2f}",
                         "ok" if ok else "NOT MET"), flush=True)
    return ok, ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arena", default=ARENAS, metavar="P,P...",
                        help=f"percentages of store-all's arena (default: {ARENAS})")
    parser.add_argument("--order", choices=("free", "fixed"), default="free")
    parser.add_argument("models", nargs="*", metavar="MODEL[:BATCH]",
                        help=f"default: {' '.join(MODELS)}; a batch of 64 if left out")
    args = parser.parse_args()
    failed, ratios = 0, []
    print(COLUMNS.format("network", "arena", "overhead", "bound", "gap", "arena/peak", "again",
                         "seconds", ""))
    for name in args.models or MODELS:
        model, _, batch = name.partition(":")
        for percent in map(float, args.arena.split(",")):
            ok, ratio = show(name, percent, plan(model, batch or "64", percent, args.order))
            failed += not ok
            ratios += [ratio] if ratio else []
    print("overheads, bounds and gaps in percent of store-all's step")
    if ratios:
        median, worst = statistics.median(ratios), max(ratios)
        ok = median <= MOST_RATIO_MEDIAN and worst <= MOST_RATIO
        failed += not ok
        print(f"arena/peak of {len(ratios)} plans: median {median:.5f}, worst {worst:.5f}; wanted: "
              f"at most {MOST_RATIO_MEDIAN:g} and {MOST_RATIO:g}: {'ok' if ok else 'NOT MET'}")
    raise SystemExit(1 if failed else 0)


main()
