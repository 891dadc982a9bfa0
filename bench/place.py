"""Placements of the published hard cases: which fit in the capacity that others used.

    python3 bench/place.py [--data FOLDER] [--arena BYTES] [CASE...]

FOLDER holds the .csv files (default ../shared/data/place). Each case is placed in a process of its
own; neap checks the offsets pair by pair. Wanted: at least five of MiniMalloc's A, C, E, G, I and K
in 1,048,576 bytes, each in 60 seconds. Exit status 1: fewer, or something is missing.
"""

import argparse
import json
import os
import subprocess

import common

CASES = ["A", "C", "E", "G", "I", "K"]
MOST_FAILED = 1
MOST_SECONDS = 60
DOES_NOT_FIT = 5  # neap's exit status

COLUMNS = "{:<6} {:>8} {:>10} {:>12} {:>7} {:>8} {}"


def place(path, arena):
    command = [common.find_neap(), "plan", path, "--arena", arena, "--json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, DOES_NOT_FIT):
        common.fail(f"'{' '.join(command)}' ended with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.path.join(common.ROOT, "..", "shared", "data", "place"))
    parser.add_argument("--arena", default="1048576", metavar="BYTES")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    args = parser.parse_args()
    failed, names = 0, args.cases or CASES
    print(COLUMNS.format("case", "buffers", "at least", "arena", "ratio", "seconds", ""))
    for name in names:
        path = os.path.join(args.data, f"{name}.csv")
        if not os.path.exists(path):
            common.fail(f"there is no '{path}': --data says where the cases are")
        report = place(path, args.arena)
        in_time = report["solver_seconds"] <= MOST_SECONDS
        word = "does not fit" if not report["fits"] else "ok" if in_time else "too slow"
        failed += word != "ok"
        ratio = report["arena_bytes"] / report["lower_bound_bytes"]
        print(COLUMNS.format(name, report["buffers"], report["lower_bound_bytes"],
                             report["arena_bytes"], f"{ratio:.4f}",
                             f"{report['solver_seconds']:.2f}", word), flush=True)
    enough = failed <= MOST_FAILED
    print(f"{len(names) - failed} of {len(names)} in {args.arena} bytes: "
          f"{'ok' if enough else 'NOT MET'}")
    raise SystemExit(0 if enough else 1)


main()
