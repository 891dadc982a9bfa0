"""Measures the published suite and puts the figures into docs/results.md and README.md.

    python3 scripts/results.py [OPTIONS OF neap bench...]

What docs/results.json has already is not measured again; NEAP names another binary.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results.json"
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
README_NETWORKS = ("vgg16 resnet50 resnet152 densenet121 densenet201 inception_v3 nasnet_cifar "
                   "darts_cifar").split()
MIB = 1 << 20


def splice(path, text):
    whole = path.read_text()
    before, rest = whole.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(before + BEGIN + text + END + after)


def bench(options):
    neap = os.environ.get("NEAP", ROOT / "build" / "release" / "neap")
    command = [neap, "bench", "--suite", "ogc", "--input-gradient", "--micro-batch", "auto", "-o",
               RESULTS, "--format", "markdown", *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def published():
    """Figures of the source, by network: the arguments of PUBLISHED(...)."""
    table = {}
    for line in (ROOT / "src" / "train" / "ogc.def").read_text().splitlines():
        if line.startswith("PUBLISHED("):
            name, *numbers = line[len("PUBLISHED("):-1].split(", ")
            table[name] = [float(number) for number in numbers]
    return table


def find(rows, network, batch, limit):
    for row in rows:
        plain = row["slicing"] == "off" and not row["input_gradient"]
        whole = row["batch"] == batch and row["precision"] == "fp32"
        if row["model"] == network and row["limit"] == limit and plain and whole:
            return row
    return None


def readme_table():
    rows = json.loads(RESULTS.read_text())["rows"]
    lines = ["| network, batch | keeping everything | published plan | neap in that memory | "
             "neap in that time |\n", "|---|---:|---:|---:|---:|\n"]
    for network in README_NETWORKS:
        batch, _, _, mib, _, _, percent = published()[network]
        none, arena, overhead = (find(rows, network, batch, limit)
                                 for limit in ("none", "arena", "overhead"))
        if not (none and arena and overhead and arena["steps"] and overhead["steps"]):
            continue
        lines.append(f"| {network}, {batch:.0f} | {none['arena_planned_bytes'] / MIB:,.0f} MiB | "
                     f"{mib:,.0f} MiB, {percent:+.0f} % | {100 * arena['overhead']:+.1f} % | "
                     f"{overhead['arena_planned_bytes'] / MIB:,.0f} MiB, "
                     f"{100 * overhead['overhead']:+.1f} % |\n")
    return "".join(lines) if len(lines) > 2 else ""


def main():
    splice(ROOT / "docs" / "results.md", "\n" + bench(sys.argv[1:]) + "\n")
    splice(ROOT / "README.md", readme_table())


main()
